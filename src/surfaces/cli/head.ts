/** How far a run is and what it is pinned to, without folding it. */
import type { CompiledFlow } from '../../ir/nodes.ts';
import type { RunId } from '../../ir/events.ts';
import type { Store } from '../../runtime/ports.ts';
import { SluiceError } from '../../runtime/errors.ts';

export interface Head {
  readonly flow: CompiledFlow;
  readonly seq: number;
}

export async function headOf(store: Store, run: RunId): Promise<Head> {
  const stored = await store.journal.load(run);
  if (stored === null)
    throw new SluiceError('run-not-found', `there is no run \`${run}\``, 'List them with `sluice runs`.');
  const last = stored.appends[stored.appends.length - 1];
  return {
    flow: JSON.parse(stored.flow) as CompiledFlow,
    seq: last === undefined ? (stored.snapshot?.seq ?? 0) : last.after + last.count,
  };
}
