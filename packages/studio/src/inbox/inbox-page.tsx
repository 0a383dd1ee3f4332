/** The questions that wait for a person. */
import type { ReactElement } from 'react';
import { Page } from '../shell/page.tsx';
import { Empty } from '../ui/parts.tsx';

export function InboxPage(): ReactElement {
  return (
    <Page title="Inbox">
      <Empty icon="inbox" title="Nothing waits for you" command="sluice approvals" />
    </Page>
  );
}
