/**
 * Random flows through the engine and through the reference interpreter, in the same random world. Both must agree on how
 * the run ends, on every slot, on what was spent, and on what each branch asked of the world.
 *
 * A failure prints its seed; SEED runs it again, SLUICE_RUNS sets how many flows are tried.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { verify } from '../../src/compile/verify/verify.ts';
import { digest } from '../../src/core/digest.ts';
import type { Json } from '../../src/expr/json.ts';
import { pure } from '../../src/runtime/engine/pure.ts';
import { interpret } from '../../spec/interpreter.ts';
import type { Asked as Meant, Meaning } from '../../spec/interpreter.ts';
import { askedBy, joinsOf, runEngine } from './engine.ts';
import type { Asked, Ran } from './engine.ts';
import { lower } from './lower.ts';
import { plans } from './plan.ts';
import type { Plan } from './plan.ts';
import { createWorld } from './world.ts';
import type { RandomWorld } from './world.ts';

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const numRuns = Number(process.env['SLUICE_RUNS'] ?? 300);

test(
  `L2, L3, L4, L5, L6: the engine agrees with the reference interpreter, seed ${seed}`,
  { timeout: 30_000 + numRuns * 100 },
  async () => {
    console.log(`differential: seed ${seed}, ${numRuns} flows`);
    const seen = {
      requests: 0,
      forks: 0,
      dropped: 0,
      tripped: 0,
      undone: 0,
      fallbacks: 0,
      failed: 0,
      onBudget: 0,
      raised: 0,
      unfit: 0,
    };
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const { ran, meaning, usage } = await both(plan);
        compare(plan, ran, meaning, usage);
        const count = (type: string): number => ran.events.filter((event) => event.type === type).length;
        seen.requests += count('effect.requested');
        seen.forks += count('thread.forked');
        seen.tripped += count('meter.tripped');
        seen.undone += count('undo.requested');
        seen.raised += count('meter.raised');
        seen.onBudget += ran.events.filter((event) => event.type === 'meter.tripped' && event.noted === true).length;
        seen.unfit += ran.events.filter(
          (event) => event.type === 'expression.failed' && event.error.type === 'ArgumentError',
        ).length;
        seen.fallbacks += ran.events.filter(
          (event) => event.type === 'effect.judged' && event.verdict === 'retry' && event.target !== undefined,
        ).length;
        seen.dropped += meaning.dropped.length;
        seen.failed += ran.state.outcome?.state === 'failed' ? 1 : 0;
      }),
      { seed, numRuns },
    );
    console.log(JSON.stringify(seen));
    // A generator that never got anywhere would agree trivially.
    for (const [what, count] of Object.entries(seen)) expect({ what, found: count > 0 }).toEqual({ what, found: true });
  },
);

test(`L5: random flows are flows that the compiler would let pass, seed ${seed}`, () => {
  const found = new Set<string>();
  for (const plan of fc.sample(plans, { seed, numRuns: 200 })) {
    const error = (code: string, _at: unknown, message: string): void => {
      if (!isOfTools(code)) found.add(`${code}: ${message}`);
    };
    verify({ body: lower(plan), places: new Map() }, { error } as never);
  }
  expect([...found]).toEqual([]);
});

/** Random tools have no definitions: how they are called is not what is tested here. */
function isOfTools(code: string): boolean {
  return code === 'unknown-tool' || code === 'incomplete-tool';
}

async function both(plan: Plan): Promise<{ ran: Ran; meaning: Meaning; usage: Usage }> {
  const flow = lower(plan);
  const input = plan.input as unknown as Json;
  // Whether the compensation of a dropped branch holds decides how the run ends, and which are dropped depends on time.
  const world = createWorld(plan.world, flow, { undoHolds: plan.forks === 'early' });
  const ran = await runEngine(flow, input, world, plan.world);
  const joins = joinsOf(flow, ran.events);
  const meaning = interpret(flow, input, {
    answer: world.answer,
    joined: (fork) => joins.get(fork),
    validate: pure.validate,
    countTokens: pure.countTokens,
  });
  return { ran, meaning, usage: usageOf(meaning.asked, world) };
}

type Usage = { [dimension: string]: number };

/** What a report adds up: attempts that were sent, those among them that were not the first, and what was measured. */
function usageOf(asked: readonly Meant[], world: RandomWorld): Usage {
  const usage: Usage = {};
  const add = (dimension: string, amount: number): unknown => (usage[dimension] = (usage[dimension] ?? 0) + amount);
  for (const each of asked) {
    if (each.kind === 'model' || each.kind === 'tool') add(`${each.kind}Calls`, 1);
    if (each.attempt > 1) add('retries', 1);
    for (const [dimension, amount] of Object.entries(world.answer(each)?.used ?? {})) add(dimension, amount);
  }
  return usage;
}

function compare(plan: Plan, { state, events, performed, agrees }: Ran, meaning: Meaning, usage: Usage): void {
  const isAlive = ({ thread }: { thread: string }): boolean =>
    !meaning.dropped.some((id) => thread === id || thread.startsWith(`${id}:`));
  const meant = meaning.asked.filter(isAlive);
  const order = plan.forks === 'sequential' ? (asked: readonly Asked[]) => asked : byThread;
  // What was spent by a dropped branch depends on how far it came.
  const counted = meaning.dropped.length === 0;
  expect(meaning.illegal).toEqual([]);
  expect(agrees).toBe(true);
  expect(Object.values(state.held).filter((amount) => amount !== 0)).toEqual([]);
  expect({
    ...plain({ ...state.outcome, slots: state.threads.get('0')?.slots }),
    ...(counted ? plain({ spent: state.spent, raised: state.raised ?? {}, usage: state.usage }) : {}),
    asked: order(askedBy(events).filter(isAlive)),
    inputs: inputsOf(performed.filter(({ key }) => isAlive({ thread: threadOf(key) }))),
    prints: printsOf(
      events.flatMap((event) =>
        event.type === 'effect.requested' && isAlive(event) ? [[event.key, event.input]] : [],
      ),
    ),
  }).toEqual({
    ...plain({
      state: meaning.state,
      code: meaning.code,
      output: meaning.output,
      error: errorOf(meaning),
      slots: meaning.slots,
    }),
    ...(counted ? plain({ spent: meaning.spent, raised: meaning.raised, usage }) : {}),
    asked: order(meant.map(bare)),
    inputs: inputsOf(meant.filter(({ kind }) => kind !== 'ask' && kind !== 'wait')),
    prints: printsOf(
      meant
        .filter(({ key, attempt }) => attempt === 1 && !isUndo(key))
        .map(({ key, input }) => [key, digest({ ...input }, pure.hash)]),
    ),
  });
}

/** A run that ends otherwise than completed keeps its last error, also when only a compensation failed. */
function errorOf({ state, error, slots }: Meaning): unknown {
  return state === 'completed' ? null : (error ?? slots['error'] ?? null);
}

/** Messages are for people; both sides say the same in words of their own. Zeros are as good as nothing. */
function plain(value: unknown): object {
  const strip = (key: string, each: unknown): unknown => (key === 'message' || each === 0 ? undefined : each);
  return JSON.parse(JSON.stringify(value, strip)) as object;
}

function bare({ thread, key, attempt, name, node }: Meant): Asked {
  return { thread, key, attempt, name, node };
}

/** Every attempt's input; compensations of branches that ran together have no order between them, hence no keys. */
function inputsOf(asked: readonly { key: string; attempt: number; node: string; input: unknown }[]): string[] {
  const line = ({ key, attempt, node, input }: (typeof asked)[number]): string =>
    `${isUndo(key) ? `${threadOf(key)} undo ${node}` : `${key} ${attempt}`} ${digest(input as Json, pure.hash)}`;
  return asked.map(line).sort();
}

function printsOf(prints: readonly (readonly string[])[]): string[] {
  return prints.map(([key, print]) => `${key} ${print}`).sort();
}

function isUndo(key: string): boolean {
  return key.includes('#u');
}

function threadOf(key: string): string {
  return key.slice(0, key.indexOf('#'));
}

/** In order within a branch, and without order between compensations. */
function byThread(asked: readonly Asked[]): unknown {
  const threads: { [thread: string]: { acts: string[]; undone: string[] } } = {};
  for (const { thread, key, attempt, name, node } of asked) {
    const { acts, undone } = (threads[thread] ??= { acts: [], undone: [] });
    if (isUndo(key)) undone.push(`${name} ${node}`);
    else acts.push(`${key} ${attempt} ${name} ${node}`);
  }
  for (const { undone } of Object.values(threads)) undone.sort();
  return threads;
}
