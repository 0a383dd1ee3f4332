/** Deletes the personal data, the attachments and the memory of a run. The journal keeps their tokens, and still verifies. */
import { readRun } from '@sluice-internal/engine/journal';
import type { Store } from '@sluice-internal/engine/ports';
import type { RunId } from '@sluice-internal/kernel/ir';
import { closing } from './closing.ts';
import { recordErased } from './erased.ts';
import { dataOf } from './run-data.ts';
import type { RunData } from './run-data.ts';

/** How many values, attachments and entries there were. */
export interface Erased {
  readonly erased: number;
  readonly attachments: number;
  readonly memory: number;
}

/** `file`: the database of the store, beside which the data lies unless the store keeps it. The act is recorded. */
export async function eraseRun(store: Store, file: string | undefined, run: RunId, by: string): Promise<Erased> {
  const { state } = await readRun(store.journal, run);
  const tokensOf = state.origin.pins?.tokensOf ?? run;
  const owners = [...new Set([run, tokensOf])];
  const erased = await closing(dataOf(store, file), (data) => eraseFrom(data, run, owners, tokensOf));
  for (const each of owners) await recordErased(store.shared, each, by, erased.attachments);
  return erased;
}

async function eraseFrom(
  { attachments, memory, vault }: RunData,
  run: RunId,
  owners: readonly RunId[],
  tokensOf: RunId,
): Promise<Erased> {
  const erased = (await vault()?.erase(tokensOf)) ?? 0;
  let files = 0;
  for (const each of owners) files += await attachments.erase(each);
  // Later runs that read its entries keep them in their own journals.
  return { erased, attachments: files, memory: await memory.eraseRuns([run]) };
}
