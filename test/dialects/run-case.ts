/**
 * Golden trajectories. A case is a folder: a document (`flow.yaml` or `flow.json`), a script (`script.yaml`), and what is
 * expected (`expected.yaml`): either `diagnostics`, all errors in order, or what the report of the run must hold. `answers`
 * are given one after the other whenever the run waits; `events` must occur in that order, and `nodes` be acted on in that
 * order; `prompts` are what agents were told. `cancel` stops a run that waits.
 */
import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { parse } from 'yaml';
import type { Script } from '@sluice-internal/library/host';
import { compile } from '@sluice-internal/notations/driver';
import type { CompileResult } from '@sluice-internal/notations/driver';
import type { Answer, CompiledFlow } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Report } from '@sluice-internal/engine/ports';
import { stepResults } from '../../packages/engine/src/report/step-results.ts';
import { playOn, scriptedEngine } from '../support/harness.ts';
import type { Prompt } from '../support/harness.ts';

interface ExpectedDiagnostic {
  readonly code: string;
  readonly line: number;
  readonly column: number;
  readonly contains: string;
}

interface Expected extends Partial<Report> {
  readonly diagnostics?: readonly ExpectedDiagnostic[];
  /** All warnings in order, where they matter. */
  readonly warnings?: readonly ExpectedDiagnostic[];
  readonly input?: Json;
  readonly events?: readonly string[];
  readonly nodes?: readonly string[];
  readonly cancel?: boolean;
  readonly answers?: readonly (Omit<Answer, 'by'> & { readonly node: string })[];
  readonly prompts?: { readonly [agent: string]: readonly string[] };
  /** The rows of the specification that the case shows. */
  readonly shows?: readonly string[];
}

export async function runCase(folder: URL): Promise<void> {
  const expected = (parse(read(folder, 'expected.yaml')) ?? {}) as Expected;
  const result = compileCase(folder);
  compare(result, expected.diagnostics ?? [], 'error');
  if (expected.warnings !== undefined) compare(result, expected.warnings, 'warning');
  if (expected.diagnostics !== undefined) return;
  const flow = result.flow as CompiledFlow;
  const script = (existsSync(new URL('script.yaml', folder)) ? parse(read(folder, 'script.yaml')) : {}) as Script;
  const {
    diagnostics: _,
    warnings: __,
    shows: ___,
    input = 'hello',
    events = [],
    nodes = [],
    cancel = false,
    answers = [],
    prompts = {},
    results,
    ...report
  } = expected;
  const { engine, prompts: received } = scriptedEngine(script);
  const played = await playOn(engine, flow, { input, seed: 1, answers, cancel });
  expect(played.report).toMatchObject(report);
  if ('output' in report) expect(played.report.output).toEqual(report.output);
  expectInOrder(
    played.events.map(({ type }) => type),
    events,
  );
  expectInOrder(
    played.events.flatMap((event) => ('node' in event && event.node !== undefined ? [event.node] : [])),
    nodes,
  );
  for (const [agent, told] of Object.entries(prompts)) expect(messagesOf(received, agent)).toEqual(told);
  if (results !== undefined) {
    const real = stepResults(flow, played.events);
    expect(real).toMatchObject(results);
    expect(real).toHaveLength(results.length);
  }
}

/** A case is compiled once. Its result is frozen. */
export function compileCase(folder: URL): CompileResult {
  let result = compiled.get(folder.href);
  if (result === undefined) compiled.set(folder.href, (result = compileNew(folder)));
  return result;
}

const compiled = new Map<string, CompileResult>();
/** By the text of the document: many cases differ in their scripts alone. */
const compiledTexts = new Map<string, { readonly files: ReadonlyMap<string, string | null>; result: CompileResult }>();

/** A case shares the flow of another with the same document, if the files that it uses are the same too. */
function compileNew(folder: URL): CompileResult {
  const file = existsSync(new URL('flow.json', folder)) ? 'flow.json' : 'flow.yaml';
  const readText = (name: string): string | null => (existsSync(new URL(name, folder)) ? read(folder, name) : null);
  const text = read(folder, file);
  const known = compiledTexts.get(`${file}\n${text}`);
  if (known !== undefined && [...known.files].every(([name, content]) => readText(name) === content))
    return known.result;
  const files = new Map<string, string | null>();
  const noting = (name: string): string | null => {
    const content = readText(name);
    files.set(name, content);
    return content;
  };
  const result = compile(text, { file, readText: noting, hash: (each) => hash('sha256', each, 'hex') });
  compiledTexts.set(`${file}\n${text}`, { files, result });
  return result;
}

/** The user messages that each agent received. */
function messagesOf(prompts: readonly Prompt[], agent: string): readonly string[] {
  const own = prompts.filter((each) => each.agent === agent).flatMap(({ messages }) => messages);
  return own.filter(({ role }) => role === 'user').map(({ content }) => content);
}

function compare(
  { diagnostics }: CompileResult,
  expected: readonly ExpectedDiagnostic[],
  severity: 'error' | 'warning',
): void {
  const found = diagnostics
    .filter((each) => each.severity === severity)
    .map(({ code, line, column, message }) => ({ code, line, column, message }));
  expect(found).toEqual(
    expected.map(({ code, line, column, contains }) => ({
      code,
      line,
      column,
      message: expect.stringContaining(contains) as string,
    })),
  );
}

function expectInOrder(types: readonly string[], wanted: readonly string[]): void {
  let from = 0;
  for (const type of wanted) {
    const at = types.indexOf(type, from);
    expect(at, `${type} does not occur in its place among ${types.slice(from).join(', ')}`).toBeGreaterThanOrEqual(0);
    from = at + 1;
  }
}

function read(folder: URL, name: string): string {
  return readFileSync(new URL(name, folder), 'utf8');
}
