/**
 * Compares the position of a suspended run with another version of its flow: the nodes that it stands at, the questions and
 * signals that it waits for, its open branches, and the compensations that it may still have to run.
 */
import { isDeepStrictEqual } from 'node:util';
import { askOf, authorOf, digest, inputOf } from '@sluice-internal/kernel/core';
import type { Program } from '@sluice-internal/kernel/core';
import type { Json } from '@sluice-internal/kernel/expr';
import type { DoNode, Node, Pending, Question, RunState, Thread } from '@sluice-internal/kernel/ir';
import type { Misfit } from './values.ts';

export function positionMisfits(before: Program, after: Program, state: RunState): readonly Misfit[] {
  return [...state.threads.values()].flatMap((thread) => [
    ...threadMisfits(before, after, state, thread),
    ...thread.undo.flatMap(({ tool }) =>
      Object.hasOwn(after.flow.tools, tool)
        ? []
        : [{ part: `tool \`${tool}\``, problem: 'it undoes effects of the run, and the new version does not have it' }],
    ),
  ]);
}

function threadMisfits(before: Program, after: Program, state: RunState, thread: Thread): readonly Misfit[] {
  const old = before.flow.nodes[thread.at];
  const part = `\`${old === undefined ? thread.at : authorOf(old)}\``;
  const node = Object.hasOwn(after.flow.nodes, thread.at) ? after.flow.nodes[thread.at] : undefined;
  const at = { part: `node ${part}` };
  if (node === undefined || old === undefined)
    return [{ ...at, problem: 'the run waits there, and the new version does not have it' }];
  if (node.op !== old.op) return [{ ...at, problem: 'the run waits there, and it is another type of node now' }];
  if (thread.doing.is === 'forked')
    return isDeepStrictEqual(branchesOf(old), branchesOf(node))
      ? []
      : [{ ...at, problem: 'its branches are open, and the new version has other ones' }];
  const pending = thread.doing.is === 'waiting' ? state.pending.get(thread.doing.on) : undefined;
  if (pending === undefined) return [{ ...at, problem: 'the run does not wait there' }];
  return pendingMisfits(before, after, state, pending).map((problem) => ({ ...at, problem }));
}

/** The part of a fork that open branches depend on. */
function branchesOf(node: Node): unknown {
  if (node.op !== 'fork') return null;
  const { over, widthMax, need, into, gather } = node;
  return { over, widthMax, need, into, gather };
}

function pendingMisfits(before: Program, after: Program, state: RunState, pending: Pending): readonly string[] {
  const { effect, controls } = after.flow.nodes[pending.node] as DoNode;
  const ask = pending.kind === 'ask' ? askOf(after, state, pending) : null;
  const isThere =
    pending.control === undefined ? effect.kind === pending.kind : sameControls(before, controls, pending);
  if (!isThere || (pending.kind === 'ask' && ask === null))
    return [`it waits for ${waitsFor(pending)}, and the new version does not`];
  const gone = metersOf(pending).filter((meter) => !Object.hasOwn(after.flow.meters, meter));
  const missing = gone.map((meter) => `it counts towards the limit \`${meter}\`, which the new version does not have`);
  const input = shownBy(after, state, pending);
  if (input === null) return [...missing, 'the values that it shows cannot be computed from the run'];
  if (pending.kind === 'wait') {
    const signal = input['signal'] ?? null;
    return signal === (pending.signal ?? null)
      ? missing
      : [...missing, `it waits for another signal: ${JSON.stringify(signal)}`];
  }
  if (ask === null || pending.question === null) return missing;
  const { choices, onExpiry, approvers, askedBy } = ask;
  const asked = {
    payload: digest(input, after.pure.hash),
    choices: choices.map(({ name }) => name),
    onExpiry,
    approvers,
    askedBy,
  };
  return [...missing, ...questionMisfits(pending.question, asked)];
}

/** The controls up to the open one have judged the call already, so they must be the same. */
function sameControls({ flow }: Program, controls: DoNode['controls'], { node, control = 0 }: Pending): boolean {
  const named = (of: DoNode['controls']): readonly string[] =>
    (of?.walk ?? []).slice(0, control + 1).map((each) => each.control);
  return isDeepStrictEqual(named((flow.nodes[node] as DoNode).controls), named(controls));
}

type Fields = { readonly [field: string]: Json };

function shownBy(program: Program, state: RunState, pending: Pending): Fields | null {
  try {
    return inputOf(program, state, pending);
  } catch {
    return null;
  }
}

type Asked = Pick<Question, 'payload' | 'choices' | 'onExpiry' | 'askedBy' | 'approvers'>;

function questionMisfits(open: Question, asked: Asked): readonly string[] {
  const problems: string[] = [];
  if (asked.payload !== open.payload) problems.push('its question has another message or payload');
  if (!isDeepStrictEqual(asked.choices, open.choices))
    problems.push(`its question has other choices: ${asked.choices.join(', ')} instead of ${open.choices.join(', ')}`);
  if (asked.onExpiry !== open.onExpiry) problems.push('its question has another meaning when it expires');
  if (!isDeepStrictEqual(asked.approvers, open.approvers)) problems.push('its question has other approvers');
  return problems;
}

function metersOf({ holds, timed = [], watched = [], turns = [] }: Pending): readonly string[] {
  return [...new Set([...holds.map(({ meter }) => meter), ...timed, ...watched, ...turns])];
}

function waitsFor({ kind, signal }: Pending): string {
  if (kind === 'ask') return 'an answer';
  return signal === undefined ? 'a time' : `the signal \`${signal}\``;
}
