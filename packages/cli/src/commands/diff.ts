/** `sluice diff`: the differences between two runs. */
import { readRun } from '@sluice-internal/engine/journal';
import { oneLine } from '@sluice-internal/library/documents';
import type { Cli } from '@sluice-internal/library/documents';
import { differencesOf } from '@sluice-internal/library/host';
import { findRun, withStore } from '../session/store.ts';

/** Exit 0 also where they differ: that is the result, not a failure. */
export async function diffCommand(cli: Cli, first: string, second: string): Promise<void> {
  const compared = await withStore(cli, async (store) => {
    const read = async (run: string) => readRun(store.journal, await findRun(cli, store, run));
    return differencesOf(await read(first), await read(second));
  });
  const lines = compared.differences.map(({ what, a, b }) => `${what}\n  - ${shown(a)}\n  + ${shown(b)}`);
  cli.show(compared, () => lines.join('\n') || 'the runs are the same');
}

function shown(value: unknown): string {
  return oneLine(JSON.stringify(value) ?? 'nothing', 300);
}
