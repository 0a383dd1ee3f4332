/** The circuit breakers of a database, and closing one by hand, for real and for scripted calls. The act is recorded. */
import { nearest } from '@sluice-internal/compile/source';
import type { Json } from '@sluice-internal/kernel/expr';
import { BREAKER_PREFIX, SCRIPTED_PREFIX, probeAt, setByHand, stateOf } from '@sluice-internal/engine/limits';
import { operate } from '@sluice-internal/engine/ports';
import type { Store } from '@sluice-internal/engine/ports';
import { Refusal } from './problem.ts';
import type { Services } from './services.ts';
import type { Who } from '../auth/who.ts';

/** All that have counted a failure. */
export async function breakersIn({ shared }: Pick<Store, 'shared'>): Promise<readonly object[]> {
  const iso = (at: number | null): string | null => (at === null || at === 0 ? null : new Date(at).toISOString());
  const all = [BREAKER_PREFIX, SCRIPTED_PREFIX].map(async (prefix) =>
    (await shared.list(prefix)).map(({ key, value }) => {
      const state = stateOf(value);
      const { status, cause, trips, since, by } = state;
      return {
        ...{ breaker: key.slice(prefix.length), scripted: prefix === SCRIPTED_PREFIX, state: status },
        ...{ cause, trips, since: iso(since), probeAt: iso(probeAt(state)), by },
      };
    }),
  );
  return (await Promise.all(all)).flat();
}

export async function closeBreaker({ store }: Services, who: Who, id: string, why: string): Promise<void> {
  if (who.tenant !== null)
    throw new Refusal('access-denied', 'a tenant cannot change breakers, which all tenants share');
  const { shared } = store;
  const known = [...(await shared.list(BREAKER_PREFIX)), ...(await shared.list(SCRIPTED_PREFIX))].map(({ key }) => key);
  const own = known.filter((key) => key === `${BREAKER_PREFIX}${id}` || key === `${SCRIPTED_PREFIX}${id}`);
  if (own.length === 0) {
    const near = nearest(`${BREAKER_PREFIX}${id}`, known)?.slice(BREAKER_PREFIX.length);
    throw new Refusal('breaker-not-found', `there is no breaker \`${id}\``, {
      help: near === undefined ? 'List them with `sluice breakers`.' : `Did you mean \`${near}\`?`,
    });
  }
  const at = Date.now();
  const by = who.person ?? who.name;
  for (const key of own)
    await operate(
      shared,
      { at, by, what: 'breaker.closed', key, why },
      (value) => setByHand(stateOf(value), 'closed', by, at) as unknown as Json,
    );
}
