/** Two runs side by side: where they part, and what that changed. */
import { harmless } from '@sluice-internal/wire';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useMemo, useSyncExternalStore, type ReactElement } from 'react';
import { ask, reportQuery, runPath, runsPage } from '../data/server.ts';
import type { RunReport } from '../data/types.ts';
import type { RunStore } from '../data/run-store.ts';
import { RunProvider, useRunStore } from '../run/context.tsx';
import { Graph } from '../run/graph.tsx';
import { Page } from '../shell/page.tsx';
import { Empty, Loading, Problem, RunBadge } from '../ui/parts.tsx';
import { RunLine } from '../runs/run-line.tsx';
import { comparedRows, type ComparedRow } from './rows.ts';

/** In the address, while the other run is not chosen. */
const NONE = '-';

export function ComparePage(): ReactElement {
  const { run = '', other = NONE } = useParams({ strict: false });
  const above = [
    { title: 'Runs', to: '/runs' },
    { title: run, to: `/runs/${encodeURIComponent(run)}` },
  ];
  return (
    <Page title="Compare" above={above}>
      {other === NONE ? <Choose run={run} /> : <Both key={`${run}|${other}`} a={run} b={other} />}
    </Page>
  );
}

/** Other runs of the same flow, the latest first. */
function Choose({ run }: { readonly run: string }): ReactElement {
  const { data: report, error, refetch } = useQuery(reportQuery(run));
  const flow = report?.flow;
  const { data } = useQuery({
    queryKey: ['runs', 'of', flow],
    queryFn: () => runsPage({ flow }),
    enabled: flow !== undefined,
  });
  if (error !== null) return <Problem error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading what="runs" />;
  const others = data.items.filter((each) => each.run !== run);
  if (others.length === 0)
    return (
      <Empty icon="compare" title="There is no other run of this flow" command={`sluice fork ${run}`}>
        A fork shares the first events of a run, and goes on by itself.
      </Empty>
    );
  return (
    <>
      <p className="compare-hint text-2">Choose the run to compare with.</p>
      <ul aria-label="Runs to compare with">
        {others.map((row) => (
          <li key={row.run} className="compare-choice">
            <RunLine row={row} isSelected={false} to="/runs/$run/compare/$other" params={{ run, other: row.run }} />
          </li>
        ))}
      </ul>
    </>
  );
}

function Both({ a, b }: { readonly a: string; readonly b: string }): ReactElement {
  const [one, two] = [useQuery(reportQuery(a)), useQuery(reportQuery(b))];
  const [first, second] = [useRunStore(a), useRunStore(b)];
  const error = one.error ?? two.error;
  if (error !== null) return <Problem error={error} />;
  if (one.data === undefined || two.data === undefined) return <Loading what="both runs" />;
  return (
    <div className="compare">
      <div className="compare-graphs">
        <OneSide name="A" report={one.data} store={first} />
        <OneSide name="B" report={two.data} store={second} />
      </div>
      <Table a={{ report: one.data, store: first }} b={{ report: two.data, store: second }} />
    </div>
  );
}

interface SideProps {
  readonly name: string;
  readonly report: RunReport;
  readonly store: RunStore;
}

function OneSide({ name, report, store }: SideProps): ReactElement {
  const { run, state, code, waiting, parent } = report;
  return (
    <div className="compare-side">
      <header>
        <strong>{name}</strong>
        <Link to="/runs/$run" params={{ run }} className="mono ellipsis">
          {run}
        </Link>
        <RunBadge status={state} code={code} questions={waiting.length} />
        {parent !== undefined && <span className="text-2">forked at event {parent.seq}</span>}
      </header>
      <RunProvider store={store} report={report}>
        <Graph />
      </RunProvider>
    </div>
  );
}

interface Told {
  readonly report: RunReport;
  readonly store: RunStore;
}

interface Diff {
  readonly same: boolean;
  readonly differences: readonly {
    readonly what: string;
    readonly a?: { readonly type?: string; readonly node?: string } | null;
    readonly b?: { readonly type?: string; readonly node?: string } | null;
  }[];
}

function Table({ a, b }: { readonly a: Told; readonly b: Told }): ReactElement {
  const [one, two] = [useEvents(a.store), useEvents(b.store)];
  const { data } = useQuery({
    queryKey: ['report', a.report.run, 'diff', b.report.run],
    queryFn: () => ask<Diff>(`${runPath(a.report.run)}/diff/${encodeURIComponent(b.report.run)}`),
  });
  const rows = useMemo(
    () => comparedRows({ report: a.report, events: one }, { report: b.report, events: two }),
    [a.report, b.report, one, two],
  );
  const first = data?.differences.find(({ what }) => what.startsWith('first difference'));
  const node = first?.b?.node ?? first?.a?.node;
  const own = rows.findIndex((row) => !row.isSame && row.node === node);
  const place = own >= 0 ? own : rows.findIndex(({ isSame }) => !isSame);
  return (
    <div className="compare-table">
      <p className="compare-first" role="status">
        {data === undefined ? 'Comparing…' : firstText(data.same, first)}
      </p>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col">A</th>
            <th scope="col">B</th>
            <th scope="col" className="right">
              Δ
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <Line key={row.what} row={row} isFirst={at === place} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function useEvents(store: RunStore): ReturnType<RunStore['snapshot']>['events'] {
  return useSyncExternalStore(store.watch, () => store.snapshot().events);
}

function firstText(same: boolean, first: Diff['differences'][number] | undefined): string {
  if (same) return 'Both runs did the same.';
  const [told] = [first?.b ?? first?.a];
  if (told === undefined || told === null) return 'The runs differ only in amounts.';
  return harmless(`First difference: ${told.type ?? 'an event'}${told.node === undefined ? '' : ` at ${told.node}`}`);
}

function Line({
  row: { what, a, b, delta, isSame },
  isFirst,
}: {
  readonly row: ComparedRow;
  readonly isFirst: boolean;
}): ReactElement {
  return (
    <tr className={isSame ? 'is-same' : isFirst ? 'is-first' : ''}>
      <th scope="row">
        {harmless(what)}
        {isFirst && <span className="ink-waiting"> ◆ first difference</span>}
      </th>
      <td className="mono">{a === null ? '–' : harmless(a)}</td>
      <td className="mono">{b === null ? '–' : harmless(b)}</td>
      <td className="right num">{delta}</td>
    </tr>
  );
}
