/** All runs, the latest first. New ones wait behind a button, so that the list never moves under the mouse. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useMemo, useState, type ReactElement } from 'react';
import { live } from '../data/live.ts';
import { flowsQuery, queries, runsPage, type RunFilter } from '../data/server.ts';
import type { ListedRun, Page as ListPage } from '../data/types.ts';
import { useParameter, useParameters } from '../data/url.ts';
import { Page } from '../shell/page.tsx';
import { useKeys } from '../ui/keys.ts';
import { Button, Empty, Loading, Problem } from '../ui/parts.tsx';
import { Rows } from '../ui/rows.tsx';
import { Filters } from './filters.tsx';
import { RunLine } from './run-line.tsx';

const ROW = 44;

export function RunsPage(): ReactElement {
  const filter = useFilter();
  const list = useRuns(filter);
  const [selected, setSelected] = useState(-1);
  const navigate = useNavigate();
  const open = (at: number): void => {
    const found = list.rows[at];
    if (found !== undefined) void navigate({ to: '/runs/$run', params: { run: found.run } });
  };
  useKeys('Runs', [
    { keys: 'j', does: 'Next run', run: () => setSelected(Math.min(list.rows.length - 1, selected + 1)) },
    { keys: 'k', does: 'Previous run', run: () => setSelected(Math.max(0, selected - 1)) },
    { keys: 'Enter', does: 'Open the run', run: () => open(selected) },
    { keys: 'Escape', does: 'Select nothing', run: () => setSelected(-1) },
  ]);
  return (
    <Page title="Runs" actions={<Filters filter={filter} />}>
      {list.fresh > 0 && (
        <div className="fresh">
          <Button onClick={list.showFresh}>{list.fresh} new</Button>
        </div>
      )}
      {list.rows.length > 0 ? (
        <Rows
          label="Runs"
          items={list.rows}
          keyOf={({ run }) => run}
          height={ROW}
          selected={selected}
          render={(row, at) => <RunLine row={row} isSelected={at === selected} />}
          onEnd={list.more}
        />
      ) : (
        <NoRuns list={list} filter={filter} />
      )}
    </Page>
  );
}

function NoRuns({ list, filter }: { readonly list: RunList; readonly filter: RunFilter }): ReactElement {
  const setParameters = useParameters();
  const { data: flows } = useQuery(flowsQuery);
  if (list.error !== null) return <Problem error={list.error} onRetry={list.again} />;
  if (!list.isRead) return <Loading what="runs" />;
  const names = Object.keys(filter) as (keyof RunFilter)[];
  if (names.some((name) => filter[name] !== undefined))
    return (
      <div className="state">
        <h2>No run fits</h2>
        <Button onClick={() => setParameters(Object.fromEntries(names.map((name) => [name, undefined])))}>
          Show all runs
        </Button>
      </div>
    );
  const flow = flows?.items[0];
  return (
    <Empty icon="runs" title="No run yet" command={`sluice run ${flow?.file ?? 'hello.flow.yaml'} --offline`}>
      A run is one journey through a flow. Start one from a terminal or from the page of a flow.
    </Empty>
  );
}

function useFilter(): RunFilter {
  const [status, flow, code] = [useParameter('status'), useParameter('flow'), useParameter('code')];
  const [user, since, parent, q] = [
    useParameter('user'),
    useParameter('since'),
    useParameter('parent'),
    useParameter('q'),
  ];
  return useMemo(() => ({ status, flow, code, user, since, parent, q }), [status, flow, code, user, since, parent, q]);
}

interface RunList {
  readonly rows: readonly ListedRun[];
  readonly isRead: boolean;
  readonly error: unknown;
  /** How many runs are newer than the list. */
  readonly fresh: number;
  readonly showFresh: () => void;
  readonly more: () => void;
  readonly again: () => void;
}

const NOTHING = { of: {}, runs: new Set<string>() };

/** Pages of 50. A changed row is replaced in its place. */
function useRuns(filter: RunFilter): RunList {
  const queryKey = useMemo(() => ['runs', filter] as const, [filter]);
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) => runsPage(filter, pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    placeholderData: (before) => before,
  });
  const [newer, setNewer] = useState<{ readonly of: RunFilter; readonly runs: ReadonlySet<string> }>(NOTHING);
  const fresh = newer.of === filter ? newer.runs : NOTHING.runs;
  const { refetch, fetchNextPage, hasNextPage, isFetchingNextPage, data } = query;
  useEffect(
    () =>
      live.subscribe('runs', (change) => {
        const row = change as unknown as ListedRun;
        if (change.topic !== 'runs') return void refetch();
        if (replaced(queryKey, row)) return;
        setNewer(({ of, runs }) => ({ of: filter, runs: new Set(of === filter ? [...runs, row.run] : [row.run]) }));
      }),
    [filter, queryKey, refetch],
  );
  const rows = useMemo(() => data?.pages.flatMap(({ items }) => items) ?? [], [data]);
  const more = useMemo(
    () => () => {
      if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
    },
    [hasNextPage, isFetchingNextPage, fetchNextPage],
  );
  const again = (): void => {
    setNewer(NOTHING);
    void refetch();
  };
  return { rows, isRead: data !== undefined, error: query.error, fresh: fresh.size, showFresh: again, more, again };
}

function replaced(queryKey: readonly unknown[], row: ListedRun): boolean {
  const known = queries.getQueryData<{
    readonly pages: readonly ListPage<ListedRun>[];
    readonly pageParams: readonly unknown[];
  }>(queryKey);
  if (known?.pages.some(({ items }) => items.some(({ run }) => run === row.run)) !== true) return false;
  const pages = known.pages.map((page) => ({
    ...page,
    items: page.items.map((each) => (each.run === row.run ? { ...each, ...row } : each)),
  }));
  queries.setQueryData(queryKey, { ...known, pages });
  return true;
}
