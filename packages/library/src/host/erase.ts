/** Deletes the personal data, the attachments and the memory of a run. The journal keeps their tokens, and still verifies. */
import { existsSync } from 'node:fs';
import { readRun } from '@sluice-internal/engine/journal';
import type { Store } from '@sluice-internal/engine/ports';
import type { RunId } from '@sluice-internal/kernel/ir';
import { attachmentsBeside, memoryBeside, openPiiStore, piiFileOf } from '@sluice-internal/store-sqlite';
import { closing } from './closing.ts';
import { recordErased } from './erased.ts';

/** How many values, attachments and entries there were. */
export interface Erased {
  readonly erased: number;
  readonly attachments: number;
  readonly memory: number;
}

/** `file`: the database of the store, beside which the data lies. The act is recorded. */
export async function eraseRun(store: Store, file: string, run: RunId, by: string): Promise<Erased> {
  const { state } = await readRun(store.journal, run);
  const tokensOf = state.origin.pins?.tokensOf ?? run;
  const owners = [...new Set([run, tokensOf])];
  const vault = piiFileOf(file);
  const erased = existsSync(vault) ? await closing(openPiiStore(vault), (values) => values.erase(tokensOf)) : 0;
  const attachments = await closing(attachmentsBeside(file), (files) =>
    owners.reduce((sum, each) => sum + files.erase(each), 0),
  );
  // Later runs that read its entries keep them in their own journals.
  const memory = await closing(memoryBeside(file), (entries) => entries.eraseRuns([run]));
  for (const each of owners) await recordErased(store.shared, each, by, attachments);
  return { erased, attachments, memory };
}
