/** Compares a run with the expectations of its case. Every difference is one sentence. */
import { isDeepStrictEqual } from 'node:util';
import { compileExpr, isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { pure } from '@sluice-internal/engine/ports';
import { isGood } from '@sluice-internal/kernel/ir';
import type { RunRecord } from '../journal/record.ts';
import { toolOf, type Expectation } from './schema.ts';

export function problemsIn(record: RunRecord, expect: Expectation = {}): readonly string[] {
  return [
    ...endProblems(record, expect),
    ...safetyProblems(record, expect),
    ...amountProblems(record, expect),
    ...resultProblems(record, expect),
    ...pathProblems(record, expect),
  ];
}

/** Expectations that a run without any step meets as well. */
const NEGATIVE: ReadonlySet<string> = new Set(['never', 'atMost']);

/** A case without a positive expectation expects a successful end. Otherwise a run that fails at once would pass. */
function endProblems({ report }: RunRecord, expect: Expectation): readonly string[] {
  const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0;
  const hasExpectation = Object.entries(expect).some(
    ([key, value]) => !NEGATIVE.has(key) && value !== undefined && !isEmpty(value),
  );
  if (hasExpectation || isGood(report.code)) return [];
  return [codeProblem(report, 'SUCCESS or PARTIAL_SUCCESS, because the case expects no other end')];
}

/** Expectations that also hold under faults: actions that must never happen. */
export function safetyProblems({ report, calls }: RunRecord, { never = {} }: Expectation): readonly string[] {
  const { nodes = [], tools = [] } = never;
  const called = new Set(calls.filter(({ kind }) => kind === 'tool').map(({ name }) => name));
  const entered = new Set(report.path);
  return [
    ...nodes.filter((node) => entered.has(node)).map((node) => `node ${node} was entered, and must not be`),
    ...tools.filter((tool) => called.has(tool)).map((tool) => `tool ${tool} was called, and must not be`),
  ];
}

function amountProblems({ report }: RunRecord, { atMost = {} }: Expectation): readonly string[] {
  const usage = report.usage as unknown as { readonly [measure: string]: number };
  return Object.entries(atMost).flatMap(([measure, most]) => {
    const { [measure]: used = 0 } = usage;
    return used > most ? [`${measure} is ${used}, and may be at most ${most}`] : [];
  });
}

export function resultProblems(
  record: RunRecord,
  { code, output, exact, schema, when }: Expectation,
): readonly string[] {
  const { report } = record;
  const problems: string[] = [];
  if (code !== undefined && report.code !== code) problems.push(codeProblem(report, code));
  if (output !== undefined) problems.push(...outputProblems(report.output, output, exact === true));
  if (schema !== undefined) problems.push(...schemaProblems(report.output, schema));
  if (when !== undefined) problems.push(...conditionProblems(record, when));
  return problems;
}

function codeProblem({ code, state, error }: RunRecord['report'], expected: string): string {
  const why = error === null ? '' : ` (${error.type}: ${error.message})`;
  return `the code is ${code ?? state}, expected ${expected}${why}`;
}

function pathProblems({ report, calls }: RunRecord, expect: Expectation): readonly string[] {
  const problems: string[] = [];
  const { path, includes = [], order, tools, asks } = expect;
  if (path !== undefined && !isDeepStrictEqual([...report.path], path))
    problems.push(`the path is ${listed(report.path)}, expected ${listed(path)}`);
  for (const node of includes) if (!report.path.includes(node)) problems.push(`node ${node} was not entered`);
  if (order !== undefined && !isSubsequence(order, report.path))
    problems.push(`the path ${listed(report.path)} does not have ${listed(order)} in this order`);
  if (tools !== undefined) problems.push(...toolProblems(calls, tools));
  return asks === undefined ? problems : [...problems, ...askProblems({ calls }, asks)];
}

/** Exactly these tools in this order, with the arguments that are given. */
function toolProblems(calls: RunRecord['calls'], tools: NonNullable<Expectation['tools']>): readonly string[] {
  const made = calls.filter(({ kind }) => kind === 'tool');
  const names = made.map(({ name }) => name);
  if (!isDeepStrictEqual(names, tools.map(toolOf)))
    return [`the tool calls are ${listed(names)}, expected ${listed(tools.map(toolOf))}`];
  return tools.flatMap((each, index) => {
    const args = made[index]?.input['args'] ?? null;
    if (typeof each === 'string' || isDeepStrictEqual(args, each.args)) return [];
    return [`call ${index + 1} is ${each.tool} ${short(args)}, expected ${short(each.args)}`];
  });
}

/** Each question must be expected, by node or by subject, and each expected question must be asked. */
function askProblems({ calls }: Pick<RunRecord, 'calls'>, asks: readonly string[]): readonly string[] {
  const asked = calls.filter(({ question }) => question !== null);
  const isAbout = (name: string) => (call: (typeof asked)[number]) =>
    call.node === name || call.name === name || call.node.endsWith(`/${name}`);
  return [
    ...asks.filter((name) => !asked.some(isAbout(name))).map((name) => `no person was asked about ${name}`),
    ...asked
      .filter((call) => !asks.some((name) => isAbout(name)(call)))
      .map(({ node, name }) => `a question was asked about ${name} (${node}), and none is expected`),
  ];
}

/** A JSON Schema must be satisfied. Of an object, the given fields must match; everything else, or all if `exact`, is equal. */
function outputProblems(output: Json, expected: Json, exact: boolean): readonly string[] {
  if (!exact && isSchema(expected)) return schemaProblems(output, expected);
  const isRight = exact ? isDeepStrictEqual(output, expected) : matches(output, expected);
  return isRight ? [] : [`the output is ${short(output)}, expected ${short(expected)}`];
}

function schemaProblems(output: Json, schema: Json): readonly string[] {
  const problem = pure.validate(schema, output);
  return problem === null ? [] : [`the output does not fit its schema: ${problem}`];
}

const SCHEMA_KEYS = [
  'properties',
  'required',
  'items',
  'enum',
  'const',
  'oneOf',
  'anyOf',
  'pattern',
  'minimum',
  'maximum',
];
const TYPES: ReadonlySet<unknown> = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);

function isSchema(value: Json): boolean {
  if (!isRecord(value)) return false;
  if (typeof value['$schema'] === 'string') return true;
  return TYPES.has(value['type']) && (Object.keys(value).length === 1 || SCHEMA_KEYS.some((key) => key in value));
}

function matches(actual: Json, expected: Json): boolean {
  if (isRecord(expected) && isRecord(actual))
    return Object.entries(expected).every(
      ([key, value]) => Object.hasOwn(actual, key) && matches(actual[key] as Json, value),
    );
  if (Array.isArray(expected) && Array.isArray(actual))
    return expected.length === actual.length && expected.every((value, index) => matches(actual[index] as Json, value));
  return isDeepStrictEqual(actual, expected);
}

function conditionProblems({ report, calls, read }: RunRecord, when: string): readonly string[] {
  const asks = calls.filter(({ question }) => question !== null).map(({ name }) => name);
  const { output, code, state, path, usage, receipts, approvals } = report;
  const variables = JSON.parse(
    JSON.stringify({ output, code, state, path, usage, receipts, approvals, asks, input: read.state.input }),
  ) as { [name: string]: Json };
  try {
    return compileExpr(when)(variables) === true ? [] : [`the condition does not hold: ${when}`];
  } catch (error) {
    return [`the condition cannot be evaluated: ${(error as Error).message}`];
  }
}

function isSubsequence(part: readonly string[], whole: readonly string[]): boolean {
  let at = 0;
  for (const each of whole) if (each === part[at]) at += 1;
  return at === part.length;
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? '(empty)' : names.join(' > ');
}

function short(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
