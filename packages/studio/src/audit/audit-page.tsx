/** Verifies an exported run in the browser. */
import type { ReactElement } from 'react';
import { Page } from '../shell/page.tsx';
import { Empty } from '../ui/parts.tsx';

export function AuditPage(): ReactElement {
  return (
    <Page title="Audit">
      <Empty icon="audit" title="Verify a run" command="sluice audit export RUN" />
    </Page>
  );
}
