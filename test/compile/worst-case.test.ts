/**
 * The certificate of every shipped example against a run in a hostile world: calls fail as often as they are retried, agents
 * use every tool round and every repair, and nothing is finished before a limit ends it. The bound holds, and it is at most a
 * tenth above that run.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Command, Event, Settled } from '../../src/ir/events.ts';
import type { CompiledFlow, DoNode } from '../../src/ir/nodes.ts';
import type { Json } from '../../src/expr/json.ts';
import { driveCore } from '../harness.ts';
import type { CoreWorld } from '../harness.ts';
import { compileText } from './compile-text.ts';
import { HOSTILE } from './hostile-examples.ts';
import type { Hostile } from './hostile-examples.ts';

const folder = new URL('../../examples/', import.meta.url);
const examples = readdirSync(folder).filter((name) => /\.(flow|workflow|team|staged|loop)\.yaml$/.test(name));
const ROUNDS_MAX = 50;
const REPAIRS_MAX = 2;
const DOWN: Settled = { ok: false, error: { class: 'transient', type: 'TransientError', message: '503' } };

function replyOf(text: string, calls: readonly { name: string; args: Json }[] = []): Settled {
  return {
    ok: true,
    value: { text, toolCalls: calls.map((call, index) => ({ id: `c${index}`, ...call })), parts: [] },
  };
}

/** Checks pass. Only references to observations that do not exist are refused. */
function verdictOf({ name, input }: Command): Json {
  const { text = null, value = null } = input;
  const isBroken = name === 'policy:bind' && String(text).includes('obs.99999');
  return {
    ok: !isBroken,
    allowed: true,
    decision: 'allow',
    text,
    value: readOf(value),
    reason: 'there is no such observation',
    claimed: [],
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
    if (command.kind === 'tool') return hostile.tool?.(command, count) ?? { ok: true, value: { n: count } };
    const isDown = command.attempt <= node.retry.max && node.retry.on.includes('transient');
    if (isDown && failures++ < (hostile.failures ?? Infinity)) return DOWN;
    const messages = (command.input['messages'] ?? []) as unknown as readonly { readonly role: string }[];
    const asked = messages.filter(({ role }) => role === 'assistant').length;
    const tool = hostile.uses?.[command.name];
    const rounds = hostile.rounds ?? ROUNDS_MAX;
    if (tool !== undefined && asked < rounds)
      return replyOf('', [{ name: tool, args: hostile.args?.(count) ?? { n: count } }]);
    if (tool !== undefined && asked < rounds + REPAIRS_MAX) return replyOf('{{obs.99999.x}}');
    const before = replies.get(command.name) ?? 0;
    replies.set(command.name, before + 1);
    const said = hostile.says?.[command.name] ?? hostile.says?.['*'] ?? 'Go on.';
    return typeof said === 'function'
      ? said(before, command)
      : replyOf(typeof said === 'string' ? said : (said[before % said.length] ?? ''));
  };
}

/** Attempts of model calls: the first ones and the repeated ones. */
function madeIn(events: readonly Event[]): number {
  const keys = new Set(
    events.flatMap((event) => (event.type === 'effect.requested' && event.kind === 'model' ? [event.key] : [])),
  );
  const again = events.filter(
    (event) => event.type === 'effect.judged' && event.verdict === 'retry' && keys.has(event.key),
  );
  return keys.size + again.length;
}

test.each(examples)('%s', (name) => {
  const hostile = HOSTILE[name] ?? {};
  const written = parse(readFileSync(new URL(name, folder), 'utf8')) as object;
  const { flow, bounds } = compileText(hostile.edit?.(written) ?? written);
  const most = bounds?.flow.modelCalls.most;
  const world = worldOf(flow as CompiledFlow, hostile);
  const { events } = driveCore(
    flow as CompiledFlow,
    { perform: world, ...answering(hostile) },
    hostile.input ?? { message: 'go' },
  );
  const made = madeIn(events);
  const limit = hostile.unbounded === true ? Infinity : Math.floor(made * 1.1);
  expect(most === null).toBe(limit === Infinity);
  expect(made).toBeLessThanOrEqual(most ?? Infinity);
  expect(most ?? Infinity).toBeLessThanOrEqual(hostile.loose === true ? Infinity : limit);
});

function answering({ answer }: Hostile): Pick<CoreWorld, 'answer'> {
  return answer === undefined ? {} : { answer };
}
