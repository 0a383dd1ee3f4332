/** The flows of this server. */
import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { flowsQuery } from '../data/server.ts';
import { Page } from '../shell/page.tsx';
import { Empty, Loading, Problem } from '../ui/parts.tsx';

export function FlowsPage(): ReactElement {
  const { data, error, refetch } = useQuery(flowsQuery);
  return (
    <Page title="Flows">
      {data === undefined &&
        (error === null ? <Loading what="flows" /> : <Problem error={error} onRetry={() => void refetch()} />)}
      {data?.items.length === 0 && (
        <Empty icon="flows" title="No flow yet" command="sluice init">
          A flow is a document in a served folder.
        </Empty>
      )}
    </Page>
  );
}
