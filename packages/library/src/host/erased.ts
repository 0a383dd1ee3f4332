/** The record that an operator erased the data of a run. If data is missing without this record, another program deleted it. */
import type { RunId } from '@sluice-internal/kernel/ir';
import type { Shared } from '@sluice-internal/engine/ports';

const PREFIX = 'erased:';

export async function recordErased(shared: Shared, run: RunId, by: string, attachments: number): Promise<void> {
  const at = Date.now();
  await shared.operate({ at, by, what: 'run.erased', key: PREFIX + run, why: '' }, () => ({ at, attachments }));
}

export async function isErased(shared: Shared, run: RunId): Promise<boolean> {
  return (await shared.get(PREFIX + run)) !== null;
}
