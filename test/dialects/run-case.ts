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
import { openMemory } from '../../src/stores/memory/open.ts';
import { policyPerformer } from '../../src/effects/policy/performer.ts';
import { scriptedPerformer } from '../../src/effects/scripted/performer.ts';
import type { Script } from '../../src/effects/scripted/script.ts';
import { compile } from '../../src/compile/compile.ts';
import type { CompileResult } from '../../src/compile/compile.ts';
import type { CompiledFlow } from '../../src/ir/nodes.ts';
import type { Json } from '../../src/expr/json.ts';
import type { Answer } from '../../src/ir/events.ts';
import { createVirtualClock } from '../../src/runtime/engine/clock.ts';
import type { ChainedEvent, Report } from '../../src/runtime/engine/types.ts';
import { createRuntime } from '../../src/runtime/engine/engine.ts';
import type { Call } from '../../src/runtime/ports.ts';
import { promptOf } from '../../src/effects/prompt/prompt.ts';
import { stepResults } from '../../src/runtime/report/step-results.ts';

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
  const played = await play(flow, script, input, answers, cancel);
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
  for (const [agent, told] of Object.entries(prompts)) expect(played.prompts.get(agent)).toEqual(told);
  if (results !== undefined) {
    const real = stepResults(flow, played.events);
    expect(real).toMatchObject(results);
    expect(real).toHaveLength(results.length);
  }
}

export function compileCase(folder: URL): CompileResult {
  const file = existsSync(new URL('flow.json', folder)) ? 'flow.json' : 'flow.yaml';
  const readText = (name: string): string | null => (existsSync(new URL(name, folder)) ? read(folder, name) : null);
  return compile(read(folder, file), { file, readText, hash: (text) => hash('sha256', text, 'hex') });
}

interface Played {
  readonly report: Report;
  readonly events: readonly ChainedEvent[];
  readonly prompts: ReadonlyMap<string, readonly string[]>;
}

async function play(
  flow: CompiledFlow,
  script: Script,
  input: Json,
  answers: Expected['answers'],
  cancel: boolean,
): Promise<Played> {
  const prompts = new Map<string, string[]>();
  const performer = scriptedPerformer(script, policyPerformer());
  const engine = createRuntime({
    store: openMemory(),
    performer: { ...performer, perform: (call) => (note(prompts, call), performer.perform(call)) },
    clock: createVirtualClock(),
    pickUp: false,
  });
  try {
    const run = await engine.start(flow, { input, seed: 1 });
    let report = await engine.settled(run);
    for (const { node, ...answer } of answers ?? []) {
      expect(report.state).toBe('suspended');
      const waiting = report.waiting.find((each) => each.node === node);
      expect(waiting, `nothing waits on ${node}`).toBeDefined();
      await engine.answer(waiting?.id ?? '', { ...answer, by: 'ann' });
      report = await engine.settled(run);
    }
    if (cancel) {
      await engine.cancel(run, 'ann', 'no longer needed');
      report = await engine.settled(run);
    }
    const events: ChainedEvent[] = [];
    for await (const event of engine.events(run, { live: false })) events.push(event);
    return { report, events, prompts };
  } finally {
    await engine.close();
  }
}

function note(prompts: Map<string, string[]>, { command, flow }: Call): void {
  if (command.kind !== 'model') return;
  const said = promptOf(flow, command).filter(({ role }) => role === 'user');
  prompts.set(command.name, [...(prompts.get(command.name) ?? []), ...said.map(({ content }) => content)]);
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
