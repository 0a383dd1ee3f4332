/** `sluice erase`: deletes the personal data of a run. The journal keeps its tokens, and its chain still verifies. */
import { existsSync } from 'node:fs';
import { openPiiStore, piiFileOf } from '../../../stores/sqlite/pii-store.ts';
import type { Cli } from '../context.ts';
import { OK, type ExitStatus } from '../exit-status.ts';
import { findRun, withStore } from '../store.ts';
import { plural } from '../text.ts';

export async function eraseCommand(cli: Cli, given: string): Promise<ExitStatus> {
  const run = await withStore(cli, (store) => findRun(store, given, cli.db));
  const erased = erase(piiFileOf(cli.db), run);
  if (cli.json) cli.printJson({ run, erased });
  else if (erased === 0) cli.screen.print(`run ${run} has no personal data`);
  else cli.screen.print(`${plural(erased, 'value')} of run ${run} erased; its tokens cannot be restored any more`);
  return OK;
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
