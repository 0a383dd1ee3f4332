/**
 * The certificate of every shipped example against a run in a hostile world: calls fail as often as they are retried, agents
 * use every tool round and every repair, and nothing is finished before a limit ends it. The bound holds, and it is at most a
 * tenth above that run.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Command, CompiledFlow, DoNode, Settled } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Usage } from '@sluice-internal/engine/ports';
import { usageOf } from '@sluice-internal/engine/report';
import { driveCore } from '../../../../test/support/harness.ts';
import type { CoreWorld } from '../../../../test/support/harness.ts';
import { compileText } from '../../../notations/test/compile/compile-text.ts';
import { DOWN, HOSTILE, LATE } from './hostile-examples.ts';
import type { Hostile } from './hostile-examples.ts';

const folder = new URL('../../../../examples/', import.meta.url);
const examples = readdirSync(folder).filter((name) => /\.(flow|workflow|team|staged|loop)\.yaml$/.test(name));
const MEASURES = [
  'steps',
  'modelCalls',
  'toolCalls',
  'undoCalls',
  'externalCalls',
  'retries',
  'reflections',
  'memoryWrites',
  'sideEffects',
] as const;
/** An operator may add to the budget that stops a map, and then each item is a step. */
const GRANTED: { readonly [example: string]: readonly string[] } = { 'stamps.flow.yaml': ['steps'] };
const ROUNDS_MAX = 50;
const REPAIRS_MAX = 2;

function replyOf(text: string, calls: readonly { name: string; args: Json }[] = []): Settled {
  return {
    ok: true,
    value: { text, toolCalls: calls.map((call, index) => ({ id: `c${index}`, ...call })), parts: [] },
  };
}

/** Checks pass. Only references to observations that do not exist are refused. */
function verdictOf({ name, input }: Command): Json {
  const { text = null, value = null, args = null } = input;
  const isBroken = name === 'policy:bind' && String(text).includes('obs.99999');
  return {
    ok: !isBroken,
    allowed: true,
    decision: 'allow',
    text,
    value: readOf(value),
    args,
    reason: 'there is no such observation',
    fits: true,
    cut: [],
  };
}

function readOf(value: Json): Json {
  try {
    return typeof value === 'string' ? (JSON.parse(value) as Json) : value;
  } catch {
    return value;
  }
}

/** The outcome of one call in the hostile world. */
function worldOf(flow: CompiledFlow, hostile: Hostile): (command: Command) => Settled {
  let [count, failures] = [0, 0];
  const replies = new Map<string, number>();
  return (command) => {
    count += 1;
    const node = flow.nodes[command.node] as DoNode;
    if (command.kind === 'check') return { ok: true, value: hostile.check?.(command, count) ?? verdictOf(command) };
    if (command.kind === 'tool') {
      if (hostile.isDown === true && command.attempt <= node.retry.max)
        return node.retry.on.includes('transient') ? DOWN : LATE;
      return hostile.tool?.(command, count) ?? { ok: true, value: { n: count } };
    }
    const isDown = command.attempt <= node.retry.max && node.retry.on.includes('transient');
    if (isDown && failures++ < (hostile.failures ?? Infinity)) return DOWN;
    if (node.fit?.lenient === true && node.fit.repairs > 0 && command.input['repair'] === undefined)
      return replyOf('{"n": 1} {"n": 2}');
    const messages = (command.input['messages'] ?? []) as unknown as readonly { readonly role: string }[];
    const asked = messages.filter(({ role }) => role === 'assistant').length;
    const tool = hostile.uses?.[command.name];
    const rounds = hostile.rounds ?? ROUNDS_MAX;
    const isUnfit = hostile.isUnfit === true && node.fit !== undefined && command.input['repair'] === undefined;
    if (tool !== undefined && isUnfit) return replyOf('?');
    if (tool !== undefined && asked < rounds) return replyOf('', callsOf(tool, count, hostile));
    if (tool !== undefined && asked < rounds + REPAIRS_MAX) return replyOf('{{obs.99999.x}}');
    const before = replies.get(command.name) ?? 0;
    replies.set(command.name, before + 1);
    const said = hostile.says?.[command.name] ?? hostile.says?.['*'] ?? 'Go on.';
    return typeof said === 'function'
      ? said(before, command)
      : replyOf(typeof said === 'string' ? said : (said[before % said.length] ?? ''));
  };
}

function callsOf(name: string, count: number, { args, calls = 1 }: Hostile): readonly { name: string; args: Json }[] {
  const numbers = Array.from({ length: calls }, (_, index) => count * calls + index);
  return numbers.map((each) => ({ name, args: args?.(each) ?? { n: each } }));
}

function usageIn(flow: CompiledFlow, hostile: Hostile): Usage {
  const { answer, cancelDuring, order, input = { message: 'go' } } = hostile;
  const world: CoreWorld = {
    perform: worldOf(flow, hostile),
    cancels: ({ name }) => name === cancelDuring,
    ...(answer === undefined ? {} : { answer }),
    ...(order === undefined ? {} : { order }),
  };
  const { state, events } = driveCore(flow, world, input);
  return usageOf(flow, state, events);
}

test.each(examples)('%s', (name) => {
  const worlds = [HOSTILE[name] ?? {}].flat();
  const { flow, bounds } = compileText(parse(readFileSync(new URL(name, folder), 'utf8')) as object);
  const used = worlds.map((hostile) => usageIn(flow as CompiledFlow, hostile));
  const rows = MEASURES.map((measure) => ({
    measure,
    reached: Math.max(...used.map((usage) => usage[measure])),
    most: bounds?.flow[measure].most ?? null,
  }));
  expect(rows.flatMap(({ measure, most }) => (most === null ? [measure] : []))).toEqual([]);
  expect(rows.filter(({ most, reached }) => most !== null && reached > most)).toEqual([]);
  const loose = rows.filter(({ most, reached }) => most !== null && most > Math.floor(reached * 1.1));
  expect(loose.map(({ measure }) => measure)).toEqual(GRANTED[name] ?? []);
});
