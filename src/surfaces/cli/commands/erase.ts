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
import { closing, findWholeRun, openFor, withMigratedStore } from '../store.ts';
import { plural } from '../text.ts';

export async function eraseCommand(cli: Cli, given: string): Promise<ExitStatus> {
  const { run, tokensOf } = await withMigratedStore(cli, async (store) => {
    const found = await findWholeRun(store, given, cli.db);
    const { state } = await readRun((store as Store).journal, found);
    return { run: found, tokensOf: state.origin.pins?.tokensOf ?? found };
  });
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
