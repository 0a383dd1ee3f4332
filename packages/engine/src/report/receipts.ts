/**
 * The receipts of a run: every tool effect that was committed, with its arguments, its result and the person who approved it.
 * They come from the journal alone, and never from the text of a model.
 */
import { onlyReads } from '@sluice-internal/kernel/ir';
import type { CompiledFlow, EffectKey, Event, Question } from '@sluice-internal/kernel/ir';
import { isAbsent } from '@sluice-internal/kernel/core';
import type { Program } from '@sluice-internal/kernel/core';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Receipt } from '../ports/types.ts';
import { InputLog, type Attempt, type RunCall } from './calls.ts';

interface Approval {
  readonly by: string;
  readonly together?: readonly string[];
}

interface Ledger {
  readonly flow: CompiledFlow;
  readonly receipts: Map<EffectKey, Receipt>;
  /** The approval of each tool call that has one. */
  readonly approved: Map<EffectKey, Approval>;
  /** Of each lookup: the call that it looks up. */
  readonly verifies: Map<EffectKey, EffectKey>;
  /** The last approval, by branch and tool. */
  readonly approvals: Map<string, Approval>;
  /** The approval of a node, by branch: it covers the call that comes next. */
  readonly next: Map<string, Approval>;
}

export function receiptsOf(program: Program, events: readonly Event[]): readonly Receipt[] {
  return receiptsByCall(program, events).map(([, receipt]) => receipt);
}

export function receiptsByCall(program: Program, events: readonly Event[]): readonly (readonly [EffectKey, Receipt])[] {
  if (!events.some((event) => event.type === 'effect.requested' && event.kind === 'tool')) return [];
  const log = new InputLog(program, (kind) => kind === 'tool');
  const ledger: Ledger = {
    flow: program.flow,
    receipts: new Map(),
    approved: new Map(),
    verifies: new Map(),
    approvals: new Map(),
    next: new Map(),
  };
  for (const event of events) {
    if (event.type === 'run.forked' && event.moved !== true) inherit(ledger);
    const call = log.take(event);
    if (call !== undefined) enter(ledger, call, event);
  }
  return [...ledger.receipts];
}

/** The effects before a fork belong to the run that made them. A moved run takes its effects with it. */
function inherit({ receipts }: Ledger): void {
  for (const [key, receipt] of receipts) receipts.set(key, { ...receipt, inherited: true });
}

type Settled = Extract<Event, { readonly type: 'effect.settled' }>;

function enter(ledger: Ledger, call: RunCall, event: Event): void {
  if (event.type === 'effect.requested') requested(ledger, call);
  else if (event.type === 'effect.settled') settled(ledger, call, event.result);
  else if (event.type === 'effect.judged' && call.settles !== null) foundOut(ledger, call, call.settles, event.seq);
  else if (call.kind !== 'tool') return;
  else if (event.type === 'effect.judged') judged(ledger, call, event);
  // It had its result, so the host is not asked.
  else if (event.type === 'effect.dropped' && call.attempts.length > call.retries.length)
    ended(ledger, call, event.seq);
  // Of a call whose time is over, the verdict follows.
  else if (event.type === 'drop.answered' && call.why !== 'late') dropped(ledger, call, event);
}

function requested(ledger: Ledger, { key, kind, name, thread, input }: RunCall): void {
  const leading = ledger.next.get(thread);
  if (kind !== 'check') ledger.next.delete(thread);
  if (kind !== 'tool') return;
  const approval = ledger.approvals.get(`${thread} ${name}`) ?? leading;
  if (approval !== undefined) ledger.approved.set(key, approval);
  // An approval covers one call.
  ledger.approvals.delete(`${thread} ${name}`);
  const unknown = input['verifies'] === undefined ? null : lastUnknown(ledger, thread, String(input['verifies']));
  if (unknown !== null) ledger.verifies.set(key, unknown);
}

function settled(ledger: Ledger, { thread, question, undoes }: RunCall, result: Settled['result']): void {
  if (question !== null && result.ok) answered(ledger, thread, question, result.value);
  // The compensation took effect, also if its result was refused.
  if (!result.ok && result.error.ran !== true) return;
  const receipt = undoes === null ? undefined : ledger.receipts.get(undoes);
  if (undoes !== null && receipt !== undefined) ledger.receipts.set(undoes, { ...receipt, status: 'compensated' });
}

function answered(ledger: Ledger, thread: string, question: Question, value: Json): void {
  const { choice, by, together, expired } = (value ?? {}) as Partial<Approval> & { choice?: string; expired?: boolean };
  if (typeof by !== 'string' || expired === true) return;
  const approval = { by, ...(together === undefined ? {} : { together }) };
  if (choice === 'approve' || choice === 'edit') ledger.approvals.set(`${thread} ${question.about}`, approval);
  // A node of the author approves the call that it leads to.
  const { counted = ['approve'] } = question.approvers ?? {};
  const isNode = question.purpose === undefined && counted.includes(choice ?? '');
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
function lookedUp(
  { receipts, verifies }: Ledger,
  { key, result }: { readonly key: EffectKey; readonly result: Json },
): void {
  const known = verifies.get(key);
  const receipt = known === undefined ? undefined : receipts.get(known);
  if (known === undefined || receipt === undefined) return;
  if (isAbsent(result)) receipts.delete(known);
  else receipts.set(known, { ...receipt, result, status: 'committed' });
}

/** The run stopped waiting for a call that was sent, or may have been. A call with effects may have happened. */
function dropped(
  ledger: Ledger,
  call: RunCall,
  { sent, seq }: Extract<Event, { readonly type: 'drop.answered' }>,
): void {
  if (ledger.receipts.has(call.key)) return;
  const entry = entryOf(ledger, call, seq);
  if (onlyReads(entry.effect)) return;
  // An attempt before it took effect, although its result was refused.
  if (tookEffect(call, entry)) ledger.receipts.set(call.key, { ...entry, status: 'committed' });
  else if (sent !== 'no' || call.attempts.some(mayHaveRun))
    ledger.receipts.set(call.key, { ...entry, result: null, status: 'unknown' });
}

/** The run ended between the result of a call and its verdict. */
function ended(ledger: Ledger, call: RunCall, seq: number): void {
  const entry = entryOf(ledger, call, seq);
  if (onlyReads(entry.effect)) return;
  const status = tookEffect(call, entry) ? 'committed' : call.attempts.some(mayHaveRun) ? 'unknown' : null;
  if (status !== null) ledger.receipts.set(call.key, { ...entry, status });
}

function mayHaveRun({ error, unsent }: Attempt): boolean {
  return error?.class === 'timeout' && !unsent;
}

/** Before an undo it was found out if the call happened: by a lookup, by the call itself, or by a person. */
function foundOut(ledger: Ledger, call: RunCall, settles: EffectKey, seq: number): void {
  const { receipts } = ledger;
  const result = call.attempts.at(-1);
  const known = receipts.get(settles);
  if (call.kind === 'ask' || result?.ok !== true || known === undefined) return;
  if (call.key !== settles) {
    receipts.set(call.key, { ...entryOf(ledger, call, seq), status: 'committed' });
    if (isAbsent(result.value)) return void receipts.delete(settles);
  }
  receipts.set(settles, { ...known, result: result.value, status: 'committed' });
}

function entryOf(
  { flow, approved }: Ledger,
  { key, name: tool, input, attempts }: RunCall,
  seq: number,
): Omit<Receipt, 'status'> {
  const effect = flow.tools[tool]?.effect ?? 'write';
  const { by: approvedBy = null, together } = approved.get(key) ?? {};
  const people = { approvedBy, ...(together === undefined ? {} : { approvers: together }) };
  return { seq, tool, effect, args: input['args'] ?? null, result: attempts.at(-1)?.value ?? null, ...people };
}

/** Only a result of the call was refused: by the performer, by its schema or by a check. A later attempt may have failed. */
function tookEffect({ attempts }: RunCall, { effect }: Pick<Receipt, 'effect'>): boolean {
  return attempts.some(({ error, ok, unsent }) => error?.ran === true || (ok && !unsent && !onlyReads(effect)));
}

function judged(ledger: Ledger, call: RunCall, event: Extract<Event, { readonly type: 'effect.judged' }>): void {
  if (event.verdict === 'retry') return;
  const { key } = call;
  const entry = entryOf(ledger, call, event.seq);
  if (event.verdict === 'accepted') {
    ledger.receipts.set(key, { ...entry, status: 'committed' });
    lookedUp(ledger, { key, result: entry.result });
  } else if (tookEffect(call, entry)) ledger.receipts.set(key, { ...entry, status: 'committed' });
  // A call with effects that timed out may have happened, with any result of later attempts.
  else if (call.attempts.some(mayHaveRun) && !onlyReads(entry.effect))
    ledger.receipts.set(key, { ...entry, status: 'unknown' });
}
