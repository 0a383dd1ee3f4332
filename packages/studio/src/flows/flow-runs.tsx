/** The latest runs of a flow. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { runsPage } from '../data/server.ts';
import { useNow } from '../ui/clock.ts';
import { ago } from '../ui/format.ts';
import { Loading, Problem, RunBadge } from '../ui/parts.tsx';

const SHOWN = 20;

export function FlowRuns({ flow }: { readonly flow: string }): ReactElement {
  const { data, error, refetch } = useQuery({
    queryKey: ['runs', 'of', flow],
    queryFn: () => runsPage({ flow }, undefined, SHOWN),
  });
  const now = useNow();
  if (data === undefined)
    return error === null ? <Loading what="runs" /> : <Problem error={error} onRetry={() => void refetch()} />;
  if (data.items.length === 0) return <p className="text-2">This flow has not run yet.</p>;
  return (
    <ul className="flow-runs" aria-label="Runs of this flow">
      {data.items.map(({ run, status, code, questions, startedAt }) => (
        <li key={run}>
          <RunBadge status={status} code={code} questions={questions ?? 0} />
          <Link to="/runs/$run" params={{ run }} className="mono link">
            {run}
          </Link>
          <span className="grow" />
          <span className="text-3 num">{ago(startedAt, now)}</span>
        </li>
      ))}
    </ul>
  );
}
