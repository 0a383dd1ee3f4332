/** A run in one sentence, as the specification asks: allowed, path, tools, budget, state, and the reason of its end. */
import { BUDGET_ROWS, isCounted, shownAmount } from '@sluice-internal/kernel/ir';
import { storyOf } from '@sluice-internal/engine/report';
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
    state: {
      updates: trace.state_checkpoints.length,
      verified: trace.state_checkpoints.filter(({ verified_by: by }) => by !== null).length,
    },
    end: endOf(record),
  };
}

function sentenceOf({ allowed, path, tools, spent, state, end }: ReturnType<typeof partsOf>): string {
  const may = allowed.tools.length === 0 ? 'call no tools' : `call ${listed(allowed.tools)}`;
  const within = allowed.limits.length === 0 ? '' : ` within ${listed(allowed.limits)}`;
  const called = Object.entries(tools).map(([tool, { calls, refused }]) =>
    [tool, calls === 1 || calls === 0 ? '' : ` ×${calls}`, refused === 0 ? '' : ` (${refused} refused)`].join(''),
  );
  return [
    `The agent was allowed to ${may}${within}`,
    `chose the path ${path.length === 0 ? '(none)' : path.slice(0, PATH_MAX).join(' > ')}${path.length > PATH_MAX ? ` > … (${path.length} entries)` : ''}`,
    `called ${called.length === 0 ? 'no tools' : listed(called)}`,
    `spent ${listed(spent)}`,
    `updated its state ${state.updates} times, ${state.verified} of them from verified observations`,
    `and ${end}${/[.?!]$/.test(end) ? '' : '.'}`,
  ].join(', ');
}

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
  const { report, read } = record;
  if (report.state === 'suspended') {
    const [first] = report.waiting;
    if (first !== undefined) return `waits for a person (${first.code}): ${first.message}`;
    const signals = report.waits.flatMap(({ signal }) => signal ?? []);
    return signals.length === 0 ? 'waits for a time' : `waits for the signal ${listed(signals)}`;
  }
  if (report.code === null) return 'has not ended yet';
  const end = read.events.findLast(({ type }) => type === 'run.ended');
  const last = end?.type === 'run.ended' ? end.node : undefined;
  const node = last === undefined ? undefined : read.program.flow.nodes[last]?.label.name;
  const at = node === undefined ? '' : ` at ${node}`;
  const why =
    report.error === null
      ? (report.reason ?? cancelIn(record) ?? `the terminal condition${at} was met`)
      : `${report.error.type}: ${report.error.message}`;
  return `terminated with ${report.code} because ${why}`;
}

function cancelIn({ read }: RunRecord): string | undefined {
  const halted = read.events.find((event) => event.type === 'run.halted');
  return halted?.type === 'run.halted' ? `${halted.by} cancelled it (${halted.why})` : undefined;
}

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
