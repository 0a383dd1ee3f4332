/** `sluice erase`: deletes the personal data, the attachments and the memory of a run. The journal keeps their tokens, and still verifies. */
import { readRun } from '@sluice-internal/engine/journal';
import type { Store } from '@sluice-internal/engine/ports';
import type { RunId } from '@sluice-internal/kernel/ir';
import { plural } from '@sluice-internal/library/documents';
import type { Cli } from '@sluice-internal/library/documents';
import { closing, dataOf, fileAt, recordErased } from '@sluice-internal/library/host';
import type { RunData } from '@sluice-internal/library/host';
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
  const { erased, attachments, memory } = await closing(openFor(cli), async (store) => {
    const gone = await closing(dataOf(store, fileAt(cli.db)), (data) => eraseFrom(data, run, owners, tokensOf));
    for (const each of owners) await recordErased(store.shared, each, currentUser(), gone.attachments);
    return gone;
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

async function eraseFrom(
  { attachments, memory, vault }: RunData,
  run: RunId,
  owners: readonly RunId[],
  tokensOf: RunId,
) {
  const erased = (await vault()?.erase(tokensOf)) ?? 0;
  let files = 0;
  for (const each of owners) files += await attachments.erase(each);
  // Later runs that read its entries keep them in their own journals.
  return { erased, attachments: files, memory: await memory.eraseRuns([run]) };
}
