/**
 * A run in one sentence, as the specification asks: allowed, path, tools, budget, state, and the condition that ended it. Every part
 * is read from the journal, so it is true word for word.
 */
import { BUDGET_ROWS, isCounted, shownAmount } from '@sluice-internal/kernel/ir';
import { conditionAt, storyOf } from '@sluice-internal/engine/report';
import { CLOSED_BECAUSE } from '@sluice-internal/wire';
import type { StoryEvent } from '@sluice-internal/wire';
import { agentRunTrace } from './art.ts';
import type { RunRecord } from './record.ts';

export function explain(record: RunRecord) {
  const parts = partsOf(record);
  return { sentence: sentenceOf(parts), ...parts, detail: detailOf(record) };
}

function partsOf(record: RunRecord) {
  const trace = agentRunTrace(record);
  const { report } = record;
  const tools: { [tool: string]: { calls: number; failed: number; refused: number } } = {};
  for (const { tool, status } of trace.tool_calls) {
    const entry = (tools[tool] ??= { calls: 0, failed: 0, refused: 0 });
    if (status === 'refused') entry.refused += 1;
    else entry.calls += 1;
    if (status === 'failed') entry.failed += 1;
  }
  return {
    allowed: allowedIn(record),
    path: report.path,
    tools,
    spent: spentIn(record),
    state: stateIn(trace.state_checkpoints),
    end: endOf(record),
  };
}

function sentenceOf({ allowed, path, tools, spent, state, end }: ReturnType<typeof partsOf>): string {
  const may = allowed.tools.length === 0 ? 'call no tools' : `call ${listed(allowed.tools)}`;
  const within = allowed.limits.length === 0 ? '' : ` within ${listed(allowed.limits)}`;
  const called = Object.entries(tools).map(([tool, { calls, refused }]) =>
    [tool, calls === 1 || calls === 0 ? '' : ` ×${calls}`, refused === 0 ? '' : ` (${refused} refused)`].join(''),
  );
  const updated = Object.entries(state.slots).map(([slot, count]) => (count === 1 ? slot : `${slot} ×${count}`));
  return [
    `The agent was allowed to ${may}${within}`,
    `chose path ${path.length === 0 ? '(none)' : path.slice(0, PATH_MAX).join(' > ')}${path.length > PATH_MAX ? ` > … (${path.length} entries)` : ''}`,
    `called ${called.length === 0 ? 'no tools' : `tools ${listed(called)}`}`,
    `spent ${listed(spent)}`,
    `updated ${updated.length === 0 ? 'no state' : `state ${listed(updated)}`} from verified observations`,
    `and ${end}${/[.?!]$/.test(end) ? '' : '.'}`,
  ].join(', ');
}

/** The slots that hold results of tools, and how often each was written from one. The engine's own slots have no names in documents. */
function stateIn(checkpoints: ReturnType<typeof agentRunTrace>['state_checkpoints']) {
  const slots: { [slot: string]: number } = {};
  const verified = checkpoints.filter(({ verified_by: by }) => by !== null);
  for (const checkpoint of verified)
    for (const slot of checkpoint.slots)
      if (!slot.startsWith('_') && !OWN.has(slot)) slots[slot] = (slots[slot] ?? 0) + 1;
  return { updates: checkpoints.length, verified: verified.length, slots };
}
/** The messages of the turn. */
const OWN: ReadonlySet<string> = new Set(['talk', 'marks', 'call']);

const PATH_MAX = 12;
const NAMES_MAX = 8;

function listed(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_MAX);
  const rest = names.length - shown.length;
  return rest > 0 ? `${shown.join(', ')} and ${rest} more` : shown.join(', ');
}

/** Tools of agents, and tools that the author called in the flow. */
function allowedIn({ read }: RunRecord) {
  const { flow } = read.program;
  const nodes = Object.values(flow.nodes).flatMap((node) =>
    node.op === 'do' && node.effect.kind === 'tool' ? [node.effect.tool] : [],
  );
  const agents = Object.values(flow.agents);
  const limits = Object.entries(flow.meters).flatMap(([id, { unit, max, label }]) => {
    if (max === null || id.startsWith('~') || !(isCounted(unit) || unit === 'time')) return [];
    return isCounted(unit) ? [`${label} ${shownAmount(unit, max)}`] : [`${label} ${max / 1000}`];
  });
  return {
    tools: [...new Set([...agents.flatMap(({ tools }) => tools), ...nodes])],
    agents: agents.map(({ id }) => id),
    limits,
  };
}

function spentIn({ report: { usage } }: RunRecord): readonly string[] {
  const parts = BUDGET_ROWS.flatMap(({ measure, one, many, sums, largest }) => {
    const used = usage[measure];
    if (used === 0 || sums !== undefined || largest !== undefined) return [];
    return measure === 'costUsd' ? [`$${Number(used.toPrecision(6))}`] : [`${used} ${used === 1 ? one : many}`];
  });
  return [...parts, `${usage.wallClockSeconds} s`];
}

function endOf(record: RunRecord): string {
  const { report } = record;
  if (report.state === 'suspended') {
    const [first] = report.waiting;
    if (first !== undefined) return `waits for a person (${first.code}): ${first.message}`;
    const signals = report.waits.flatMap(({ signal }) => signal ?? []);
    return signals.length === 0 ? 'waits for a time' : `waits for the signal ${listed(signals)}`;
  }
  if (report.code === null) return 'has not ended yet';
  return `terminated with ${report.code} because ${conditionIn(record)}`;
}

/** The condition T, by its name. */
function conditionIn({ report, read }: RunRecord): string {
  const { failure, verdict, reason } = report;
  if (reason !== undefined) return reason;
  if (failure !== null) return FAILED[failure.about](failure);
  if (verdict.ok === true && verdict.by in BY) return `${BY[verdict.by] ?? ''} was met`;
  const { flow } = read.program;
  const judged = read.events.findLast(({ type }) => type === 'effect.judged')?.seq ?? 0;
  const routes = read.events.filter((event) => event.type === 'route.picked' && event.seq > judged);
  const written = routes.flatMap((event) =>
    event.type === 'route.picked' ? (conditionAt(flow, event.node, event.index) ?? []) : [],
  );
  const condition = written.at(-1);
  if (condition !== undefined) return `the condition \`${condition}\` was met`;
  return `the condition "the path ends at ${report.path.at(-1) ?? flow.id}" was met`;
}

const BY: { readonly [by: string]: string } = {
  criteria: 'the condition "every criterion holds"',
  verifier: 'the condition "the verifier agrees"',
  person: 'the condition "a person approves"',
  gates: 'the condition "the gates pass"',
};
type Failed = NonNullable<RunRecord['report']['failure']>;
const FAILED: { readonly [about in Failed['about']]: (failure: Failed) => string } = {
  tool: ({ name, why }) => `the tool ${name} failed: ${why}`,
  model: ({ name, why }) => `the model ${name} failed: ${why}`,
  reply: ({ name, why }) => `the reply of ${name} was not accepted: ${why}`,
  limit: ({ name, why }) => `the limit ${name} was reached: ${why}`,
  policy: ({ name, why }) => `the policy ${name} refused it: ${why}`,
  person: ({ why }) => why,
  document: ({ node, why }) => `the document leads there at ${node}: ${why}`,
  machine: ({ name, why }) => `the machine failed (${name}): ${why}`,
};

type Texts = {
  readonly [type in StoryEvent['type']]?: (event: Extract<StoryEvent, { readonly type: type }>) => string;
};

/** The notable events of a run, in words. */
const TEXTS: Texts = {
  'node.started': ({ node }) => `entered ${node}`,
  'node.retried': ({ node, error }) => `${node} was tried again after ${error.type}: ${error.message}`,
  'model.continued': ({ agent, reason }) => `another request continued the reply of ${agent}: ${reason}`,
  'tool.finished': ({ tool }) => `${tool} succeeded`,
  'tool.failed': ({ tool, error }) => `${tool} failed with ${error.type}: ${error.message}`,
  'tool.refused': ({ tool, reason }) => `${tool} was refused: ${reason}`,
  'question.asked': ({ message }) => `asked a person: ${message}`,
  'question.answered': ({ by, choice }) => `${by} answered ${choice}`,
  'question.closed': ({ reason }) => `the question was closed: ${CLOSED_BECAUSE[reason]}`,
  'budget.reached': ({ budget, left, needed }) => `reached ${budget}: ${left} left, ${needed} needed`,
  'budget.raised': ({ budget, by }) => `${budget} was raised by ${by}`,
  'budget.granted': ({ by, dimension, amount }) => `${by} added ${amount} to budgets.${dimension}`,
  trouble: ({ message }) => message,
  'undo.finished': ({ tool, error }) =>
    error === null ? `${tool} undid an effect` : `${tool} could not undo an effect: ${error.message}`,
  'run.cancelled': ({ by, reason }) => `${by} cancelled the run: ${reason}`,
  'run.ended': ({ code }) => `ended with ${code}`,
};

/** The notable events, in order. */
function detailOf({ read }: RunRecord) {
  return storyOf(read).flatMap((each) => {
    const words = TEXTS[each.type] as ((event: StoryEvent) => string) | undefined;
    return words === undefined ? [] : [{ seq: each.seq, text: words(each) }];
  });
}
