/** Compares a run of the engine with the meaning that the reference interpreter gives to the same flow in the same world. */
import { expect } from 'vitest';
import { digest } from '@sluice-internal/kernel/core';
import { RETRY_CHECK } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { pure } from '@sluice-internal/engine/ports';
import type { Meaning } from '../../spec/interpreter.ts';
import type { Asked as Meant } from '../../spec/values.ts';
import { askedBy } from './engine.ts';
import type { Asked, Ran } from './engine.ts';
import type { RandomWorld } from './world.ts';

export type Usage = { [dimension: string]: number };

/** What a report adds up: attempts that were sent, those among them that were not the first, and what was measured. */
export function usageOf(asked: readonly Meant[], world: RandomWorld): Usage {
  const usage: Usage = {};
  const add = (dimension: string, amount: number): unknown => (usage[dimension] = (usage[dimension] ?? 0) + amount);
  for (const each of asked) {
    if (isUndo(each.key)) add('undoCalls', 1);
    else if (each.kind === 'model' || each.kind === 'tool') add(`${each.kind}Calls`, 1);
    if (each.attempt > 1) add('retries', 1);
    for (const [dimension, amount] of Object.entries(world.answer(each)?.used ?? {})) add(dimension, amount);
  }
  return usage;
}

/** `ordered`: branches ran one after the other, so that the order of all calls is fixed. */
export function compare(
  ordered: boolean,
  { state, events, performed, agrees }: Ran,
  meaning: Meaning,
  usage: Usage,
): void {
  const isAlive = ({ thread }: { thread: string }): boolean =>
    !meaning.dropped.some((id) => thread === id || thread.startsWith(`${id}:`));
  const meant = meaning.asked.filter(isAlive);
  const order = ordered ? (asked: readonly Asked[]) => asked : byThread;
  // What was spent by a dropped branch depends on how far it came.
  const counted = meaning.dropped.length === 0;
  expect(meaning.illegal).toEqual([]);
  expect(agrees).toBe(true);
  expect(Object.values(state.reserved).filter((amount) => amount !== 0)).toEqual([]);
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
    inputs: inputsOf(meant.filter(isPerformed)),
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

/** The engine itself answers questions, waits, and the count of a repeated attempt. */
function isPerformed({ kind, name }: Meant): boolean {
  return kind !== 'ask' && kind !== 'wait' && name !== RETRY_CHECK;
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
