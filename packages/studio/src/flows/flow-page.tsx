/** A flow: its text, its picture, its certificate, and the start of a run. */
import { useParams } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { Page } from '../shell/page.tsx';
import { Empty } from '../ui/parts.tsx';

export function FlowPage(): ReactElement {
  const { flow } = useParams({ strict: false });
  return (
    <Page title={flow ?? ''} above={[{ title: 'Flows', to: '/flows' }]}>
      <Empty icon="flows" title={flow ?? ''} command="sluice check FILE" />
    </Page>
  );
}
