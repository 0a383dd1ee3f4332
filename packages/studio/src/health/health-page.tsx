/** How the runs of a time went. Each tile leads to the runs behind its figure. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { ask } from '../data/server.ts';
import { useParameter, useParameters } from '../data/url.ts';
import { Page } from '../shell/page.tsx';
import { count, dollars, duration } from '../ui/format.ts';
import { Empty, Loading, Problem } from '../ui/parts.tsx';

interface Summary {
  readonly started: number;
  readonly ended: number;
  readonly well: number;
  readonly costUsd: number;
  readonly codes: { readonly [code: string]: number };
  readonly bars: readonly {
    readonly at: string;
    readonly started: number;
    readonly well: number;
    readonly costUsd: number;
  }[];
  readonly p95Ms: number | null;
  readonly costPerSuccess: number | null;
  readonly questions: { readonly open: number; readonly more: boolean; readonly oldestMs: number | null };
}

const TIMES = { '1h': 'last hour', '24h': 'last day', '7d': 'last week', '30d': 'last month' } as const;
const AGAIN_MS = 10_000;

export function HealthPage(): ReactElement {
  const given = useParameter('since') ?? '24h';
  const since = given in TIMES ? given : '24h';
  const setParameters = useParameters();
  const { data, error, refetch } = useQuery({
    queryKey: ['summary', since],
    queryFn: () => ask<Summary>('/metrics/summary', { query: { since } }),
    refetchInterval: AGAIN_MS,
    placeholderData: (before: Summary | undefined) => before,
  });
  const times = (
    <select
      className="select"
      aria-label="Time"
      value={since}
      onChange={({ target }) => setParameters({ since: target.value }, { push: true })}
    >
      {Object.entries(TIMES).map(([value, words]) => (
        <option key={value} value={value}>
          {words}
        </option>
      ))}
    </select>
  );
  return (
    <Page title="Health" actions={times}>
      {data === undefined ? (
        error === null ? (
          <Loading what="the figures" />
        ) : (
          <Problem error={error} onRetry={() => void refetch()} />
        )
      ) : data.started === 0 && data.questions.open === 0 ? (
        <Empty icon="health" title="No run in this time" command="sluice run FILE">
          Choose a longer time, or start a run.
        </Empty>
      ) : (
        <Figures summary={data} since={since} />
      )}
    </Page>
  );
}

function Figures({ summary, since }: { readonly summary: Summary; readonly since: string }): ReactElement {
  const { started, ended, well, costUsd, bars, p95Ms, costPerSuccess, questions } = summary;
  const share = ended === 0 ? null : Math.round((well / ended) * 100);
  return (
    <div className="figures">
      <div className="tiles">
        <Tile name="Started" value={count(started)} bars={bars.map((bar) => bar.started)} search={{ since }} />
        <Tile
          name="Ended well"
          value={share === null ? '–' : `${share} %`}
          bars={bars.map((bar) => bar.well)}
          search={{ since, status: 'completed' }}
        />
        <Tile
          name="Cost of a success"
          value={costPerSuccess === null ? '–' : dollars(costPerSuccess)}
          bars={bars.map((bar) => bar.costUsd)}
          search={{ since }}
          more={`${dollars(costUsd)} in all`}
        />
        <Tile name="95 of 100 within" value={p95Ms === null ? '–' : duration(p95Ms)} search={{ since }} />
        <Tile
          name="Open questions"
          value={`${count(questions.open)}${questions.more ? '+' : ''}`}
          search={{ status: 'suspended' }}
          more={questions.oldestMs === null ? undefined : `the oldest waits ${duration(questions.oldestMs)}`}
        />
      </div>
      <Codes codes={summary.codes} since={since} />
    </div>
  );
}

interface TileProps {
  readonly name: string;
  readonly value: string;
  readonly search: { readonly [name: string]: string };
  readonly bars?: readonly number[];
  readonly more?: string | undefined;
}

function Tile({ name, value, search, bars, more }: TileProps): ReactElement {
  const highest = Math.max(0, ...(bars ?? []));
  return (
    <Link to="/runs" search={search} className="card tile">
      <span className="label">{name}</span>
      <strong className="num">{value}</strong>
      {more !== undefined && <span className="text-3">{more}</span>}
      {bars !== undefined && highest > 0 && (
        <svg className="spark" viewBox={`0 0 ${bars.length * 4} 24`} preserveAspectRatio="none" aria-hidden="true">
          {bars.map((value_, at) => (
            <rect key={at} x={at * 4} y={24 - (value_ / highest) * 24} width="3" height={(value_ / highest) * 24} />
          ))}
        </svg>
      )}
    </Link>
  );
}

const GOOD = new Set(['SUCCESS', 'PARTIAL_SUCCESS']);

function Codes({ codes, since }: { readonly codes: Summary['codes']; readonly since: string }): ReactElement {
  const failed = Object.entries(codes)
    .filter(([code]) => !GOOD.has(code))
    .toSorted(([, a], [, b]) => b - a);
  const most = Math.max(1, ...failed.map(([, amount]) => amount));
  return (
    <section className="card codes" aria-label="Ends that were not wished for">
      <h2>Ends that were not wished for</h2>
      {failed.length === 0 && <p className="text-2">None in this time.</p>}
      <ul>
        {failed.map(([code, amount]) => (
          <li key={code}>
            <Link to="/runs" search={{ since, code }} className="mono link">
              {code}
            </Link>
            <span className="codes-bar" aria-hidden="true">
              <i style={{ width: `${(amount / most) * 100}%` }} />
            </span>
            <span className="num">{count(amount)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
