/**
 * The receipts of a run: every tool effect that was committed, with its arguments, its result and the person who approved it.
 * They come from the journal alone, so they do not depend on anything that a model says.
 */
import { onlyReads } from '../../ir/effect-classes.ts';
import { evolve } from '../../core/evolve.ts';
import { inputOf } from '../../core/outstanding.ts';
import type { Program } from '../../core/program.ts';
import type { Json } from '../../expr/json.ts';
import type { EffectKey, Event, Question, RunState } from '../../ir/events.ts';
import type { Receipt } from '../engine/types.ts';

interface ToolCall {
  readonly tool: string;
  readonly args: Json;
  readonly approval: Approval | null;
  /** Of a lookup: the key of the call that it looks up. */
  readonly verifies: EffectKey | null;
  result: Json;
}

interface Approval {
  readonly by: string;
  readonly together?: readonly string[];
}

interface Ledger {
  readonly program: Program;
  state: RunState | null;
  readonly calls: Map<EffectKey, ToolCall>;
  readonly receipts: Map<EffectKey, Receipt>;
  /** Questions, by key: the branch and the subject. */
  readonly questions: Map<EffectKey, Asked>;
  /** The last approval, by branch and tool. */
  readonly approvals: Map<string, Approval>;
  /** The approval of a node, by branch: it covers the call that comes next. */
  readonly next: Map<string, Approval>;
  /** Compensations, by key: the key of the call that each one undoes. */
  readonly undoes: Map<EffectKey, EffectKey>;
}

interface Asked {
  readonly thread: string;
  readonly question: Question;
}

export function receiptsOf(program: Program, events: readonly Event[]): readonly Receipt[] {
  if (!events.some((event) => event.type === 'effect.requested' && event.kind === 'tool')) return [];
  const ledger: Ledger = {
    program,
    state: null,
    calls: new Map(),
    receipts: new Map(),
    questions: new Map(),
    approvals: new Map(),
    next: new Map(),
    undoes: new Map(),
  };
  for (const event of events) {
    ledger.state = evolve(ledger.state, event);
    enter(ledger, event);
  }
  return [...ledger.receipts.values()];
}

function enter(ledger: Ledger, event: Event): void {
  if (event.type === 'effect.requested') requested(ledger, event);
  else if (event.type === 'undo.requested') ledger.undoes.set(event.key, event.undoes);
  else if (event.type === 'effect.settled') settled(ledger, event);
  else if (event.type === 'effect.judged') judged(ledger, event);
  else if (event.type === 'effect.dropped') dropped(ledger, event);
}

type Of<Type extends Event['type']> = Extract<Event, { readonly type: Type }>;

function requested(ledger: Ledger, event: Of<'effect.requested'>): void {
  const { key, thread, name } = event;
  if (event.question !== undefined) ledger.questions.set(key, { thread, question: event.question });
  const leading = ledger.next.get(thread) ?? null;
  if (event.kind !== 'check') ledger.next.delete(thread);
  const pending = ledger.state?.pending.get(key);
  if (event.kind !== 'tool' || ledger.state === null || pending === undefined) return;
  const { args = null, verifies } = inputOf(ledger.program, ledger.state, pending);
  ledger.calls.set(key, {
    tool: name,
    args,
    approval: ledger.approvals.get(`${thread} ${name}`) ?? leading,
    verifies: verifies === undefined ? null : lastUnknown(ledger, thread, String(verifies)),
    result: null,
  });
  // An approval covers one call.
  ledger.approvals.delete(`${thread} ${name}`);
}

function settled(ledger: Ledger, { key, result }: Of<'effect.settled'>): void {
  const call = ledger.calls.get(key);
  if (call !== undefined) call.result = result.ok ? result.value : null;
  const asked = ledger.questions.get(key);
  if (asked !== undefined && result.ok) answered(ledger, asked, result.value);
  const undone = ledger.undoes.get(key);
  const receipt = undone === undefined ? undefined : ledger.receipts.get(undone);
  if (undone !== undefined && receipt !== undefined && result.ok)
    ledger.receipts.set(undone, { ...receipt, status: 'compensated' });
}

function answered(ledger: Ledger, { thread, question }: Asked, value: Json): void {
  const { choice, by, together, expired } = (value ?? {}) as Partial<Approval> & { choice?: string; expired?: boolean };
  if (typeof by !== 'string' || expired === true) return;
  const approval = { by, ...(together === undefined ? {} : { together }) };
  if (choice === 'approve' || choice === 'edit') ledger.approvals.set(`${thread} ${question.about}`, approval);
  // A node of the author approves the call that it leads to, if it is known who answered.
  const isNode = question.purpose === undefined && question.approvers?.counted.includes(choice ?? '') === true;
  if (isNode) ledger.next.set(thread, approval);
}

/** The latest call of this tool in the branch whose outcome is not known. */
function lastUnknown({ receipts }: Ledger, thread: string, tool: string): EffectKey | null {
  const unknown = [...receipts].filter(
    ([key, receipt]) => key.startsWith(`${thread}#`) && receipt.tool === tool && receipt.status === 'unknown',
  );
  return unknown.at(-1)?.[0] ?? null;
}

/** A lookup settles the call that it looked up: it happened, or there is no receipt for it. */
function lookedUp({ receipts }: Ledger, { verifies, result }: ToolCall): void {
  const receipt = verifies === null ? undefined : receipts.get(verifies);
  if (verifies === null || receipt === undefined) return;
  if (isAbsent(result)) receipts.delete(verifies);
  else receipts.set(verifies, { ...receipt, result, status: 'committed' });
}

function isAbsent(result: Json): boolean {
  if (result === null || result === false) return true;
  if (Array.isArray(result)) return result.length === 0;
  return typeof result === 'object' && (result['found'] === false || result['done'] === false);
}

/** The run stopped waiting for a call: its time ran out, or it was cancelled. A call with effects may have happened. */
function dropped({ program, calls, receipts }: Ledger, { key, seq }: Of<'effect.dropped'>): void {
  const call = calls.get(key);
  if (call === undefined || receipts.has(key)) return;
  const entry = entryOf(program, call, seq);
  if (!onlyReads(entry.effect)) receipts.set(key, { ...entry, result: null, status: 'unknown' });
}

function entryOf({ flow }: Program, { tool, args, approval, result }: ToolCall, seq: number): Omit<Receipt, 'status'> {
  const effect = flow.tools[tool]?.effect ?? 'write';
  const together = approval?.together;
  const people = { approvedBy: approval?.by ?? null, ...(together === undefined ? {} : { approvers: together }) };
  return { seq, tool, effect, args, result, ...people };
}

function judged(ledger: Ledger, event: Of<'effect.judged'>): void {
  const call = ledger.calls.get(event.key);
  if (call === undefined || event.verdict === 'retry') return;
  const entry = entryOf(ledger.program, call, event.seq);
  if (event.verdict === 'accepted') {
    ledger.receipts.set(event.key, { ...entry, status: 'committed' });
    lookedUp(ledger, call);
  }
  // A call with effects that timed out may have happened.
  else if (event.error.class === 'timeout' && !onlyReads(entry.effect))
    ledger.receipts.set(event.key, { ...entry, status: 'unknown' });
}
