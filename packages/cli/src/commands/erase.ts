/** `sluice erase`: deletes the personal data, the attachments and the memory of a run. The journal keeps their tokens, and still verifies. */
import { plural } from '@sluice-internal/library/documents';
import type { Cli } from '@sluice-internal/library/documents';
import { closing, eraseRun, fileAt } from '@sluice-internal/library/host';
import { currentUser } from '../session/ask-person.ts';
import { findWholeRun, openFor, withStore } from '../session/store.ts';

export async function eraseCommand(cli: Cli, given: string): Promise<void> {
  const run = await withStore(cli, (store) => findWholeRun(cli, store, given), false);
  const { erased, attachments, memory } = await closing(openFor(cli), (store) =>
    eraseRun(store, fileAt(cli.db), run, currentUser()),
  );
  const lines = [
    ...(erased === 0
      ? []
      : [`${plural(erased, 'value')} of run ${run} erased; its tokens cannot be restored any more`]),
    ...(attachments === 0 ? [] : [`${plural(attachments, 'attachment')} of run ${run} erased`]),
    ...(memory === 0 ? [] : [`${plural(memory, 'memory entry', 'memory entries')} of run ${run} erased`]),
  ];
  cli.show(
    { run, erased, ...(attachments === 0 ? {} : { attachments }), ...(memory === 0 ? {} : { memory }) },
    () => lines.join('\n') || `run ${run} has no personal data, no attachments and no memory`,
  );
}
