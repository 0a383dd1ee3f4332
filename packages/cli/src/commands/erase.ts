/** `sluice erase`: deletes the personal data, the attachments and the memory of a run. The journal keeps their tokens, and still verifies. */
import { existsSync } from 'node:fs';
import { attachmentsBeside, memoryBeside, openPiiStore, piiFileOf } from '@sluice-internal/store-sqlite';
import { readRun } from '@sluice-internal/engine/journal';
import type { Store } from '@sluice-internal/engine/ports';
import { plural } from '@sluice-internal/library/documents';
import type { Cli } from '@sluice-internal/library/documents';
import { closing, recordErased } from '@sluice-internal/library/host';
import { currentUser } from '../session/ask-person.ts';
import { findWholeRun, openFor, withStore } from '../session/store.ts';

export async function eraseCommand(cli: Cli, given: string): Promise<void> {
  const look = async (store: Store) => {
    const found = await findWholeRun(cli, store, given);
    const { state } = await readRun(store.journal, found);
    return { run: found, tokensOf: state.origin.pins?.tokensOf ?? found };
  };
  const { run, tokensOf } = await withStore(cli, look, false);
  const owners = [...new Set([run, tokensOf])];
  const vault = piiFileOf(cli.db);
  const erased = existsSync(vault) ? await closing(openPiiStore(vault), (store) => store.erase(tokensOf)) : 0;
  const attachments = await closing(attachmentsBeside(cli.db), (store) =>
    owners.reduce((sum, each) => sum + store.erase(each), 0),
  );
  // Later runs that read its entries keep them in their own journals.
  const memory = await closing(memoryBeside(cli.db), (store) => store.eraseRuns([run]));
  await closing(openFor(cli), async (store) => {
    for (const each of owners) await recordErased(store.shared, each, currentUser(), attachments);
  });
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
