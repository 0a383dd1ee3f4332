/** Builds the packet of a question from the journal: the effects of a yes, the reasons, the evidence and what is left. */
import { authorOf, nameOf } from '@sluice-internal/kernel/core';
import type { Program } from '@sluice-internal/kernel/core';
import { canonical, isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { BUDGET_ROWS, budgetMeter, onlyReads, shownAmount, statedOf, approvingChoices } from '@sluice-internal/kernel/ir';
import type { Event, Pending, Question, RunState, Stated, ToolDef } from '@sluice-internal/kernel/ir';
import type { Packet, PacketEffect, PacketRepeat, PacketWhy } from '../ports/packet.ts';
import type { Receipt } from '../ports/types.ts';
import { InputLog } from './calls.ts';
import type { RunCall } from './calls.ts';
import { evidenceOf, observedIn, shortened, traced } from './evidence.ts';
import type { Observed, Traced } from './evidence.ts';
import { evaluatePartly, fieldsPartly, isWhole } from './partial.ts';
import { unlockedBy } from './unlocked.ts';
import type { Unlocked } from './unlocked.ts';

/** A run with an open question. */
export interface Asking {
  readonly program: Program;
  readonly state: RunState;
  readonly calls: readonly RunCall[];
  readonly observed: readonly Observed[];
  readonly receipts: readonly (Receipt & { readonly at: string })[];
}

export function askingIn(
  program: Program,
  state: RunState,
  events: readonly Event[],
  receipts: readonly Receipt[],
): Asking {
  const log = new InputLog(program, (kind) => kind === 'tool');
  for (const event of events) log.take(event);
  const calls = [...log.calls.values()];
  const times = new Map(events.map(({ seq, at }) => [seq, new Date(at).toISOString()]));
  const made = receipts.map((each) => ({ ...each, at: times.get(each.seq) ?? '' }));
  return { program, state, calls, observed: observedIn(program.flow, state, calls), receipts: made };
}

/** An open question, as a person is asked it. */
export interface Asked {
  readonly pending: Pending;
  readonly question: Question;
  /** The authored node. */
  readonly node: string;
  readonly text: string;
  readonly data: { readonly [field: string]: Json };
  readonly expires: string | null;
}

export function packetOf(asking: Asking, asked: Asked): Packet {
  const { state } = asking;
  const effects = effectsOf(asking, asked);
  return {
    question: asked.text,
    goal: goalOf(state.input),
    user: state.origin.user ?? null,
    effects: effects.map(({ effect }) => effect),
    why: whyOf(asking, asked, effects),
    evidence: evidenceOf(
      effects.flatMap(({ used }) => used),
      lookedAt(asking, asked),
    ),
    repeats: effects.flatMap(({ effect }) => repeatsOf(asking, effect)),
    left: leftOf(asking),
    expires: asked.expires,
    onExpiry: asked.question.onExpiry,
  };
}

/** A text, or the message of an input with several fields. */
function goalOf(input: Json): string {
  if (typeof input === 'string') return input;
  const message = isRecord(input) ? input['message'] : undefined;
  return typeof message === 'string' ? message : JSON.stringify(input);
}

interface Effect {
  readonly effect: PacketEffect;
  readonly used: Traced['used'];
}

function effectsOf(asking: Asking, asked: Asked): readonly Effect[] {
  const { data, question, pending } = asked;
  const { tool, args = null } = data;
  if (pending.settles !== undefined) return [undoOf(asking, asked, pending.settles)];
  if (question.purpose === 'tool_call' && typeof tool === 'string') return [callOf(asking, asked, tool, args)];
  const calls = unlockedBy(asking.program.flow, asking.state, pending, yesOf(question));
  return grouped(calls).flatMap((group) => effectOfGroup(asking, group) ?? []);
}

/** The choices that let something happen. If there is none, the answer lets an agent go on. */
function yesOf(question: Question): readonly string[] {
  const yes = approvingChoices(question.choices, question.onExpiry);
  const [approve] = yes.filter((choice) => choice === 'approve');
  if (approve !== undefined) return [approve];
  return yes.length > 0 ? yes : question.choices.filter((choice) => choice !== question.onExpiry);
}

/** The call that is asked about. */
function callOf({ program, state, observed }: Asking, { node, question, pending }: Asked, tool: string, args: Json): Effect {
  const def = program.flow.tools[tool];
  const own = program.flow.nodes[pending.node];
  const isAgent = Object.hasOwn(program.flow.agents, question.askedBy);
  const fields = isAgent || own === undefined ? null : argumentsOf(program.flow, pending, state);
  const { sources, used } = traced(args, observed, (path) =>
    isAgent ? { from: question.askedBy, trusted: false } : fromDocument(fields?.[path.split('.')[0] ?? '']),
  );
  const costUsd = costOf(program, tool);
  const effect = { node, tool, ...statesOf(def, args), sources, certain: true, times: { most: 1 }, costUsd };
  return { effect: { ...effect, ...kindOf(def), args, ...undoneBy(def) }, used };
}

/** The question belongs to the node of the call, or leads to it. */
function argumentsOf(flow: Program['flow'], { node: from, thread }: Pending, state: RunState): FieldReads | null {
  const node = flow.nodes[from];
  const source = node?.op === 'do' ? node.effect.input['args'] : undefined;
  return source === undefined ? null : readsOf(source, state.threads.get(thread)?.slots ?? {});
}

type FieldReads = { readonly [field: string]: ReadonlySet<string> };

function readsOf(source: string, slots: RunState['threads'] extends Map<string, infer Of> ? (Of extends { slots: infer S } ? S : never) : never): FieldReads {
  const fields = fieldsPartly(source, slots) ?? {};
  return Object.fromEntries(Object.entries(fields).map(([field, { read }]) => [field, read]));
}

/** A value that the author wrote, or that an expression of the author made from others. */
function fromDocument(read: ReadonlySet<string> | undefined): { readonly from: string; readonly trusted: boolean } {
  const [slot] = [...(read ?? [])];
  return slot === undefined ? { from: 'document', trusted: true } : { from: slot, trusted: false };
}

/** The undo of a call of which it is not known whether it happened. */
function undoOf({ program, state }: Asking, { node, pending, data }: Asked, settles: string): Effect {
  const entry = state.threads.get(pending.thread)?.undo.find(({ key }) => key === settles);
  const tool = entry?.tool ?? String(data['rollback'] ?? '');
  const def = program.flow.tools[tool];
  const args = entry?.args ?? data['args'] ?? null;
  const effect = { node, tool, ...statesOf(def, args), sources: [], certain: true, times: { most: 1 } };
  return { effect: { ...effect, ...kindOf(def), args, ...undoneBy(def), costUsd: costOf(program, tool) }, used: [] };
}

/** The calls of one node of the document: it may be several nodes of the graph, such as the first call and its repetition. */
function grouped(calls: readonly Unlocked[]): readonly (readonly Unlocked[])[] {
  const groups = Map.groupBy(calls, ({ node, agent }) => JSON.stringify([authorOf(node), nameOf(node), agent]));
  return [...groups.values()].map((group) => {
    const own = group.filter(({ id }) => id === group[0]?.id);
    return own.map((call) => ({ ...call, asks: group.every(({ asks }) => asks) }));
  });
}

function effectOfGroup({ program, observed, state }: Asking, group: readonly Unlocked[]): Effect | null {
  const [first] = group;
  if (first === undefined) return null;
  const { node, agent, asks } = first;
  const tool = nameOf(node);
  const def = program.flow.tools[tool];
  if (onlyReads(def?.effect ?? 'write')) return null;
  const calls = group.map(({ node: { effect }, slots }) => argumentsIn(effect.input['args'] ?? 'null', slots));
  const [call] = calls;
  const same = calls.every(({ args }) => args !== null && canonical(args) === canonical(call?.args));
  const args = same ? (call?.args ?? null) : null;
  const each = same || calls.some((one) => one.args === null) ? [] : calls.map((one) => one.args);
  const all = each.length > 0 ? each : [args];
  const from = calls.map(({ reads }) => reads).find((reads) => reads !== null);
  const found = all.map((one) => traced(one, observed, (path) => fromDocument(from?.[path.split('.')[0] ?? ''])));
  const most = group.reduce((sum: number | null, one) => (sum === null || one.most === null ? null : sum + one.most), 0);
  const known = agent === null && args === null && each.length === 0 ? (call?.known ?? {}) : {};
  return {
    effect: {
      node: authorOf(node),
      tool,
      ...kindOf(def),
      args: agent === null ? args : null,
      ...(Object.keys(known).length === 0 ? {} : { known }),
      ...(each.length === 0 ? {} : { each }),
      ...(agent === null ? sharedStates(def, all) : statesOf(undefined, null)),
      ...undoneBy(def, node.undo?.tool),
      sources: agent === null ? distinct(found.flatMap(({ sources }) => sources)) : [],
      certain: agent === null,
      ...(agent === null ? {} : { agent, call: asks ? ('asks' as const) : ('runs' as const) }),
      times: { most: agent === null ? most : (most ?? callsLeft(program, state)) },
      costUsd: costOf(program, tool),
    },
    used: agent === null ? found.flatMap(({ used }) => used) : [],
  };
}

function distinct<Of>(all: readonly Of[]): readonly Of[] {
  return [...new Map(all.map((each) => [JSON.stringify(each), each])).values()];
}

interface Arguments {
  readonly args: Json;
  readonly known: { readonly [argument: string]: Json };
  readonly reads: FieldReads | null;
}

function argumentsIn(source: string, slots: Unlocked['slots']): Arguments {
  const { known, value } = evaluatePartly(source, slots);
  const fields = fieldsPartly(source, slots);
  const reads = fields && Object.fromEntries(Object.entries(fields).map(([field, { read }]) => [field, read]));
  if (known && isWhole(value)) return { args: value, known: {}, reads };
  const parts = Object.entries(fields ?? {}).filter(([, field]) => field.known && isWhole(field.value));
  return { args: null, known: Object.fromEntries(parts.map(([name, field]) => [name, field.value])), reads };
}

type States = Pick<PacketEffect, 'amount' | 'recipients' | 'payee' | 'problem'>;

function statesOf(def: ToolDef | undefined, args: Json): States {
  if (def === undefined || args === null) return { amount: null, recipients: [], payee: null };
  const { problems, ...stated }: Stated = statedOf(def, args);
  return { ...stated, ...(problems.length === 0 ? {} : { problem: problems.join('; ') }) };
}

/** What the document states of several calls, where it is the same for all; the recipients of all of them. */
function sharedStates(def: ToolDef | undefined, all: readonly Json[]): States {
  const [first = statesOf(def, null), ...others] = all.map((args) => statesOf(def, args));
  const same = (part: 'amount' | 'payee'): Json =>
    others.every((other) => canonical(other[part]) === canonical(first[part])) ? first[part] : null;
  const recipients = distinct([first, ...others].flatMap((each) => each.recipients));
  return { ...first, amount: same('amount'), payee: same('payee'), recipients };
}

function kindOf(def: ToolDef | undefined): Pick<PacketEffect, 'effect'> {
  return { effect: def?.effect ?? 'write' };
}

function undoneBy(def: ToolDef | undefined, own?: string): Pick<PacketEffect, 'reversible' | 'undo'> {
  const undo = own ?? def?.compensate ?? null;
  return { reversible: undo !== null, undo };
}

function costOf({ flow }: Program, tool: string): number {
  const node = Object.values(flow.nodes).find(
    (each) => each.op === 'do' && each.effect.kind === 'tool' && each.effect.tool === tool,
  );
  return node?.op === 'do' ? shownAmount('costMicros', node.effect.reserve.costMicros ?? 0) : 0;
}

function callsLeft(program: Program, state: RunState): number | null {
  return leftIn(program, state)['toolCalls'] ?? null;
}

function leftOf({ program, state }: Asking): Packet['left'] {
  return leftIn(program, state);
}

/** Of the budgets of the whole run. */
function leftIn({ flow }: Program, { spent, reserved, raised = {} }: RunState): { readonly [measure: string]: number } {
  const left = BUDGET_ROWS.flatMap(({ name, measure }) => {
    const id = budgetMeter(name);
    const max = flow.meters[id]?.max ?? null;
    if (max === null) return [];
    const amount = max + (raised[id] ?? 0) - (spent[id] ?? 0) - (reserved[id] ?? 0);
    return [[measure, shownAmount(name, Math.max(0, amount))] as const];
  });
  return Object.fromEntries(left);
}

/** Receipts with the same arguments; of a financial tool also those with the same payee and amount. */
function repeatsOf({ program, receipts }: Asking, { tool, args, amount, payee, effect }: PacketEffect): readonly PacketRepeat[] {
  const def = program.flow.tools[tool];
  if (args === null || def === undefined) return [];
  const same = receipts.filter((receipt) => {
    if (receipt.tool !== tool || receipt.status === 'compensated') return false;
    if (canonical(receipt.args) === canonical(args)) return true;
    if (effect !== 'financial' || amount === null || payee === null) return false;
    const other = statedOf(def, receipt.args);
    return canonical([other.amount, other.payee]) === canonical([amount, payee]);
  });
  return same.map(({ seq, at, args: made, result, status }) => ({ seq, at, tool, args: made, result: shortened(result), status }));
}

function whyOf(asking: Asking, asked: Asked, effects: readonly Effect[]): PacketWhy {
  const { data, question } = asked;
  const verdict = isRecord(data['verdict']) ? data['verdict'] : {};
  const stated = effects.flatMap(({ effect }) => (effect.certain && effect.problem !== undefined ? [effect.problem] : []));
  const problems = [data['problem'], verdict['problem'], ...stated].filter(
    (each): each is string => typeof each === 'string' && each !== '',
  );
  const confidence = verdict['confidence'] ?? data['confidence'];
  return {
    rule: ruleOf(asking, asked, stated),
    words: question.purpose === undefined ? null : wordsOf(asking, asked),
    problem: problems.length === 0 ? null : distinct(problems).join('; '),
    confidence: typeof confidence === 'number' ? confidence : null,
  };
}

/** The latest words of an agent in the branch of the question, or in one of those around it. */
function wordsOf({ calls, state }: Asking, { pending }: Asked): string | null {
  const threads = new Set<string>();
  for (let id: string | null = pending.thread; id !== null; id = state.threads.get(id)?.parent ?? null) threads.add(id);
  const reply = calls.findLast(({ kind, thread, verdict }) => kind === 'model' && threads.has(thread) && verdict?.accepted === true);
  const value = reply?.attempts.findLast(({ ok }) => ok)?.value ?? null;
  const text = isRecord(value) ? value['text'] : null;
  return typeof text === 'string' && text.trim() !== '' ? String(shortened(text.trim())) : null;
}

function ruleOf({ program: { flow } }: Asking, { question, data, node }: Asked, stated: readonly string[]): string | null {
  const { purpose, about, askedBy } = question;
  const { tool, escalation } = data;
  if (purpose === undefined) return typeof tool === 'string' ? `unknown outcome of ${tool}` : `approval node ${node}`;
  if (purpose === 'route') return `approval of the route to ${about}`;
  if (purpose === 'plan_review') return 'plan.approve';
  if (purpose === 'missing_information') return null;
  if (purpose !== 'tool_call' || typeof tool !== 'string') return isRecord(escalation) ? String(escalation['row']) : about;
  const boundary = Object.hasOwn(flow.boundaries ?? {}, askedBy) ? flow.boundaries?.[askedBy] : undefined;
  const { effect = 'write' } = flow.tools[tool] ?? {};
  if (stated.length > 0) return `what ${tool} states of its calls`;
  if (boundary?.tools.approve.includes(tool) !== true)
    return Object.hasOwn(flow.agents, askedBy) ? 'sources of the arguments' : `approval of ${tool}`;
  return boundary.approveEffects.includes(effect) ? `${effect} calls of agents` : `boundary or approval of ${tool}`;
}

const LATEST_MAX = 10;

/** What the question is about, beside the sources of arguments. */
function lookedAt(asking: Asking, { data, question, pending }: Asked): readonly Observed[] {
  const { observed, state, program } = asking;
  const shown = SHOWN.flatMap((field): readonly Observed[] => {
    const value = data[field] ?? null;
    if (value === null || value === '') return [];
    return [{ from: question.askedBy, kind: 'model', args: null, value, trusted: false, changes: false, id: '' }];
  });
  const asking_ = program.flow.nodes[pending.node];
  const roots = new Set((asking_?.expects ?? []).map(([root]) => root));
  const writers = new Set(
    Object.entries(program.flow.nodes).flatMap(([id, node]) =>
      'writes' in node && node.writes.some(({ slot }) => roots.has(slot)) ? [id] : [],
    ),
  );
  const read = observed.filter(({ id, kind }) => (kind === 'tool' || kind === 'model') && writers.has(id));
  const latest = [...new Map(read.map((each) => [each.id, each])).values()];
  const input = isRecord(state.input) ? observed.filter(({ kind }) => kind === 'input') : [];
  return [...shown, ...latest, ...(DONE.has(question.purpose ?? '') ? doneIn(observed) : []), ...input];
}

/** Fields of a question that a person judges. */
const SHOWN = ['answer', 'reply', 'result', 'plan', 'steps', 'calls', 'options', 'readings', 'fields', 'short'] as const;
/** Questions about work that was done. */
const DONE: ReadonlySet<string> = new Set(['route', 'escalation', 'plan_review']);

/** What was changed and looked up, and the checks that passed. */
function doneIn(observed: readonly Observed[]): readonly Observed[] {
  const calls = observed.filter(({ kind }) => kind === 'tool');
  const changes = calls.filter(({ changes: isChange }) => isChange).slice(-LATEST_MAX);
  const others = calls.filter((each) => !changes.includes(each)).slice(-LATEST_MAX);
  const passed = observed.filter(
    ({ kind, from, value }) => kind === 'check' && !from.includes(':') && isRecord(value) && value['ok'] === true,
  );
  return [...changes, ...others, ...passed.slice(-LATEST_MAX)];
}

