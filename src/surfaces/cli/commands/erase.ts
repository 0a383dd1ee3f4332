/** `sluice erase`: deletes the personal data, the attachments and the memory of a run. The journal keeps their tokens, and still verifies. */
import { existsSync } from 'node:fs';
import { attachmentsBeside } from '../../../stores/sqlite/attachment-store.ts';
import { readRun } from '../../../runtime/journal/read.ts';
import type { Store } from '../../../runtime/ports.ts';
import { memoryBeside } from '../../../stores/sqlite/memory-store.ts';
import { openPiiStore, piiFileOf } from '../../../stores/sqlite/pii-store.ts';
import type { Cli } from '../context.ts';
import { OK, type ExitStatus } from '../exit-status.ts';
import { currentUser } from '../ask-person.ts';
import { recordErased } from '../../erased.ts';
import { findWholeRun, openFor, withMigratedStore } from '../store.ts';
import { plural } from '../text.ts';

export async function eraseCommand(cli: Cli, given: string): Promise<ExitStatus> {
  const { run, tokensOf } = await withMigratedStore(cli, async (store) => {
    const found = await findWholeRun(store, given, cli.db);
    const { state } = await readRun((store as Store).journal, found);
    return { run: found, tokensOf: state.origin.pins?.tokensOf ?? found };
  });
  const erased = erase(piiFileOf(cli.db), tokensOf);
  const attachments = eraseAttachments(cli.db, run) + (tokensOf === run ? 0 : eraseAttachments(cli.db, tokensOf));
  const memory = await eraseMemory(cli.db, run);
  const store = openFor(cli);
  try {
    for (const each of new Set([run, tokensOf])) await recordErased(store.shared, each, currentUser(), attachments);
  } finally {
    await store.close();
  }
  if (cli.json)
    cli.printJson({
      run,
      erased,
      ...(attachments === 0 ? {} : { attachments }),
      ...(memory === 0 ? {} : { memory }),
    });
  else if (erased + attachments + memory === 0)
    cli.screen.print(`run ${run} has no personal data, no attachments and no memory`);
  if (cli.json) return OK;
  if (erased > 0)
    cli.screen.print(`${plural(erased, 'value')} of run ${run} erased; its tokens cannot be restored any more`);
  if (attachments > 0) cli.screen.print(`${plural(attachments, 'attachment')} of run ${run} erased`);
  if (memory > 0) cli.screen.print(`${plural(memory, 'memory entry', 'memory entries')} of run ${run} erased`);
  return OK;
}

/** Entries that the run wrote. Later runs that read them keep them in their own journals. */
async function eraseMemory(journal: string, run: string): Promise<number> {
  const memory = memoryBeside(journal);
  try {
    return await memory.eraseRuns([run]);
  } finally {
    await memory.close();
  }
}

function eraseAttachments(journal: string, run: string): number {
  const store = attachmentsBeside(journal);
  try {
    return store.erase(run);
  } finally {
    store.close();
  }
}

function erase(file: string, run: string): number {
  if (!existsSync(file)) return 0;
  const store = openPiiStore(file);
  try {
    return store.erase(run);
  } finally {
    store.close();
  }
}
