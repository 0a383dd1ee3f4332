/**
 * A call that an earlier process may have sent is not undone before it is known if it happened (L7): the tool of `verify` looks it up,
 * or an idempotent call is made again under its own key. If that fails, or there is neither, a person decides.
 */
import type { Json } from '../expr/json.ts';
import type { Command, EventBody, Pending, RunState, Thread, UndoEntry } from '../ir/events.ts';
import type { DoNode } from '../ir/nodes.ts';
import { digest } from './digest.ts';
import { deadlineAfter } from './drops.ts';
import { nameOf } from './failure.ts';
import { evaluateInput, nodeAt } from './program.ts';
import type { Program } from './program.ts';

type Requested = Extract<EventBody, { type: 'effect.requested' }>;
const [APPROVE, REJECT] = ['approve', 'reject'] as const;

export function findOut(program: Program, state: RunState, thread: Thread, entry: UndoEntry): readonly EventBody[] {
  const node = nodeAt(program, entry.node) as DoNode;
  const input = (kind: Kind): string => digest(inputFor(program, node, entry, kind), program.pure.hash);
  const { unclear } = node.undo ?? {};
  const own = { type: 'effect.requested', thread: thread.id, node: entry.node, settles: entry.key } as const;
  const key = `${thread.id}#u${thread.acts}`;
  if (unclear === undefined || entry.asked === true) return [asked(state, node, { ...own, key }, input('ask'))];
  if ('again' in unclear) {
    const deadline = deadlineAfter(state.now, node.timeoutMs);
    return [{ ...own, key: entry.key, kind: 'tool', name: nameOf(node), input: input('again'), deadline }];
  }
  const { tool: name, timeoutMs } = unclear.lookup;
  return [{ ...own, key, kind: 'tool', name, input: input('lookup'), deadline: deadlineAfter(state.now, timeoutMs) }];
}

type Own = Pick<Requested, 'type' | 'thread' | 'node' | 'settles' | 'key'>;

function asked({ run }: RunState, node: DoNode, own: Own, input: string): Requested {
  const about = nameOf(node);
  const { approvers } = node.undo ?? {};
  return {
    ...own,
    kind: 'ask',
    name: about,
    input,
    deadline: null,
    question: {
      id: `a_${run}.${own.key.replace(/[#:]/g, '.')}`,
      about,
      choices: [APPROVE, REJECT],
      onExpiry: REJECT,
      code: 'REVIEW_REQUIRED',
      askedBy: 'engine',
      payload: input,
      purpose: 'tool_call',
      ...(approvers === undefined ? {} : { approvers }),
    },
  };
}

type Kind = 'ask' | 'again' | 'lookup';

/** The input of a call that finds out about another one. */
export function inputToSettle(program: Program, { undo }: Thread, pending: Pending, settles: string): Command['input'] {
  const entry = undo.find(({ key }) => key === settles);
  if (entry === undefined) return {};
  const kind = pending.kind === 'ask' ? 'ask' : pending.key === settles ? 'again' : 'lookup';
  return inputFor(program, nodeAt(program, entry.node) as DoNode, entry, kind);
}

function inputFor(program: Program, node: DoNode, { slots = {}, tool: undo }: UndoEntry, kind: Kind): Command['input'] {
  const { unclear } = node.undo ?? {};
  if (kind === 'lookup' && unclear !== undefined && 'lookup' in unclear)
    return evaluateInput(program, unclear.lookup.input, slots);
  const input = evaluateInput(program, node.effect.input, slots);
  if (kind === 'again') return input;
  const tool = nameOf(node);
  const message = `It is not known if ${tool} happened: a process stopped while it was called. Undo it with ${undo}?`;
  return { message, tool, args: input['args'] ?? input, rollback: undo };
}

/** What the result says about the call: it happened, it did not, or that is still open. */
export function verdictOf({ kind, observed, key, settles }: Pending): 'happened' | 'absent' | 'open' | 'unanswered' {
  if (observed === null || (!observed.ok && observed.error.ran !== true)) return 'open';
  if (!observed.ok) return 'happened';
  if (kind === 'ask') {
    const { choice, expired } = observed.value as { readonly choice?: string; readonly expired?: boolean };
    if (expired === true) return 'unanswered';
    return choice === APPROVE ? 'happened' : 'absent';
  }
  return key !== settles && isAbsent(observed.value) ? 'absent' : 'happened';
}

/** A lookup finds nothing if it gives null, false, an empty list, or an object whose `found` or `done` is false. */
export function isAbsent(found: Json): boolean {
  if (found === null || found === false) return true;
  if (Array.isArray(found)) return found.length === 0;
  return typeof found === 'object' && (found['found'] === false || found['done'] === false);
}
