/** Compares a run with the expectations of its case. Every difference is one sentence. */
import { isDeepStrictEqual } from 'node:util';
import { compileExpr } from '../../../expr/index.ts';
import type { Json } from '../../../expr/json.ts';
import { pure } from '../../../runtime/engine/pure.ts';
import type { RunRecord } from '../journal/record.ts';
import { isRecord } from '../journal/record.ts';
import type { Expectation } from './schema.ts';

export function problemsIn(record: RunRecord, expect: Expectation): readonly string[] {
  return [
    ...safetyProblems(record, expect),
    ...amountProblems(record, expect),
    ...resultProblems(record, expect),
    ...pathProblems(record, expect),
  ];
}

/** Expectations that hold under faults as well: what must never happen. */
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

export function resultProblems(record: RunRecord, { code, output, schema, when }: Expectation): readonly string[] {
  const { report } = record;
  const problems: string[] = [];
  if (code !== undefined && report.code !== code) {
    const why = report.error === null ? '' : ` (${report.error.type}: ${report.error.message})`;
    problems.push(`the code is ${report.code ?? report.state}, expected ${code}${why}`);
  }
  if (output !== undefined) problems.push(...outputProblems(report.output, output));
  if (schema !== undefined) problems.push(...schemaProblems(report.output, schema));
  if (when !== undefined) problems.push(...conditionProblems(record, when));
  return problems;
}

function pathProblems({ report, calls }: RunRecord, expect: Expectation): readonly string[] {
  const problems: string[] = [];
  const { path, includes = [], order, tools, asks } = expect;
  if (path !== undefined && !isDeepStrictEqual([...report.path], path))
    problems.push(`the path is ${listed(report.path)}, expected ${listed(path)}`);
  for (const node of includes) if (!report.path.includes(node)) problems.push(`node ${node} was not entered`);
  if (order !== undefined && !isSubsequence(order, report.path))
    problems.push(`the path ${listed(report.path)} does not have ${listed(order)} in this order`);
  const made = calls.filter(({ kind }) => kind === 'tool').map(({ name }) => name);
  if (tools !== undefined && !isDeepStrictEqual(made, tools))
    problems.push(`the tool calls are ${listed(made)}, expected ${listed(tools)}`);
  return asks === undefined ? problems : [...problems, ...askProblems({ calls }, asks)];
}

/** Each question must be expected, by node or by subject, and each expected question must be asked. */
function askProblems({ calls }: Pick<RunRecord, 'calls'>, asks: readonly string[]): readonly string[] {
  const asked = calls.filter(({ question }) => question !== null);
  const isAbout = (name: string) => (call: (typeof asked)[number]) =>
    call.node === name || call.name === name || call.node.endsWith(`/${name}`);
  return [
    ...asks.filter((name) => !asked.some(isAbout(name))).map((name) => `nobody was asked about ${name}`),
    ...asked
      .filter((call) => !asks.some((name) => isAbout(name)(call)))
      .map(({ node, name }) => `a question was asked about ${name} (${node}), and none is expected`),
  ];
}

/** A JSON Schema must be satisfied. Of an object, the given fields must match; everything else must be equal. */
function outputProblems(output: Json, expected: Json): readonly string[] {
  if (isSchema(expected)) return schemaProblems(output, expected);
  return matches(output, expected) ? [] : [`the output is ${short(output)}, expected ${short(expected)}`];
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
