/** `sluice breakers`: lists the circuit breakers of a database. `open` and `close` change one by hand, which is recorded. */
import { didYouMean, nearest } from '@sluice-internal/compile/source';
import type { Json } from '@sluice-internal/kernel/expr';
import { operate } from '@sluice-internal/engine/ports';
import type { Cells, OperatorAct, Store } from '@sluice-internal/engine/ports';
import { BREAKER_PREFIX, SCRIPTED_PREFIX, probeAt, setByHand, stateOf } from '@sluice-internal/engine/limits';
import type { BreakerState } from '@sluice-internal/engine/limits';
import { closing, openStore } from '@sluice-internal/library/host';
import { iso, oneLine, usage } from '@sluice-internal/library/documents';
import type { Cli } from '@sluice-internal/library/documents';
import { currentUser } from '../session/ask-person.ts';
import type { OperatorOptions } from '../table/command-table.ts';
import { demandOperator, withStore } from '../session/store.ts';

interface Breaker {
  readonly id: string;
  /** True for the breaker of scripted calls. */
  readonly scripted: boolean;
  readonly state: BreakerState;
}

export async function breakersCommand(cli: Cli): Promise<void> {
  const { breakers, acts } = await withStore(cli, async ({ shared }) => ({
    breakers: await listed(shared),
    // A tenant does not read the acts of operators.
    acts: cli.tenant === undefined ? (await shared.acts()).filter(({ key }) => idIn(key) !== null) : [],
  }));
  if (cli.json) cli.printJson({ breakers: breakers.map(jsonOf), acts: acts.map(actJson) });
  else cli.printTable(HEADS, breakers.map(rowOf), 'no breaker has counted a failure yet');
}

export function openBreakerCommand(cli: Cli, id: string, options: OperatorOptions): Promise<void> {
  return setBreaker(cli, 'open', id, options);
}

export function closeBreakerCommand(cli: Cli, id: string, options: OperatorOptions): Promise<void> {
  return setBreaker(cli, 'closed', id, options);
}

/**
 * Opens or closes a breaker by hand. A breaker that no run has used yet can be opened in advance. The breaker of real calls stops
 * scripted calls too while it is open by hand, so only closing changes both.
 */
async function setBreaker(cli: Cli, to: 'open' | 'closed', id: string, options: OperatorOptions): Promise<void> {
  demandOperator(cli, 'a tenant cannot change breakers, which all tenants share');
  if (!id.includes('@'))
    throw usage(
      `\`${id}\` is not a breaker`,
      'A breaker is named `AGENT@PROVIDER/MODEL`; list them with `sluice breakers`.',
    );
  const change = async (store: Store): Promise<void> => {
    const known = await listed(store.shared);
    if (to === 'closed' && !known.some((each) => each.id === id)) throw unknown(id, known);
    const at = Date.now();
    const by = options.as ?? currentUser();
    const own = known.filter((each) => each.id === id);
    const what = to === 'open' ? 'breaker.opened' : 'breaker.closed';
    const sides = to === 'open' ? [false] : own.map(({ scripted }) => scripted);
    for (const scripted of sides)
      await operate(
        store.shared,
        { at, by, what, key: `${scripted ? SCRIPTED_PREFIX : BREAKER_PREFIX}${id}`, why: options.why ?? '' },
        (value) => setByHand(stateOf(value), to, by, at) as unknown as Json,
      );
    const [changed] = (await listed(store.shared)).filter((each) => each.id === id);
    if (cli.json && changed !== undefined) cli.printJson(jsonOf(changed));
    else {
      cli.hint(`${id} is ${to}${to === 'open' ? ' until it is closed by hand' : ''}`);
      if (own.length === 0) cli.hint(unused(id, known));
    }
  };
  // Only opening makes a database.
  await (to === 'open' ? closing(openStore(cli.db), change) : withStore(cli, change, false));
}

/** A warning if no call has used the breaker: a misspelt name stops no call. */
function unused(id: string, known: readonly Breaker[]): string {
  const ids = known.map((each) => each.id);
  const near = nearest(id, ids);
  return `no failed call has used \`${id}\` yet${near === undefined ? '; a breaker is named AGENT@PROVIDER/MODEL' : `; did you mean \`${near}\`?`}`;
}

async function listed(shared: Cells): Promise<readonly Breaker[]> {
  const found = [...(await shared.list(BREAKER_PREFIX)), ...(await shared.list(SCRIPTED_PREFIX))];
  return found.map(({ key, value }) => ({
    id: idIn(key) ?? '',
    scripted: key.startsWith(SCRIPTED_PREFIX),
    state: stateOf(value),
  }));
}

/** Null if the key is not that of a breaker. */
function idIn(key: string): string | null {
  const prefix = [BREAKER_PREFIX, SCRIPTED_PREFIX].find((each) => key.startsWith(each));
  return prefix === undefined ? null : key.slice(prefix.length);
}

function unknown(id: string, known: readonly Breaker[]): Error {
  const ids = known.map((each) => each.id);
  return usage(`there is no breaker \`${id}\``, didYouMean(id, ids, 'List them with `sluice breakers`.'));
}

function jsonOf({ id, scripted, state }: Breaker): object {
  const [agent = '', ...model] = id.split('@');
  const until = probeAt(state);
  return {
    breaker: id,
    agent,
    model: model.join('@'),
    scripted,
    state: state.status,
    cause: state.cause,
    trips: state.trips,
    since: state.since === 0 ? null : iso(state.since),
    probeAt: until === null ? null : iso(until),
    by: state.by,
    providerErrors: state.providerErrors,
    schemaFailures: state.schemaFailures,
    violations: state.violations,
    recentCalls: state.rate.reduce((sum, { calls }) => sum + calls, 0),
    recentErrors: state.rate.reduce((sum, { errors }) => sum + errors, 0),
  };
}

const HEADS = ['BREAKER', 'STATE', 'CAUSE', 'TRIPS', 'PROBE', 'CALLS'];

function rowOf({ id, scripted, state }: Breaker): string[] {
  const at = probeAt(state);
  const probe = state.status === 'closed' ? '-' : at === null ? 'by hand' : iso(at);
  return [
    oneLine(id, 60),
    state.status,
    state.by ?? state.cause ?? '-',
    String(state.trips),
    probe,
    scripted ? 'scripted' : 'real',
  ];
}

function actJson({ at, by, what, key, why }: OperatorAct): object {
  return { at: iso(at), by, what, breaker: idIn(key), why };
}
