/** Retention outside of the journal: exports runs before they are removed, and deletes their data afterwards. */
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createFolder } from '@sluice-internal/platform';
import type { RunId } from '@sluice-internal/kernel/ir';
import { eachOf } from '@sluice-internal/engine/ports';
import type { EngineOptions, Store } from '@sluice-internal/engine/ports';
import { exportRun } from '@sluice-internal/engine/audit';
import { readRun } from '@sluice-internal/engine/journal';
import { closing } from './closing.ts';
import { dataOf } from './run-data.ts';

/** The options of an engine on this store. Without a file there is no data beside the journal. */
export function retentionOptions(
  store: Store,
  journal: string | undefined,
  onNotice?: (message: string) => void,
): Required<Pick<EngineOptions, 'exportRun' | 'onRemoved'>> {
  return {
    exportRun: (run, folder) => exportTo(store, run, folder),
    onRemoved: (runs) => {
      if (journal === undefined && store.attachments === undefined) return;
      forget(store, journal, runs).catch((error: unknown) => {
        onNotice?.(`data beside the journal was not deleted: ${(error as Error).message}`);
      });
    },
  };
}

/** A relative folder starts at the folder of the run's document. */
export async function exportTo(store: Store, run: RunId, folder: string): Promise<string> {
  const { state } = await readRun(store.journal, run);
  const dir = resolve(state.origin.pins?.documentDir ?? '.', folder);
  createFolder(dir, 0o700);
  const file = join(dir, `${run}.json`);
  writeFileSync(file, `${JSON.stringify(await exportRun(store, run), null, 1)}\n`, { mode: 0o600 });
  return file;
}

/**
 * Deletes the attachments, the memory and the personal data of removed runs. Personal data comes last, because it stays if a run
 * cannot be read that may need it.
 */
export async function forget(store: Store, journal: string | undefined, runs: readonly RunId[]): Promise<void> {
  await closing(dataOf(store, journal), async ({ attachments, memory, vault }) => {
    for (const run of runs) await attachments.erase(run);
    await memory.eraseRuns(runs);
    await memory.eraseExpired(Date.now());
    const sealed = vault();
    for (const run of await unused(store, (await sealed?.owners?.()) ?? [])) await sealed?.erase(run);
  });
}

/** The removed runs whose values no fork of them needs any more. */
async function unused({ journal, index }: Store, owners: readonly RunId[]): Promise<readonly RunId[]> {
  // A run without a tombstone is about to start.
  const removed = new Set<RunId>();
  for (const run of owners) if ((await index.removed(run)) !== null) removed.add(run);
  if (removed.size === 0) return [];
  for await (const { run, parent } of eachOf((page) => index.list(page))) {
    if (parent === null) continue;
    const { state } = await readRun(journal, run, { onBroken: () => undefined });
    removed.delete(state.origin.pins?.tokensOf ?? parent);
  }
  return [...removed];
}
