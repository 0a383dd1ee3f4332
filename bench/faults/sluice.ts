/** Sluice: a staged flow with the protections that are on by default. */
import { compile, createEngine } from '@sluice-internal/library';
import type { CompiledFlow } from '@sluice-internal/library';
import { PerformError, createVirtualClock, operate } from '@sluice-internal/engine/ports';
import type { Store } from '@sluice-internal/engine/ports';
import type { Json } from '@sluice-internal/kernel/expr';
import { BREAKER_PREFIX, setByHand, stateOf } from '@sluice-internal/engine/limits';
import { openSqlite } from '@sluice-internal/store-sqlite';
import type { Faulted } from './contestant.ts';
import { ProviderError } from './provider.ts';
import type { Role } from './provider.ts';

const reply = (field: string) => ({ type: 'object', properties: { [field]: { type: 'string' } }, required: [field] });

const CALL_MS = 5_000;

const DOCUMENT = {
  agents: ['planner', 'worker', 'critic', 'writer'].map((id) => ({ id, instructions: `You are the ${id}.` })),
  staged: {
    id: 'faults',
    plan: { agent: 'planner' },
    workers: { agent: 'worker', output: reply('finding') },
    validate: { agent: 'critic' },
    finalize: { agent: 'writer', output: reply('answer') },
  },
};

export const sluice: Faulted = contestant(false);
/** After the outage an operator closes the breakers by hand, as `sluice breakers close` does. */
export const sluiceOperated: Faulted = contestant(true);

function contestant(operated: boolean): Faulted {
  return {
    settings:
      'the defaults of `staged`: two retries, one repair of a malformed reply, two replans, the retry budget and the breaker',
    async open(file, provider) {
      const { flow } = compile(DOCUMENT);
      const store = openSqlite(file);
      // Waiting costs no tokens, so time passes at once. A call takes five seconds of it.
      const clock = createVirtualClock(Date.now());
      const engine = createEngine({
        journal: store,
        clock,
        model: async ({ agent, messages, run }) => {
          await clock.sleep(CALL_MS);
          const [, task = ''] = /Task ([abc])/.exec(JSON.stringify(messages)) ?? [];
          try {
            return provider.ask(run, agent.id as Role, agent.id === 'worker' ? task : '');
          } catch (error) {
            if (!(error instanceof ProviderError)) throw error;
            const kind = error.fault === 'timeout' ? 'timeout' : 'rate_limit';
            throw new PerformError({ class: kind, type: 'APIError', message: error.message });
          }
        },
      });
      return {
        async run(id) {
          if (operated && provider.endsOutage(id)) await closeAll(store);
          const known = await store.index.find(id);
          if (known === null) await engine.start(flow as CompiledFlow, { run: id, input: 'Answer it.' });
          const { state, code } = await engine.settled(id);
          return state === 'completed' && code === 'SUCCESS';
        },
        close: () => engine.close(),
      };
    },
  };
}

async function closeAll({ shared }: Store): Promise<void> {
  const at = Date.now();
  for (const { key } of await shared.list(BREAKER_PREFIX))
    await operate(
      shared,
      { at, by: 'operator', what: 'breaker.closed', key, why: 'the provider answers again' },
      (value) => setByHand(stateOf(value), 'closed', 'operator', at) as unknown as Json,
    );
}
