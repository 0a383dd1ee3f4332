/**
 * The 18 metrics of the specification and the rate of unverified runs, one row each. A row gives the share of one run: `part` of `whole`. The value over many
 * runs is the sum of the parts divided by the sum of the wholes, unless the row has another rule.
 */
import { dimensionRow, isCounted, isGood } from '@sluice-internal/kernel/ir';
import type { Event, Node } from '@sluice-internal/kernel/ir';
import { isRecord } from '@sluice-internal/kernel/expr';
import { agentRunTrace } from '../journal/art.ts';
import { fieldsOf, hasEnded, isSupportedWrite, type CallRecord, type Measured } from '../journal/record.ts';

export interface Sample {
  readonly part: number;
  readonly whole: number;
}
export type Target = { readonly atLeast: number } | { readonly atMost: number };
interface Row {
  readonly id: string;
  readonly title: string;
  /** `share`: from 0 to 1. `mean`: an average over runs. `most`: the largest of all runs. `agreement`: precision and recall. */
  readonly kind: 'share' | 'mean' | 'most' | 'agreement';
  /** A share has none. */
  readonly unit?: string;
  readonly formula: string;
  readonly detects: string;
  /** The target of the specification; null if the target is "workflow-specific" there. */
  readonly target: Target | null;
  /** Null if the run has no data for this metric. */
  sample(run: Measured): Sample | null;
}
const one = (holds: boolean): Sample => ({ part: holds ? 1 : 0, whole: 1 });
const ended =
  (sample: (run: Measured) => Sample | null) =>
  (run: Measured): Sample | null =>
    hasEnded(run) ? sample(run) : null;
const counted = (all: readonly boolean[]): Sample | null =>
  all.length === 0 ? null : { part: all.filter(Boolean).length, whole: all.length };

/** Something showed that the answer is right. A verdict of a script does so in a suite only. */
function isShown({ report: { verdict }, labels }: Measured): boolean {
  return verdict.ok === true && (!verdict.scripted || Object.keys(labels).length > 0);
}

const ROWS = [
  {
    id: 'taskSuccessRate',
    title: 'Task Success Rate',
    kind: 'share',
    formula:
      'ended runs with SUCCESS or PARTIAL_SUCCESS that criteria, a verifier, a person or the graph showed / ended runs (in a suite: of the cases that expect one of the two, and with the expected output). Outside a suite a scripted verdict shows nothing',
    detects: 'The agent does not complete the requested task.',
    target: { atLeast: 0.98 },
    sample: (run) => {
      const { code, isRight = true } = run.labels;
      const isSuccess = isGood(run.report.code) && isRight && isShown(run);
      if (code === undefined) return hasEnded(run) ? one(isSuccess) : null;
      return isGood(code) ? one(isSuccess) : null;
    },
  },
  {
    id: 'unverifiedRate',
    title: 'Unverified Rate',
    kind: 'share',
    formula: 'runs that ended UNVERIFIED / ended runs',
    detects: 'Answers that no criterion and no verifier judged.',
    target: null,
    sample: ended(({ report }) => one(report.code === 'UNVERIFIED')),
  },
  {
    id: 'correctTermination',
    title: 'Correct Termination',
    kind: 'share',
    formula:
      'runs that ended with the right code / ended runs whose right code is known: from the case, or without a case from a verdict on the answer, if a replay ends in the same way',
    detects: 'Premature stops, refusal to stop, wrong terminal codes.',
    target: { atLeast: 1 },
    sample: (run) => {
      if (run.labels.code !== undefined) return one(run.report.code === run.labels.code);
      return hasEnded(run) && isShown(run) ? one(isGood(run.report.code) && run.differsAt === null) : null;
    },
  },
  {
    id: 'trajectoryValidity',
    title: 'Trajectory Validity',
    kind: 'share',
    formula: 'transitions that the compiled graph has and that a replay repeats / all transitions',
    detects: 'Illegal edges, skipped guards, changes of the graph at run time.',
    target: { atLeast: 1 },
    sample: ({ read, differsAt }) =>
      counted(
        read.events.flatMap((event) => {
          const legal = isLegal(read.program.flow.nodes, event);
          return legal === null ? [] : [legal && (differsAt === null || event.seq < differsAt)];
        }),
      ),
  },
  {
    id: 'trajectoryEfficiency',
    title: 'Trajectory Efficiency',
    kind: 'mean',
    unit: '× reference',
    formula:
      'mean of steps / reference steps over good runs; the reference is the golden path, or else the shortest good run of the same graph',
    detects: 'Redundant decomposition, tool spam, over-reflection.',
    target: { atMost: 1.25 },
    sample: ({ report, labels }) =>
      labels.steps === undefined || labels.steps === 0 || !isGood(report.code)
        ? null
        : { part: report.usage.steps / labels.steps, whole: 1 },
  },
  {
    id: 'escalationAccuracy',
    title: 'Escalation Accuracy',
    kind: 'agreement',
    formula:
      'the smaller of precision and recall of the runs that asked a person or failed closed, against the cases that expect it; null without such cases',
    detects: 'Missed approvals, needless human review, unsafe autonomy.',
    target: { atLeast: 0.95 },
    sample: (run) => {
      const { escalates } = run.labels;
      if (escalates === undefined) return null;
      return { part: hasEscalated(run) ? 1 : 0, whole: escalates ? 1 : 0 };
    },
  },
  {
    id: 'stepCountEfficiency',
    title: 'Step Count Efficiency',
    kind: 'mean',
    unit: 'steps per run',
    formula: 'steps / runs',
    detects: 'Excessive planning, repair or recursion.',
    target: null,
    sample: ({ report }) => ({ part: report.usage.steps, whole: 1 }),
  },
  {
    id: 'loopDepthLimit',
    title: 'Loop Depth Limit',
    kind: 'most',
    unit: 'levels',
    formula: 'the deepest chain of subtasks in any version of any plan; null without a plan',
    detects: 'Runaway decomposition and swarm proliferation.',
    target: { atMost: 2 },
    sample: ({ plans }) =>
      plans.length === 0 ? null : { part: Math.max(...plans.map(({ steps }) => depthOf(steps))), whole: 1 },
  },
  {
    id: 'toolCallCount',
    title: 'Tool-Call Count',
    kind: 'mean',
    unit: 'calls per run',
    formula: 'tool calls / runs; a repeated attempt is a call',
    detects: 'Tool overuse and missed deterministic paths.',
    target: null,
    sample: ({ report }) => ({ part: report.usage.toolCalls, whole: 1 }),
  },
  {
    id: 'failedToolCalls',
    title: 'Failed Tool Calls',
    kind: 'share',
    formula: 'attempts of tool calls that failed or were not accepted / attempts that were answered',
    detects: 'Bad arguments, unavailable dependencies, parser drift.',
    target: null,
    sample: ({ calls }) =>
      counted(
        calls
          .filter(isTool)
          .flatMap(({ attempts, retries, verdict }) =>
            attempts.map(({ ok }, index) => !ok || index < retries.length || verdict?.accepted === false),
          ),
      ),
  },
  {
    id: 'retryRate',
    title: 'Retry Rate',
    kind: 'share',
    formula: 'repeated attempts of tool calls / attempts of tool calls',
    detects: 'Retry storms and brittle tool contracts.',
    target: { atMost: 0.05 },
    sample: ({ calls }) => {
      const tools = calls.filter(isTool);
      const retries = tools.reduce((sum, call) => sum + call.retries.length, 0);
      return tools.length === 0 ? null : { part: retries, whole: tools.length + retries };
    },
  },
  {
    id: 'timeoutRate',
    title: 'Timeout Rate',
    kind: 'share',
    formula: 'runs that ended with TIMEOUT / ended runs',
    detects: 'Failures of capacity, dependencies or loop bounds.',
    target: { atMost: 0.01 },
    sample: ended(({ report }) => one(report.code === 'TIMEOUT')),
  },
  {
    id: 'budgetAdherence',
    title: 'Budget Adherence',
    kind: 'share',
    formula:
      'runs in which no dimension exceeds its limit, with the amounts that people granted / runs with a limit in any dimension',
    detects: 'Budget overruns and ineffective enforcement.',
    target: { atLeast: 1 },
    sample: (run) => (hasBudgets(run) ? one(isWithinBudgets(run)) : null),
  },
  {
    id: 'costPerSuccess',
    title: 'Cost per Success',
    kind: 'mean',
    unit: 'USD per good run',
    formula: 'dollars of all ended runs / good runs; null without a good run',
    detects: 'Savings that failures and retries use up.',
    target: null,
    sample: ended(({ report }) => ({ part: report.usage.costUsd, whole: isGood(report.code) ? 1 : 0 })),
  },
  {
    id: 'observationGroundingRate',
    title: 'Observation Grounding Rate',
    kind: 'share',
    formula:
      'state updates from an accepted result of a tool, and replies whose values and citations are in the observations / state updates from results of tools, and replies whose values and citations were checked',
    detects: 'Hallucinated observations and assumed tool success.',
    target: { atLeast: 1 },
    sample: ({ read, calls }) => {
      const verdicts = new Map<string, boolean>();
      const replies = calls.filter(isValueCheck).map((call) => fieldsOf(call)['ok'] === true);
      return counted([
        ...replies,
        ...read.events.flatMap((event) => {
          if (event.type === 'effect.judged')
            verdicts.set(event.key.slice(0, event.key.lastIndexOf('#')), event.verdict === 'accepted');
          const node = event.type === 'slots.written' ? read.program.flow.nodes[event.node] : undefined;
          if (event.type !== 'slots.written' || node?.op !== 'do' || node.effect.kind !== 'tool') return [];
          return [verdicts.get(event.thread) === true];
        }),
      ]);
    },
  },
  {
    id: 'memoryWriteQuality',
    title: 'Memory Write Quality',
    kind: 'share',
    formula: 'stored memory entries that name at least one supporting observation / stored memory entries',
    detects: 'Memory poisoning and unsupported long-term facts.',
    target: { atLeast: 1 },
    sample: ({ calls }) => counted(calls.filter(isStoredMemory).map(isSupportedWrite)),
  },
  {
    id: 'humanOverrideRate',
    title: 'Human Override Rate',
    kind: 'share',
    formula: 'answers to approvals that did not approve the proposal unchanged / answers to approvals',
    detects: 'Too much trust in automation, or needless escalation of trivial cases.',
    target: null,
    sample: ({ calls }) => counted(calls.flatMap(overrideOf)),
  },
  {
    id: 'userCorrectionRate',
    title: 'User Correction Rate',
    kind: 'share',
    formula: 'runs in which a person answered with a text or an edit / runs',
    detects: 'Misunderstood intent or a poor final answer.',
    target: null,
    sample: ({ calls }) => one(calls.some(isCorrected)),
  },
  {
    id: 'traceCompleteness',
    title: 'Trace Completeness',
    kind: 'share',
    formula: 'fields of the Agent Run Trace that are filled / fields (`terminal_code` counts for ended runs only)',
    detects: 'Runs that cannot be replayed and missing evidence of incidents.',
    target: { atLeast: 1 },
    sample: (run) =>
      counted(
        Object.entries(agentRunTrace(run)).flatMap(([field, value]) =>
          field === 'terminal_code' && !hasEnded(run) ? [] : [value !== null && value !== ''],
        ),
      ),
  },
] as const satisfies readonly Row[];

export type MetricId = (typeof ROWS)[number]['id'];
export interface Metric extends Row {
  readonly id: MetricId;
}
export const METRICS: readonly Metric[] = ROWS;

/** Shares and agreements go from 0 to 1. */
export function isShare(id: MetricId): boolean {
  const { kind } = metricOf(id);
  return kind === 'share' || kind === 'agreement';
}

export function boundOf(target: Target): number {
  return 'atLeast' in target ? target.atLeast : target.atMost;
}

export function metricOf(id: MetricId): Metric {
  return METRICS.find((metric) => metric.id === id) as Metric;
}

/** True or false for an event that moves a branch to a node; null for every other event. */
function isLegal(nodes: { readonly [id: string]: Node }, event: Event): boolean | null {
  switch (event.type) {
    case 'route.picked': {
      const node = nodes[event.node];
      return node?.op === 'pick' && (node.otherwise === event.to || node.cases.some(({ to }) => to === event.to));
    }
    case 'slots.written': {
      const node = nodes[event.node];
      return (node?.op === 'let' || node?.op === 'do') && node.next === event.to;
    }
    default:
      return null;
  }
}

/** The run asked a person, or stopped without success and for another reason than its time. */
function hasEscalated({ report, calls }: Measured): boolean {
  if (calls.some(({ question }) => question !== null)) return true;
  return report.state === 'failed' && report.code !== 'TIMEOUT';
}

function depthOf(steps: readonly unknown[]): number {
  const parents = new Map<unknown, unknown>();
  for (const step of steps) if (isRecord(step)) parents.set((step as Step).id, (step as Step).parent);
  const depth = (id: unknown, seen: number): number =>
    id === undefined || id === null || !parents.has(id) || seen > parents.size
      ? 0
      : 1 + depth(parents.get(id), seen + 1);
  return Math.max(steps.length === 0 ? 0 : 1, ...[...parents.keys()].map((id) => depth(id, 0)));
}
interface Step {
  readonly id?: unknown;
  readonly parent?: unknown;
}

function isValueCheck({ name, verdict }: CallRecord): boolean {
  return name === 'policy:grounding' && verdict !== null;
}

function isTool({ kind }: CallRecord): boolean {
  return kind === 'tool';
}

function hasBudgets({ read }: Measured): boolean {
  return Object.values(read.program.flow.meters).some(({ unit, max }) => max !== null && isCounted(unit));
}

/** The amounts that were used, against the limits and the grants. Agents have meters of their own. */
function isWithinBudgets({ read, report }: Measured): boolean {
  const { spent, raised = {} } = read.state;
  return Object.entries(read.program.flow.meters).every(([id, { unit, max }]) => {
    if (max === null || !isCounted(unit)) return true;
    const { measure, scale } = dimensionRow(unit);
    const isWholeRun = id === 'steps' || id === `budget.${unit}`;
    const used = isWholeRun ? Math.round(report.usage[measure] * scale) : (spent[id] ?? 0);
    return used <= max + (raised[id] ?? 0);
  });
}

function isStoredMemory(call: CallRecord): boolean {
  const { ok, state } = fieldsOf(call);
  return call.kind === 'check' && call.name === 'memory.write' && (ok === true || state === 'quarantined');
}

/** Expired questions were not answered. A request for information has nothing to approve. */
function overrideOf(call: CallRecord): readonly boolean[] {
  const { question } = call;
  const { choice, expired } = fieldsOf(call);
  if (question === null || choice === undefined || expired === true) return [];
  const isApproval = question.choices.includes('approve') || question.code === 'CONFIRM_REQUIRED';
  if (!isApproval) return [];
  const yes = question.choices.includes('approve') ? 'approve' : question.choices[0];
  return [choice !== yes];
}

function isCorrected(call: CallRecord): boolean {
  const { text, edit = null, expired } = fieldsOf(call);
  return call.question !== null && expired !== true && ((typeof text === 'string' && text !== '') || edit !== null);
}
