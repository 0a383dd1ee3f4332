/** How the runs of a time went. */
import type { ReactElement } from 'react';
import { Page } from '../shell/page.tsx';
import { Empty } from '../ui/parts.tsx';

export function HealthPage(): ReactElement {
  return (
    <Page title="Health">
      <Empty icon="health" title="No run in this time" command="sluice runs" />
    </Page>
  );
}
