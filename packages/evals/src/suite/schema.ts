/** The suite: a YAML file beside the flow. Read as strictly as a document; mistakes have a line, a column and the nearest name. */
import * as z from 'zod';
import { didYouMean, parseSource } from '@sluice-internal/compile/source';
import type { Diagnostic, Report } from '@sluice-internal/compile/source';
import {
  bool,
  int,
  json,
  list,
  map,
  name,
  number,
  oneOf,
  readShape,
  record,
  text,
} from '@sluice-internal/compile/document';
import type { Shaped } from '@sluice-internal/compile/document';
import { refuseOtherKind } from '@sluice-internal/notations/driver';
import { checkExpression, reportProblems } from '@sluice-internal/compile/expressions';
import { DIMENSION_ROWS, TERMINAL_CODES } from '@sluice-internal/kernel/ir';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { questionNames, scriptSchema } from '@sluice-internal/library/host';
import { isShare, METRICS } from '../metrics/table.ts';

const MODES = ['golden', 'faults', 'budgets', 'escalations', 'replay', 'soak', 'policy'] as const;
export type Mode = (typeof MODES)[number];
export const FAULT_KINDS = ['fail', 'fatal', 'delay', 'malformed', 'deny'] as const;

const faultPlan = record({
  name: name().optional(),
  agent: name().optional(),
  tool: name().optional(),
  kind: oneOf(FAULT_KINDS),
  at: int({ min: 1 }).optional(),
  rate: number({ min: 0, max: 1 }).optional(),
});
const expectation = record({
  code: oneOf(TERMINAL_CODES).optional(),
  output: json().optional(),
  exact: bool().optional(),
  schema: json().optional(),
  when: text().optional(),
  judge: record({ criteria: text({ min: 1 }), model: name().optional() }).optional(),
  path: list(name()).optional(),
  includes: list(name()).optional(),
  order: list(name()).optional(),
  tools: list(z.union([name(), record({ tool: name(), args: json() })])).optional(),
  never: record({ nodes: list(name()).optional(), tools: list(name()).optional() }).optional(),
  atMost: map(number({ min: 0 })).optional(),
  asks: list(name()).optional(),
});
const suiteCase = record({
  name: name(),
  recorded: bool().optional(),
  input: json().optional(),
  script: z.union([text({ min: 1 }), scriptSchema]).optional(),
  model: name().optional(),
  seed: int({ min: 0 }).optional(),
  tags: list(name()).optional(),
  repeat: int({ min: 1, max: 10_000 }).optional(),
  expect: expectation.optional(),
});
const threshold = z.union([number(), record({ atLeast: number().optional(), atMost: number().optional() })]);
const suiteSchema = record({
  flow: text({ min: 1 }),
  modes: list(oneOf(MODES), { min: 1 }).optional(),
  cases: list(suiteCase).optional(),
  script: z.union([text({ min: 1 }), scriptSchema]).optional(),
  matrix: record({
    models: list(name(), { min: 1 }).optional(),
    prompts: map(map(text())).optional(),
    seeds: list(int({ min: 0 }), { min: 1 }).optional(),
    faults: list(faultPlan).optional(),
  }).optional(),
  repeat: int({ min: 1, max: 10_000 }).optional(),
  thresholds: map(threshold).optional(),
  policy: record({ before: text({ min: 1 }), allowed: list(name()).optional() }).optional(),
  soak: record({
    runs: int({ min: 1, max: 1_000_000 }).optional(),
    growthMb: number({ min: 0 }).optional(),
  }).optional(),
});
export type Suite = z.output<typeof suiteSchema>;
export type SuiteCase = z.output<typeof suiteCase>;
export type Expectation = z.output<typeof expectation>;
export type FaultPlan = z.output<typeof faultPlan>;

export interface ReadSuite {
  /** Null if the suite has errors. */
  readonly suite: Suite | null;
  readonly diagnostics: readonly Diagnostic[];
  /** Reports names that the flow does not have. Call it once the flow is compiled. */
  checkNames(flow: CompiledFlow): readonly Diagnostic[];
}

/** The name of a tool in `expect.tools`. */
export function toolOf(given: NonNullable<Expectation['tools']>[number]): string {
  return typeof given === 'string' ? given : given.tool;
}

/** The variables of `expect.when`. */
const WHEN_NAMES = ['output', 'code', 'state', 'path', 'usage', 'receipts', 'approvals', 'asks', 'input'] as const;

export function readSuite(source: string, file: string): ReadSuite {
  const { doc, report } = parseSource(source, file, SUITE);
  const isSuite = doc !== null && !refuseOtherKind(doc, 'suite', report);
  const shaped = isSuite ? readShape(suiteSchema, doc, report, { what: SUITE.what }) : null;
  if (shaped !== null) {
    checkConditions(shaped, report);
    checkKeys(shaped, report);
    checkCases(shaped, report);
  }
  return {
    suite: shaped === null || report.failed() ? null : shaped.value,
    diagnostics: report.list(),
    checkNames: (flow) => {
      if (shaped !== null) checkFlowNames(shaped, flow, report);
      return report.list();
    },
  };
}

const SUITE = { what: 'this suite', start: 'Write `flow:` with the path of a document, and `cases:`.' };
const MEASURES = [...DIMENSION_ROWS.map(({ measure }) => measure), 'wallClockSeconds', 'reviews'];

function checkConditions({ value, located }: Shaped<Suite>, report: Report): void {
  for (const [index, { expect }] of (value.cases ?? []).entries()) {
    if (expect?.when === undefined) continue;
    const checked = checkExpression(expect.when, { names: WHEN_NAMES });
    const scalar = located('cases', index, 'expect', 'when');
    if (scalar?.kind !== 'scalar') continue;
    if (!checked.ok) reportProblems(report, scalar, checked.problems);
    else if (checked.constant !== undefined)
      report.error('bad-suite', scalar, 'this condition reads nothing of the run, so it checks nothing', {
        help: 'Compare something of the run, such as `output == "paid"`.',
      });
  }
}

/** Without cases nothing is checked, and the suite would pass. Only the replay of stored runs needs none. */
function checkCases({ value, at, key, poisoned }: Shaped<Suite>, report: Report): void {
  const { cases, modes = ['golden'] } = value;
  if ((cases ?? []).length > 0 || poisoned('cases') || modes.every((mode) => mode === 'replay')) return;
  report.error(
    'bad-suite',
    cases === undefined ? at() : key('cases'),
    'this suite has no cases, so it checks nothing',
    {
      help: 'Add a case, as in `cases: [{ name: first, input: "…", script: ./first.script.yaml, expect: { code: SUCCESS } }]`.',
    },
  );
}

/** Metrics and amounts have fixed names. Case names are unique, because reports are compared by them. */
function checkKeys({ value, key, at }: Shaped<Suite>, report: Report): void {
  for (const [id, given] of Object.entries(value.thresholds ?? {})) checkThreshold(id, given, key, report);
  const names = new Set<string>();
  for (const [index, { name: given, expect }] of (value.cases ?? []).entries()) {
    if (names.has(given))
      report.error('bad-suite', at('cases', index, 'name'), `two cases are called \`${given}\``, {
        help: 'Rename one of them.',
      });
    names.add(given);
    if (expect?.exact === true && expect.output === undefined)
      report.error('bad-suite', at('cases', index, 'expect', 'exact'), '`exact` needs an `output`', {
        help: 'Add `output: …` to `expect`.',
      });
    for (const measure of Object.keys(expect?.atMost ?? {}))
      if (!MEASURES.includes(measure))
        unknown(
          report,
          key('cases', index, 'expect', 'atMost', measure),
          `there is no amount \`${measure}\``,
          measure,
          MEASURES,
        );
  }
}

/** A threshold has one bound. Shares go from 0 to 1: a bound of 5 for a rate of 5 % would always be met. */
function checkThreshold(
  id: string,
  given: z.output<typeof threshold>,
  key: Shaped<Suite>['key'],
  report: Report,
): void {
  const known = METRICS.map((metric) => metric.id as string);
  const metric = METRICS.find((each) => each.id === id);
  if (metric === undefined) return unknown(report, key('thresholds', id), `there is no metric \`${id}\``, id, known);
  const bounds =
    typeof given === 'number' ? [given] : [given.atLeast, given.atMost].filter((each) => each !== undefined);
  if (bounds.length !== 1)
    report.error('bad-suite', key('thresholds', id), `the threshold \`${id}\` must have one bound`, {
      help: 'Write `atLeast` or `atMost`.',
    });
  const wrong = isShare(metric.id) ? bounds.find((bound) => bound < 0 || bound > 1) : undefined;
  if (wrong !== undefined)
    report.error(
      'bad-suite',
      key('thresholds', id),
      `\`${id}\` is a share from 0 to 1, but its threshold is ${wrong}`,
      {
        help: `Write \`${wrong / 100}\` for ${wrong} %.`,
      },
    );
}

function checkFlowNames(shaped: Shaped<Suite>, flow: CompiledFlow, report: Report): void {
  const { value, at } = shaped;
  const labels = Object.values(flow.nodes).map(({ label }) => label);
  const nodes = [...new Set(labels.flatMap(({ enters }) => enters ?? []))];
  // A task is listed under its stage, by an id that the run makes: `workers/tea`.
  const dynamic = labels.flatMap(({ enters, entersBy }) => (entersBy === undefined ? [] : [`${enters ?? ''}/`]));
  const tools = Object.keys(flow.tools);
  // A question about a call of an agent also has the name of the agent.
  const questions = [...new Set([...questionNames(flow), ...nodes])];
  const refuse = (where: ReturnType<typeof at>, kind: string, given: string, known: readonly string[]): void =>
    unknown(report, where, `flow \`${flow.id}\` has no ${kind} \`${given}\``, given, known);
  const check = (
    kind: string,
    known: readonly string[],
    names: readonly string[] | undefined,
    ...path: (string | number)[]
  ): void => {
    for (const [index, each] of (names ?? []).entries()) {
      if (known.includes(each)) continue;
      if (known === nodes && dynamic.some((prefix) => each.startsWith(prefix))) continue;
      refuse(at(...path, index), kind, each, known);
    }
  };
  for (const [index, { expect }] of (value.cases ?? []).entries()) {
    if (expect === undefined) continue;
    const path = ['cases', index, 'expect'] as const;
    check('node', nodes, expect.path, ...path, 'path');
    check('node', nodes, expect.includes, ...path, 'includes');
    check('node', nodes, expect.order, ...path, 'order');
    check('node', nodes, expect.never?.nodes, ...path, 'never', 'nodes');
    check('tool', tools, expect.never?.tools, ...path, 'never', 'tools');
    check('tool', tools, expect.tools?.map(toolOf), ...path, 'tools');
    check('question', questions, expect.asks, ...path, 'asks');
  }
  check('tool', tools, value.policy?.allowed, 'policy', 'allowed');
  checkMatrixNames(shaped, Object.keys(flow.agents), tools, refuse);
}

function checkMatrixNames(
  { value: { matrix = {} }, at, key }: Shaped<Suite>,
  agents: readonly string[],
  tools: readonly string[],
  refuse: (where: ReturnType<Shaped<Suite>['at']>, kind: string, given: string, known: readonly string[]) => void,
): void {
  for (const [index, { agent, tool }] of (matrix.faults ?? []).entries()) {
    const path = ['matrix', 'faults', index] as const;
    if (agent !== undefined && !agents.includes(agent)) refuse(at(...path, 'agent'), 'agent', agent, agents);
    if (tool !== undefined && !tools.includes(tool)) refuse(at(...path, 'tool'), 'tool', tool, tools);
  }
  for (const [prompt, instructions] of Object.entries(matrix.prompts ?? {}))
    for (const agent of Object.keys(instructions))
      if (!agents.includes(agent)) refuse(key('matrix', 'prompts', prompt, agent), 'agent', agent, agents);
}

function unknown(
  report: Report,
  at: Parameters<Report['error']>[1],
  message: string,
  given: string,
  known: readonly string[],
): void {
  const help = didYouMean(given, known, `Use one of ${known.slice(0, 30).join(', ')}.`);
  report.error('bad-suite', at, message, { help });
}
