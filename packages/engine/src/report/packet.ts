/** Builds the packet of a question from the journal: the effects of a yes, the reasons, the evidence and what is left. */
import { authorOf, nameOf } from '@sluice-internal/kernel/core';
import type { Program } from '@sluice-internal/kernel/core';
import { canonical, isRecord, oneObject } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import {
  BUDGET_ROWS,
  budgetMeter,
  onlyReads,
  shownAmount,
  statedOf,
  approvingChoices,
} from '@sluice-internal/kernel/ir';
import type { Event, Pending, Question, RunState, Stated, ToolDef } from '@sluice-internal/kernel/ir';
import type { Packet, PacketEffect, PacketEvidence, PacketRepeat, PacketSource, PacketWhy } from '../ports/packet.ts';
import type { Receipt } from '../ports/types.ts';
import type { RunCall } from './calls.ts';
import { evidenceOf, observedIn, shortened, traced } from './evidence.ts';
import type { Observed, Traced } from './evidence.ts';
import { changes } from './done.ts';
import type { Made } from './receipts.ts';
import { Origins } from './origins.ts';
import { evaluatePartly, fieldsPartly, isWhole } from './partial.ts';
import type { Partly } from './partial.ts';
import { unlockedBy } from './unlocked.ts';
import type { Unlocked } from './unlocked.ts';

/** A run with an open question. */
export interface Asking {
  readonly program: Program;
  readonly state: RunState;
  readonly calls: readonly RunCall[];
  readonly observed: readonly Observed[];
  readonly origins: Origins;
  readonly receipts: readonly (Receipt & { readonly at: string })[];
}

export function askingIn(
  program: Program,
  state: RunState,
  events: readonly Event[],
  { calls, receipts }: Made,
): Asking {
  const times = new Map(events.map(({ seq, at }) => [seq, at]));
  const made = [...receipts.values()].map((each) => ({
    ...each,
    at: new Date(times.get(each.seq) ?? state.now).toISOString(),
  }));
  const observed = observedIn(program.flow, state, calls);
  return { program, state, calls, observed, origins: new Origins(program.flow, observed), receipts: made };
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
    question: withValues(asked, effects),
    goal: goalOf(state.input),
    user: state.origin.user ?? null,
    effects: effects.map(({ effect }) => effect),
    why: whyOf(asking, asked, effects),
    evidence: evidenceOf(
      effects.flatMap(({ used }) => used),
      lookedAt(asking, asked),
    ),
    repeats: effects.flatMap(({ effect }) => repeatsOf(asking, effect)),
    receipts: asking.receipts.filter(changes).slice(-RECEIPTS_MAX).map(shownReceipt),
    left: leftIn(asking.program, asking.state),
    expires: asked.expires,
    onExpiry: asked.question.onExpiry,
  };
}

/** The call in a question about it has its values. */
function withValues({ text, question: { about, purpose } }: Asked, [of]: readonly Effect[]): string {
  if (purpose !== 'tool_call' || of === undefined || of.effect.tool !== about) return text;
  const { amount, payee, recipients, args } = of.effect;
  const stated = [
    ...(amount === null ? [] : [`amount ${shortText(amount)}`]),
    ...(payee === null ? [] : [`payee ${shortText(payee)}`]),
    ...(recipients.length === 0 ? [] : [`to ${recipients.map(shortText).join(', ')}`]),
  ];
  const values =
    stated.length > 0 || !isRecord(args)
      ? stated
      : Object.entries(args).map(([name, value]) => `${name} ${shortText(value)}`);
  return values.length === 0 ? text : text.replace(about, () => `${about} (${values.slice(0, VALUES_MAX).join(', ')})`);
}

const VALUES_MAX = 6;
const VALUE_MAX = 60;

function shortText(value: Json): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= VALUE_MAX ? text : `${text.slice(0, VALUE_MAX).toWellFormed()}…`;
}

/** A text, or the message of an input with several fields. */
function goalOf(input: Json): string {
  if (typeof input === 'string') return input;
  const { message } = isRecord(input) ? input : {};
  if (typeof message === 'string') return message;
  return hasValues(input) ? JSON.stringify(input) : '';
}

function hasValues(input: Json): boolean {
  return isRecord(input) ? Object.keys(input).length > 0 : input !== null;
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
function callOf(asking: Asking, { node, question, pending }: Asked, tool: string, args: Json): Effect {
  const { program, state, observed, origins } = asking;
  const { askedBy } = question;
  const own = program.flow.nodes[pending.node];
  const source = own?.op === 'do' && own.effect.kind === 'tool' ? own.effect.input['args'] : undefined;
  const slots = state.threads.get(pending.thread)?.slots ?? {};
  const reads = source === undefined ? {} : readsOf(source, slots);
  // The arguments of an agent's call have no expression of their own.
  const isAgent = Object.hasOwn(program.flow.agents, askedBy);
  const { sources, used } = traced(args, observed, (path) =>
    isAgent ? { from: askedBy, trusted: false } : origins.of(reads[fieldOf(path)] ?? []),
  );
  return { effect: { ...effectOf(program, { node, tool, args }), sources }, used };
}

/** Where the arguments of a call come from, and what was observed before it. `state`: the run right after the request. */
export function tracedArgs(
  { flow }: Program,
  state: RunState,
  call: RunCall,
  calls: readonly RunCall[],
  args: Json,
): { readonly sources: readonly PacketSource[]; readonly evidence: readonly PacketEvidence[] } {
  const before = calls.filter(({ seq }) => seq < call.seq);
  const observed = observedIn(flow, state, before);
  const origins = new Origins(flow, observed);
  const own = flow.nodes[call.id];
  const source = own?.op === 'do' && own.effect.kind === 'tool' ? own.effect.input['args'] : undefined;
  const reads = source === undefined ? {} : readsOf(source, state.threads.get(call.thread)?.slots ?? {});
  // The arguments of an agent's call have no expression of their own: its reply is at the same node.
  const agent = before.findLast(
    ({ kind, node, thread }) => kind === 'model' && node === call.node && thread === call.thread,
  );
  const { sources, used } = traced(args, observed, (path) =>
    agent === undefined ? origins.of(reads[fieldOf(path)] ?? []) : { from: agent.name, trusted: false },
  );
  return { sources, evidence: evidenceOf(used, []) };
}

function fieldOf(path: string): string {
  return path.split('.')[0] ?? '';
}

function readsOf(source: string, slots: Partly): { readonly [field: string]: ReadonlySet<string> } {
  const fields = fieldsPartly(source, slots) ?? {};
  return Object.fromEntries(Object.entries(fields).map(([field, { read }]) => [field, read]));
}

interface Call {
  readonly node: string;
  readonly tool: string;
  readonly args: Json;
  readonly undo?: string | undefined;
}

/** A call as far as it follows from its tool and its arguments. */
function effectOf(program: Program, { node, tool, args, undo: own }: Call): PacketEffect {
  const def = program.flow.tools[tool];
  const undo = own ?? def?.compensate ?? null;
  return {
    node,
    tool,
    effect: def?.effect ?? 'write',
    args,
    ...statesOf(def, args),
    reversible: undo !== null,
    undo,
    sources: [],
    certain: true,
    times: { most: 1 },
    costUsd: costOf(program, tool),
  };
}

/** The undo of a call of which it is not known whether it happened. */
function undoOf({ program, state }: Asking, { node, pending, data }: Asked, settles: string): Effect {
  const entry = state.threads.get(pending.thread)?.undo.find(({ key }) => key === settles);
  const tool = entry?.tool ?? String(data['rollback'] ?? '');
  return { effect: effectOf(program, { node, tool, args: entry?.args ?? data['args'] ?? null }), used: [] };
}

/** The calls of one node of the document: it may be several nodes of the graph, such as the first call and its repetition. */
function grouped(calls: readonly Unlocked[]): readonly (readonly Unlocked[])[] {
  const groups = Map.groupBy(calls, ({ node, agent }) => JSON.stringify([authorOf(node), nameOf(node), agent]));
  return [...groups.values()].map((group) => {
    const own = group.filter(({ id }) => id === group[0]?.id);
    return own.map((call) => ({ ...call, asks: group.every(({ asks }) => asks) }));
  });
}

function effectOfGroup(asking: Asking, group: readonly Unlocked[]): Effect | null {
  const [first] = group;
  if (first === undefined || onlyReads(asking.program.flow.tools[nameOf(first.node)]?.effect ?? 'write')) return null;
  return first.agent === null
    ? authored(asking, group, first)
    : { effect: ofAgent(asking, first, first.agent), used: [] };
}

/** A call that an agent may choose to make. */
function ofAgent({ program, state }: Asking, { node, asks, most }: Unlocked, agent: string): PacketEffect {
  const effect = effectOf(program, { node: authorOf(node), tool: nameOf(node), args: null, undo: node.undo?.tool });
  const left = leftIn(program, state)['toolCalls'] ?? 0;
  return {
    ...effect,
    certain: false,
    agent,
    call: asks ? 'asks' : 'runs',
    times: { most: most ?? (left > 0 ? left : null) },
  };
}

/** A call of the author's own node; several calls if it is in a map. */
function authored({ program, observed, origins }: Asking, group: readonly Unlocked[], { node }: Unlocked): Effect {
  const tool = nameOf(node);
  const calls = group.map(({ node: { effect }, slots }) => argumentsIn(effect.input['args'] ?? 'null', slots));
  const all = distinct(calls.map(({ args }) => args));
  const isKnown = !all.includes(null);
  const args = all.length === 1 ? (all[0] ?? null) : null;
  const found = calls.map((call, index) =>
    traced(call.args, observed, (path) => origins.of(call.reads[fieldOf(path)] ?? [], group[index]?.items)),
  );
  const { known = {} } = isKnown ? {} : (calls[0] ?? {});
  const most = group.reduce(
    (sum: number | null, one) => (sum === null || one.most === null ? null : sum + one.most),
    0,
  );
  const effect = effectOf(program, { node: authorOf(node), tool, args, undo: node.undo?.tool });
  return {
    effect: {
      ...effect,
      ...(Object.keys(known).length === 0 ? {} : { known }),
      ...(isKnown && all.length > 1 ? { each: all } : {}),
      ...(isKnown ? sharedStates(program.flow.tools[tool], all) : {}),
      sources: distinct(found.flatMap(({ sources }) => sources)),
      times: { most },
    },
    used: found.flatMap(({ used }) => used),
  };
}

function distinct<Of>(all: readonly Of[]): readonly Of[] {
  return [...new Map(all.map((each) => [JSON.stringify(each), each])).values()];
}

interface Arguments {
  readonly args: Json;
  readonly known: { readonly [argument: string]: Json };
  readonly reads: { readonly [argument: string]: ReadonlySet<string> };
}

function argumentsIn(source: string, slots: Partly): Arguments {
  const { known, value } = evaluatePartly(source, slots);
  const fields = Object.entries(fieldsPartly(source, slots) ?? {});
  const reads = Object.fromEntries(fields.map(([field, { read }]) => [field, read]));
  if (known && isWhole(value)) return { args: value, known: {}, reads };
  const parts = fields.filter(([, field]) => field.known && isWhole(field.value));
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

function costOf({ flow }: Program, tool: string): number {
  const node = Object.values(flow.nodes).find(
    (each) => each.op === 'do' && each.effect.kind === 'tool' && each.effect.tool === tool,
  );
  return node?.op === 'do' ? shownAmount('costMicros', node.effect.reserve.costMicros ?? 0) : 0;
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
function repeatsOf(
  { program, receipts }: Asking,
  { tool, args, amount, payee, effect }: PacketEffect,
): readonly PacketRepeat[] {
  const def = program.flow.tools[tool];
  if (args === null || def === undefined) return [];
  const same = receipts.filter((receipt) => {
    if (receipt.tool !== tool || receipt.status === 'compensated') return false;
    if (canonical(receipt.args) === canonical(args)) return true;
    if (effect !== 'financial' || amount === null || payee === null) return false;
    const other = statedOf(def, receipt.args);
    return canonical([other.amount, other.payee]) === canonical([amount, payee]);
  });
  return same.map(shownReceipt);
}

const RECEIPTS_MAX = 20;

function shownReceipt({ seq, at, tool, args, result, status }: Asking['receipts'][number]): PacketRepeat {
  return { seq, at, tool, args: shortened(args), result: shortened(result), status };
}

function whyOf(asking: Asking, asked: Asked, effects: readonly Effect[]): PacketWhy {
  const { data, question } = asked;
  const verdict = isRecord(data['verdict']) ? data['verdict'] : {};
  const stated = effects.flatMap(({ effect }) =>
    effect.certain && effect.problem !== undefined ? [effect.problem] : [],
  );
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

/** The latest words of the agent that asks, in the branch of the question or in one around it. Data are no words. */
function wordsOf({ calls, state }: Asking, { pending, question }: Asked): string | null {
  const threads = new Set<string>();
  for (let id: string | null = pending.thread; id !== null; id = state.threads.get(id)?.parent ?? null) threads.add(id);
  const reply = calls.findLast(
    ({ kind, thread, name, verdict }) =>
      kind === 'model' && threads.has(thread) && name === question.askedBy && verdict?.accepted === true,
  );
  const value = reply?.attempts.findLast(({ ok }) => ok)?.value ?? null;
  const text = isRecord(value) ? value['text'] : null;
  if (typeof text !== 'string' || text.trim() === '' || isRecord(oneObject(text))) return null;
  return String(shortened(text.trim()));
}

function ruleOf(asking: Asking, { question, data, node }: Asked, stated: readonly string[]): string | null {
  const { purpose, about } = question;
  const { tool, rule } = data;
  switch (purpose) {
    case undefined:
      return typeof tool === 'string' ? `unknown outcome of ${tool}` : `approval node ${node}`;
    case 'route':
      return `approval of the route to ${about}`;
    case 'plan_review':
      return 'approval of the plan';
    case 'missing_information':
      return null;
    case 'tool_call':
      if (isRecord(data['escalation']) && data['escalation']['row'] === 'repeated_effect')
        return 'the same effect twice';
      return stated.length > 0 ? `what ${about} states of its calls` : ruleOfCall(asking, question);
    default:
      return typeof rule === 'string' ? rule : about;
  }
}

function ruleOfCall({ program: { flow } }: Asking, { about, askedBy }: Question): string {
  if (!Object.hasOwn(flow.agents, askedBy)) return `approval of ${about}`;
  const boundary = Object.hasOwn(flow.boundaries ?? {}, askedBy) ? flow.boundaries?.[askedBy] : undefined;
  if (boundary?.tools.approve.includes(about) !== true) return 'sources of the arguments';
  return boundary.rules[about] ?? `approval of ${about}`;
}

const LATEST_MAX = 10;

/** What the question is about, beside the sources of arguments. */
function lookedAt(
  { observed, origins, state, program }: Asking,
  { data, question, pending }: Asked,
): readonly Observed[] {
  const shown = SHOWN.flatMap((field): readonly Observed[] => {
    const value = data[field] ?? null;
    if (value === null || value === '') return [];
    return [{ from: field, kind: 'model', args: null, value, trusted: false, changes: false, id: '' }];
  });
  const read = (program.flow.nodes[pending.node]?.expects ?? []).flatMap(([root]) => root ?? []);
  const done = DONE.has(question.purpose ?? '') ? doneIn(observed) : [];
  const input = isRecord(state.input) && hasValues(state.input) ? observed.filter(({ kind }) => kind === 'input') : [];
  return [...shown, ...origins.observed(read), ...done, ...input];
}

/** Fields of a question that a person judges. */
const SHOWN = ['answer', 'reply', 'result', 'plan', 'calls', 'options', 'readings', 'fields'] as const;
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
