/** Which part a failure is about, and its name. A failure that the graph put together is about what its last call decided. */
import type { CompiledFlow, Event, FailedPart, RunState, TerminalCode, ThreadId } from '@sluice-internal/kernel/ir';
import { isRecord } from '@sluice-internal/kernel/expr';
import { nameAt, shownPath } from './authored.ts';
import type { RunCall } from './calls.ts';
import { limitText, usedUpBy } from './used-up.ts';

type Of<Type extends Event['type']> = Extract<Event, { readonly type: Type }>;

interface Failed {
  readonly class: string;
  readonly type: string;
  readonly message: string;
  readonly node: string;
}
/** An event that has no error of its own. */
export const NO_ERROR: Failed = { class: '', type: '', message: '', node: '' };

interface Any {
  readonly seq: number;
  readonly thread: ThreadId;
  readonly error: Failed;
}
/** A failure by the event that it began with. */
export type Trouble = Any &
  (
    | { readonly is: 'call'; readonly call: RunCall }
    | { readonly is: 'expression'; readonly node: string; readonly missing: Of<'value.missing'>['paths'] }
    | { readonly is: 'limit'; readonly trip: Of<'meter.tripped'> }
    | { readonly is: 'join'; readonly waited: readonly RunCall[] }
    | { readonly is: 'written'; readonly node: string; readonly last: RunCall | null }
    | { readonly is: 'control'; readonly control: string; readonly asked: RunCall | null }
    | { readonly is: 'halt'; readonly halt: Of<'run.halted'> }
    | { readonly is: 'end'; readonly end: Of<'run.ended'>; readonly last: RunCall | null }
  );
type Is<Kind extends Trouble['is']> = Extract<Trouble, { readonly is: Kind }>;

/** The facts about the run that a part is named with. */
export interface Told {
  readonly flow: CompiledFlow;
  readonly state: RunState;
  readonly calls: readonly RunCall[];
  readonly code: TerminalCode;
  /** The agent that replied last in the thread of the failure. */
  readonly agent: string | null;
  /** The node that was worked on last. */
  readonly last: string;
}

type About = FailedPart['about'];
type Part = Pick<FailedPart, 'about' | 'name' | 'why'> & Partial<FailedPart>;
interface At {
  readonly seq: number;
  readonly node: string;
  readonly why: string;
}

export function partOf(told: Told, trouble: Trouble): FailedPart {
  const { error, seq } = trouble;
  const part = PARTS[trouble.is](told, trouble as never);
  const { node = error.node === '' ? told.last : error.node, agent = told.agent } = part;
  return { about: part.about, name: part.name, node, agent, seq: part.seq ?? seq, why: part.why };
}

const PARTS: { readonly [Kind in Trouble['is']]: (told: Told, trouble: Is<Kind>) => Part } = {
  call: ofCall,
  expression: ofExpression,
  limit: ofLimit,
  join: ofJoin,
  written: ofWritten,
  control: ofControl,
  halt: ofHalt,
  end: ofEnd,
};

/** Failures that say by their type what they are about, whichever call was the last one. */
const ABOUT: ReadonlyMap<string, About> = new Map<string, About>([
  ...['BudgetError', 'RoundsError', 'SpawnError', 'HopsError', 'ItemsError', 'VelocityError'].map(
    (type) => [type, 'limit'] as const,
  ),
  ...['PermissionError', 'UntrustedArgumentsError', 'UnsafeOutputError', 'GuardError', 'NotGranted'].map(
    (type) => [type, 'policy'] as const,
  ),
  ['RepeatedDenial', 'policy'],
  ['ApprovalRequiredError', 'policy'],
  ['ApprovalRejectedError', 'person'],
  ['SameAgentError', 'document'],
  ['ListError', 'document'],
  ['ToolFailure', 'tool'],
  ['VerificationError', 'tool'],
]);

/** What a call needs is not there, or the process stopped. */
const OF_MACHINE: ReadonlySet<string> = new Set(['NotConfiguredError', 'PiiServiceError', 'UnknownOutcome']);

function ofCall(told: Told, { call, error, seq }: Is<'call'>): Part {
  const { name, node, kind } = call;
  const at = { seq: firstOf(call, seq), node, why: error.message };
  if (error.type === 'UnknownOutcome') return { about: 'machine', name: 'process', ...at };
  if (OF_MACHINE.has(error.type)) return { about: 'machine', name, ...at };
  if (error.type === 'RetryBudgetError') return { about: 'limit', name: 'the retry budget', ...at };
  if (kind === 'undo') return { about: 'tool', name, ...at };
  if (kind === 'tool') return ofTool(told, call, error.message);
  if (kind === 'model') return ofModel(told, call, at);
  if (kind === 'ask') return ofPerson(call, error.message);
  if (kind === 'wait') return { about: 'limit', name: `timeout of ${node}`, ...at };
  return isPolicy(error) ? { about: 'policy', name: ruleOf(call), ...at } : { about: 'machine', name, ...at };
}

/** The event of the first attempt that failed. */
function firstOf({ retries, attempts, verdict }: RunCall, seq: number): number {
  const failed = attempts.filter(({ ok }) => !ok);
  return Math.min(seq, ...[...retries, ...failed, ...(verdict === null ? [] : [verdict])].map((each) => each.seq));
}

/** A tool failed, perhaps several times: the first failure after its last success decides. */
function ofTool({ calls }: Told, call: RunCall, why: string): Part {
  const mine = calls.filter(({ kind, name, seq }) => kind === 'tool' && name === call.name && seq <= call.seq);
  const good = mine.findLastIndex(({ verdict }) => verdict?.accepted === true);
  const { [0]: first = call } = mine.slice(good + 1).filter(hasFailed);
  const seq = firstOf(first, first.verdict?.seq ?? first.seq);
  return { about: 'tool', name: call.name, node: call.node, seq, why };
}

function hasFailed({ verdict }: RunCall): boolean {
  return verdict !== null && !verdict.accepted;
}

/** The provider failed, or the reply that it gave was not accepted. */
function ofModel({ flow }: Told, { name: agent, attempts, verdict }: RunCall, at: At): Part {
  const isReply = attempts.at(-1)?.ok === true || REPLIES.has(verdict?.error?.type ?? '');
  if (isReply) return { about: 'reply', name: agent, agent, ...at };
  return { about: 'model', name: flow.agents[agent]?.model ?? agent, agent, ...at };
}

/** The model replied, and what it gave is no reply. */
const REPLIES: ReadonlySet<string> = new Set([
  'SchemaError',
  'EmptyReplyError',
  'RefusalError',
  'TruncatedReplyError',
  'UnfinishedReplyError',
  'TooManyCallsError',
]);

interface Given {
  readonly choice?: unknown;
  readonly by?: unknown;
  readonly expired?: unknown;
  readonly text?: unknown;
}

function givenTo({ attempts }: RunCall): Given {
  const { value = null } = attempts.at(-1) ?? {};
  return isRecord(value) ? value : {};
}

function ofPerson(call: RunCall, why: string): Part {
  const { name, node, attempts, question } = call;
  const { by, expired, text } = givenTo(call);
  const agent = question?.askedBy;
  const at = { node, seq: attempts.at(-1)?.seq ?? call.seq, ...(agent === undefined ? {} : { agent }) };
  if (expired === true || typeof by !== 'string')
    return {
      about: 'person',
      name: 'nobody',
      ...at,
      why: `nobody answered the question about ${name} in time: ${why}`,
    };
  const words = typeof text === 'string' && text !== '' ? ` ("${text}")` : '';
  return { about: 'person', name: by, ...at, why: `${by} did not approve ${name}${words}: ${why}` };
}

/** A value that an agent's reply does not have is a failure of the reply; any other is one of the document. */
function ofExpression({ flow, calls }: Told, { error, node: id, missing }: Is<'expression'>): Part {
  const node = nameAt(flow, id);
  const why = error.message;
  for (const path of missing) {
    const reply = calls.findLast(({ kind, node: by }) => kind === 'model' && path.length > 1 && path.includes(by));
    if (reply === undefined) continue;
    const { name } = reply;
    return { about: 'reply', name, agent: name, node, why: `the reply of ${name} has no ${shownPath(path)}: ${why}` };
  }
  const paths = missing.length === 0 ? '' : ` (${missing.map(shownPath).join(', ')} does not exist)`;
  return { about: 'document', name: node, node, why: `${why}${paths}` };
}

function ofLimit(told: Told, { trip, error }: Is<'limit'>): Part {
  const { flow, agent } = told;
  const node = nameAt(flow, trip.node);
  const meter = flow.meters[trip.meter];
  if (meter === undefined) return { about: 'limit', name: trip.meter, node, why: error.message };
  const { unit, label } = meter;
  if (unit === 'repeats') return ofRepeats(told, { trip, error, node });
  if (unit === 'turns') {
    const name = trip.stuck?.agents.join(', ') ?? agent ?? node;
    return { about: 'reply', name, node, why: error.message || `${name} gave no new fact` };
  }
  return { about: 'limit', name: label, node, why: `${limitText(meter, trip)}${usedUpBy(told, unit)}` };
}

/** The loop detector stopped a call: the tool failed again and again, or the agent repeats itself. */
function ofRepeats(
  told: Told,
  { trip, error, node }: Pick<Is<'limit'>, 'trip' | 'error'> & { readonly node: string },
): Part {
  const { rule, calls: [tool = ''] = [] } = trip.repeated ?? {};
  const calls = told.calls.filter(({ kind, name }) => kind === 'tool' && (tool === '' || name === tool));
  const failed = calls.findLast(hasFailed);
  if (failed !== undefined && (rule === 'failures' || calls.at(-1) === failed))
    return ofTool(told, failed, failed.verdict?.error?.message ?? '');
  const name = told.agent ?? node;
  return { about: 'reply', name, node, why: error.message || `${name} repeats the call of ${tool}` };
}

function ofJoin(told: Told, { error, waited }: Is<'join'>): Part {
  const node = error.node === '' ? told.last : error.node;
  const why = error.message || `too few branches of ${node} succeeded`;
  if (waited.length === 0 && error.class !== 'timeout') return { about: 'document', name: node, node, why };
  return { about: 'limit', name: `timeout of ${node}`, node, why: `${why}${waitedText(waited)}` };
}

function waitedText(calls: readonly RunCall[]): string {
  const names = new Set(calls.map(({ name }) => name));
  return names.size === 0 ? '' : `; it waited for ${[...names].join(', ')}`;
}

/** The graph put the failure together. */
function ofWritten(told: Told, { error, node: id, last, seq }: Is<'written'>): Part {
  const node = error.node === '' ? nameAt(told.flow, id) : error.node;
  const why = error.message;
  if (error.type === 'FlowError') return decided({ node, why, last });
  const about = ABOUT.get(error.type) ?? (error.class === 'budget' ? 'limit' : null);
  if (about !== null) return ofAbout(told, { about, last, seq, node, why });
  if (last !== null && isRefusal(last)) return ofPerson(last, why);
  if (isPolicy(error)) return { about: 'policy', name: last?.kind === 'check' ? ruleOf(last) : 'boundary', node, why };
  const { agent, calls } = told;
  if (agent === null) return { about: 'document', name: node, node, why };
  const reply = calls.findLast(({ kind, name }) => kind === 'model' && name === agent);
  return { about: 'reply', name: agent, node, seq: reply?.verdict?.seq ?? seq, why };
}

/** A control refused a call, and the refusal is a failure. */
function ofControl(told: Told, { error, control, asked }: Is<'control'>): Part {
  const { agent } = told;
  const why = error.message;
  if (asked !== null) return ofPerson(asked, why);
  const about = ABOUT.get(error.type) ?? (isPolicy(error) ? 'policy' : null);
  if (about === 'limit' || error.class === 'budget' || error.class === 'rate_limit')
    return { about: 'limit', name: labelIn(told, why) ?? control, why };
  if (about === 'policy' || about === 'person') return { about: 'policy', name: control, why };
  return agent === null ? { about: 'document', name: error.node, why } : { about: 'reply', name: agent, why };
}

function ofAbout(
  told: Told,
  { about, last, seq, node, why }: At & { readonly about: About; readonly last: RunCall | null },
): Part {
  const failed = told.calls.findLast((call) => call.kind === 'tool' && hasFailed(call));
  switch (about) {
    case 'person':
      return last?.kind === 'ask' ? ofPerson(last, why) : { about, name: 'nobody', node, why };
    case 'tool':
      return failed === undefined ? { about, name: node, node, seq, why } : ofTool(told, failed, why);
    case 'limit':
      return { about, name: labelIn(told, why) ?? node, node, why };
    case 'policy':
      return { about, name: 'boundary', node, why };
    default:
      return { about, name: node, node, agent: null, why };
  }
}

/** The engine's texts about a limit begin with its name. */
function labelIn({ flow }: Told, text: string): string | undefined {
  return Object.values(flow.meters).find(({ label }) => text.startsWith(`${label} `))?.label;
}

function isPolicy({ class: kind }: Failed): boolean {
  return kind === 'policy' || kind === 'guardrail';
}

function isRefusal(call: RunCall): boolean {
  const { choice, expired } = givenTo(call);
  return call.kind === 'ask' && (choice === 'reject' || expired === true);
}

function ruleOf({ name }: RunCall): string {
  return name.replace(/^policy:/, '');
}

function ofHalt(told: Told, { halt }: Is<'halt'>): Part {
  const { state, calls, flow, last: node } = told;
  const { by, why } = halt;
  if (halt.code !== 'TIMEOUT') return { about: 'person', name: by, node, why: `${by} cancelled the run: ${why}` };
  const { deadline = Infinity } = state.origin;
  const clock = Object.values(flow.meters).find(({ unit, halts }) => unit === 'time' && halts === true);
  const name = clock === undefined || halt.at >= deadline ? 'deadline' : clock.label;
  const open = calls.filter(({ verdict, kind }) => verdict === null && kind !== 'undo');
  return { about: 'limit', name, node, why: `${why}${waitedText(open)}${usedUpBy(told, 'time')}` };
}

/** The author's own end. */
function ofEnd(told: Told, { end, last }: Is<'end'>): Part {
  const { flow, state } = told;
  const node = end.node === undefined ? told.last : nameAt(flow, end.node);
  const slots = state.threads.get('0')?.slots ?? {};
  const { reason = '', verdict = '' } = flow.view?.judgement ?? {};
  const judged = slots[verdict];
  const problem = isRecord(judged) ? judged['problem'] : null;
  const texts = [problem, slots[reason], `the run ended with ${end.code} at ${node}`];
  const why = texts.find((text) => typeof text === 'string') as string;
  return end.code === 'UNVERIFIED' ? ofUnverified(told, { node, why }) : decided({ node, why, last });
}

/** Nothing shows that the answer is right: values that are nowhere, or nobody who could say so. */
function ofUnverified({ calls, agent, flow }: Told, { node, why }: Pick<At, 'node' | 'why'>): Part {
  const values = calls.findLast(({ name }) => name === 'policy:grounding');
  const found = values?.attempts.at(-1)?.value;
  const isMissing = isRecord(found) && found['ok'] === false;
  if (agent !== null && isMissing) return { about: 'reply', name: agent, node: agent, why };
  return { about: 'document', name: flow.id, node, why };
}

/** The route to an end: by a person's answer, by a reply, or by what the author wrote. */
function decided({ node, why, last }: Pick<At, 'node' | 'why'> & { readonly last: RunCall | null }): Part {
  if (last?.kind === 'ask') return ofPerson(last, why);
  if (last?.kind !== 'model') return { about: 'document', name: node, node, why };
  const { name, seq, verdict } = last;
  return { about: 'reply', name, agent: name, node: last.node, seq: verdict?.seq ?? seq, why };
}
