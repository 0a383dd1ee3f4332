/**
 * Refuses a fork between the approval of a call and its result. An approval covers one call of one run. The fork would make the call
 * again, under another idempotency key, and no person would have approved that.
 */
import { hasEffects } from '@sluice-internal/kernel/ir';
import type { CompiledFlow, Event, Node, Question, RunState, Settled } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { isBelow } from '@sluice-internal/kernel/core';
import type { Program } from '@sluice-internal/kernel/core';
import { SluiceError } from '../ports/errors.ts';

interface Approval {
  /** The event that asks for it. */
  readonly seq: number;
  readonly question: Question;
  readonly node: string;
  thread: string;
  /** The threads that have made a call under it. */
  readonly callers: string[];
}

/** Not for a rehearsal: its script has the answers. */
export function refuseApproved({ flow }: Program, events: readonly Event[], past: RunState): void {
  const asked = new Map<string, Approval>();
  let given: readonly Approval[] = [];
  for (const event of events) {
    if (event.type === 'effect.requested') {
      const { key, seq, thread, node, name, question } = event;
      if (question !== undefined && approves(question)) asked.set(key, { seq, thread, question, node, callers: [] });
      if (event.kind === 'tool' && !past.pending.has(key))
        for (const each of given) if (covers(flow, each, thread, name)) each.callers.push(thread);
    }
    if (event.type === 'fork.joined') passOn(given, event.thread);
    const approval = event.type === 'effect.settled' ? asked.get(event.key) : undefined;
    if (event.type !== 'effect.settled' || approval === undefined) continue;
    given = given.filter(({ thread }) => thread !== approval.thread);
    if (isApproval(approval, event.result)) given = [...given, approval];
  }
  const unused = given.find((each) => isOpen(flow, past, each));
  if (unused !== undefined) throw approvedBefore(flow, past.run, unused);
}

/** After a join, the approvals of its branches count for the thread that continues. The approval of one call does not. */
function passOn(given: readonly Approval[], joined: string): void {
  for (const each of given)
    if (each.thread.startsWith(`${joined}:`) && each.question.purpose !== 'tool_call') each.thread = joined;
}

/** The call can follow in the thread of the approval, or after the join of a fork around it. */
function isOpen(flow: CompiledFlow, past: RunState, approval: Approval): boolean {
  const { thread, callers, question } = approval;
  if (isUnused(flow, past, approval, thread)) return true;
  if (callers.length > 0 || question.purpose === 'tool_call') return false;
  return [...past.threads.values()].some(({ id, at, doing }) => {
    const node = flow.nodes[at];
    const isAround = doing.is === 'forked' && thread.startsWith(`${id}:`);
    return isAround && node?.op === 'fork' && leadsToChange(flow, node.next);
  });
}

/** True if a call under the approval can still follow. Each branch of an open fork makes calls of its own. */
function isUnused(flow: CompiledFlow, past: RunState, approval: Approval, id: string): boolean {
  const { callers, question } = approval;
  const thread = past.threads.get(id);
  if (thread === undefined || callers.includes(id)) return false;
  const { doing } = thread;
  const inFork = callers.filter((caller) => doing.is === 'forked' && isBelow(caller, thread));
  if (callers.some((caller) => caller.startsWith(`${id}:`) && !inFork.includes(caller))) return false;
  if (question.purpose !== 'tool_call' && !leadsToChange(flow, thread.at)) return false;
  if (doing.is !== 'forked' || inFork.length === 0 || doing.fork.started < doing.fork.total) return true;
  return [...past.threads.values()].some(
    ({ parent, id: branch }) => parent === id && isUnused(flow, past, approval, branch),
  );
}

/** An approval node covers the next call with effects in its thread or in a branch of it. Other approvals name their tool. */
function covers(flow: CompiledFlow, { thread, question }: Approval, caller: string, tool: string): boolean {
  if (caller !== thread && !caller.startsWith(`${thread}:`)) return false;
  return question.purpose === 'tool_call' ? tool === question.about : hasEffects(flow, tool);
}

/** True if the question asks for an approval. Other questions ask for information, for more budget or for a decision. */
function approves({ purpose = 'flow_node' }: Question): boolean {
  return ['flow_node', 'tool_call', 'route', 'plan_review'].includes(purpose);
}

function isApproval({ question: { purpose } }: Approval, result: Settled): boolean {
  if (!result.ok) return false;
  const { choice, expired } = (result.value ?? {}) as { readonly choice?: string; readonly expired?: boolean };
  if (expired === true) return false;
  return purpose === 'tool_call' ? choice === 'approve' || choice === 'edit' : choice !== 'reject';
}

/** True if a call with effects can follow the node. Every id in a node counts as a route. */
function leadsToChange(flow: CompiledFlow, from: string): boolean {
  const reached = new Set([from]);
  for (const id of reached) {
    const node = flow.nodes[id];
    if (node === undefined) continue;
    if (changes(flow, node)) return true;
    for (const next of idsIn(node as unknown as Json)) if (Object.hasOwn(flow.nodes, next)) reached.add(next);
  }
  return false;
}

function idsIn(value: Json): readonly string[] {
  if (typeof value === 'string') return [value];
  return value === null || typeof value !== 'object' ? [] : Object.values(value).flatMap(idsIn);
}

function changes(flow: CompiledFlow, node: Node): boolean {
  return node.op === 'do' && node.effect.kind === 'tool' && hasEffects(flow, node.effect.tool);
}

function approvedBefore({ nodes }: CompiledFlow, run: string, { seq, node }: Approval): SluiceError {
  const label = nodes[node]?.label;
  const name = label?.authored ?? label?.name ?? node;
  return new SluiceError(
    'bad-fork',
    `the answer to \`${name}\` is for a call of run \`${run}\`, and the fork would make another call`,
    `Fork at event ${seq}, which asks it, and answer again. Or fork after the call.`,
    undefined,
    { at: seq },
  );
}
