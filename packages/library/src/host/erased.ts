/** The record that an operator erased the data of a run. If data is missing without this record, another program deleted it. */
import type { RunId } from '@sluice-internal/kernel/ir';
import { operate, valueAt } from '@sluice-internal/engine/ports';
import type { Cells } from '@sluice-internal/engine/ports';

const PREFIX = 'erased:';

export async function recordErased(shared: Cells, run: RunId, by: string, attachments: number): Promise<void> {
  const at = Date.now();
  await operate(shared, { at, by, what: 'run.erased', key: PREFIX + run, why: '' }, () => ({ at, attachments }));
}

export async function isErased(shared: Cells, run: RunId): Promise<boolean> {
  return (await valueAt(shared, PREFIX + run)) !== null;
}
