/** One run. */
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { reportQuery } from '../data/server.ts';
import { Page } from '../shell/page.tsx';
import { Loading, Problem, RunBadge } from '../ui/parts.tsx';

export function RunPage(): ReactElement {
  const { run = '' } = useParams({ strict: false });
  const { data, error, refetch } = useQuery(reportQuery(run));
  const above = [{ title: 'Runs', to: '/runs' }];
  return (
    <Page
      title={run}
      above={above}
      badge={data && <RunBadge status={data.state} code={data.code} questions={data.waiting.length} />}
    >
      {data === undefined &&
        (error === null ? <Loading what="the run" /> : <Problem error={error} onRetry={() => void refetch()} />)}
    </Page>
  );
}
