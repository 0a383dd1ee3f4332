/** Adds to budgets of a run that ended because one was used up. The grant is recorded, and the run goes on from the call that did not fit. */
import type { Fact, RunId } from '@sluice-internal/kernel/ir';
import { SluiceError } from '../ports/errors.ts';
import { spentIn } from '../limits/quotas.ts';
import { errorOf } from './deliver.ts';
import { refuseEarly } from './fork-run.ts';
import type { Host } from './host.ts';
import type { OwnedRun } from './owned-run.ts';
import type { Ownership } from './ownership.ts';
import type { BudgetGrant } from '../ports/types.ts';
import { ownedElsewhere } from './worker.ts';

export async function grantBudget(host: Host, ownership: Ownership, run: RunId, given: BudgetGrant): Promise<void> {
  const { by, budget } = given;
  const grants = Object.entries(budget).map(([dimension, amount]) => ({ dimension, amount }));
  if (by.trim() === '' || grants.length === 0)
    throw new SluiceError('bad-budget', 'a grant names a person and at least one budget', 'Pass `by` and `budget`.');
  const fact: Fact = { type: 'grant', by, grants };
  const owned = await ownership.acquire(run);
  if (owned === null) throw ownedElsewhere(run);
  try {
    await admitOnce(host, owned, fact);
  } catch (error) {
    await ownership.release(owned);
    throw error;
  }
  host.worker.begin(owned);
}

/** Nothing is stored if the grant is refused, or if the run cannot go on here. */
async function admitOnce(host: Host, owned: OwnedRun, fact: Fact): Promise<void> {
  const { program, run, state } = owned;
  refuseEarly(owned, [fact], host.clock.now());
  if (state !== null) {
    const { origin } = state;
    host.checkOrigin(run, origin);
    await host.performer.checkKey?.(program.flow, origin.pins?.tokensOf ?? run, origin.pins?.documentDir);
    await host.quotas.resume({ run, flow: program.flow, origin, spent: spentIn(state) });
  }
  const refusal = await host.send(owned, fact);
  if (refusal !== null) throw errorOf(refusal);
}
