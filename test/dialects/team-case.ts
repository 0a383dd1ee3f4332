/**
 * Golden trajectories of teams. As the other notations' (run-case.ts), and: plugins and checks really work, in a fresh work
 * directory that `files` seeds; `corrections` are the kinds of corrections that were given, all of them in order; `marks`
 * are other things worth an event; `told` says for each call of an agent what its prompt holds, and with a `!` what it does
 * not. Every run is decided again from its journal, and must come to the same.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { parse } from 'yaml';
import { openMemory } from '@sluice-internal/engine/memory';
import type { Script } from '@sluice-internal/library/host';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { replay } from '@sluice-internal/engine/audit';
import { createVirtualClock } from '@sluice-internal/engine/ports';
import type { ChainedEvent, Performer, Report } from '@sluice-internal/engine/ports';
import { createRuntime } from '@sluice-internal/engine/worker';
import { promptOf, promptText } from '@sluice-internal/platform';
import { compileCase } from './run-case.ts';
import { world } from './team-world.ts';

interface ExpectedDiagnostic {
  readonly severity?: 'error' | 'warning';
  readonly code: string;
  readonly line: number;
  readonly contains: string;
}

interface Answered {
  readonly node: string;
  readonly choice: string;
  readonly text?: string;
  readonly edit?: Json;
}
interface Expected extends Partial<Report> {
  readonly diagnostics?: readonly ExpectedDiagnostic[];
  readonly warnings?: readonly ExpectedDiagnostic[];
  readonly input?: Json;
  readonly files?: { readonly [path: string]: string };
  readonly answers?: readonly Answered[];
  readonly corrections?: readonly string[];
  readonly marks?: readonly string[];
  readonly trips?: readonly string[];
  readonly told?: { readonly [agent: string]: readonly (string | readonly string[] | null)[] };
  /** The rows of the specification that the case shows. */
  readonly shows?: readonly string[];
}

export async function runTeamCase(folder: URL): Promise<void> {
  const expected = (parse(readFileSync(new URL('expected.yaml', folder), 'utf8')) ?? {}) as Expected;
  const result = compileCase(folder);
  const {
    diagnostics,
    warnings,
    input = 'Do the task.',
    files = {},
    answers = [],
    corrections,
    marks,
    trips,
    told = {},
    shows: _,
    ...report
  } = expected;
  const severity = diagnostics === undefined ? 'warning' : 'error';
  expect(
    result.diagnostics.map(({ severity: how, code, line, message }) => ({ severity: how, code, line, message })),
  ).toEqual(
    (diagnostics ?? warnings ?? []).map((each) => ({
      severity: each.severity ?? severity,
      code: each.code,
      line: each.line,
      message: expect.stringContaining(each.contains) as string,
    })),
  );
  if (diagnostics !== undefined) return;
  const flow = result.flow as CompiledFlow;
  const script = parse(readFileSync(new URL('script.yaml', folder), 'utf8')) as Script;
  const played = await play(flow, script, input, files, answers);
  expect(played.report).toMatchObject(report);
  for (const key of ['output', 'path'] as const) if (key in report) expect(played.report[key]).toEqual(report[key]);
  const origins = originsOf(flow, played.events);
  if (corrections !== undefined)
    expect(origins.filter((each) => each.startsWith('correction:'))).toEqual(
      corrections.map((each) => `correction:${each}`),
    );
  if (marks !== undefined)
    expect(origins.filter((each) => each.includes(':') && !each.startsWith('correction:'))).toEqual(marks);
  if (trips !== undefined)
    expect(
      played.events.flatMap((event) => (event.type === 'meter.tripped' ? [flow.meters[event.meter]?.label] : [])),
    ).toEqual(trips);
  for (const [agent, calls] of Object.entries(told)) expectTold(agent, played.prompts.get(agent) ?? [], calls);
}

function expectTold(agent: string, prompts: readonly string[], calls: NonNullable<Expected['told']>[string]): void {
  expect(prompts.length, `calls of ${agent}`).toBe(calls.length);
  for (const [index, wanted] of calls.entries()) {
    for (const part of wanted === null ? [] : typeof wanted === 'string' ? [wanted] : wanted) {
      if (part.startsWith('!')) expect(prompts[index], `call ${index + 1} of ${agent}`).not.toContain(part.slice(1));
      else expect(prompts[index], `call ${index + 1} of ${agent}`).toContain(part);
    }
  }
}

/** Where the acts of a run come from, for those that have a name of their own. */
function originsOf(flow: CompiledFlow, events: readonly ChainedEvent[]): string[] {
  return events.flatMap((event) =>
    event.type === 'slots.written' && flow.nodes[event.node]?.op === 'let'
      ? [flow.nodes[event.node]?.label.name ?? '']
      : [],
  );
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
  files: NonNullable<Expected['files']>,
  answers: readonly Answered[],
): Promise<Played> {
  const workDir = mkdtempSync(join(tmpdir(), 'sluice-team-'));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(workDir, path)), { recursive: true });
    writeFileSync(join(workDir, path), content);
  }
  const prompts = new Map<string, string[]>();
  const store = openMemory();
  const engine = createRuntime({
    store: { ...store, close: () => Promise.resolve() },
    performer: noting(prompts, world(script, workDir)),
    clock: createVirtualClock(),
    pickUp: false,
  });
  try {
    const run = await engine.start(flow, { input, seed: 1 });
    let report = await engine.settled(run);
    for (const { node, ...answer } of answers) {
      const waiting = report.waiting.find((each) => each.node === node);
      expect(
        waiting,
        `nothing waits on ${node}, only on ${report.waiting.map((each) => each.node).join(', ')}`,
      ).toBeDefined();
      await engine.answer(waiting?.id ?? '', { ...answer, by: 'ann' });
      report = await engine.settled(run);
    }
    const events: ChainedEvent[] = [];
    for await (const event of engine.events(run, { live: false })) events.push(event);
    expect(await replay(store.journal, run)).toMatchObject({ agrees: true });
    return { report, events, prompts };
  } finally {
    await engine.close();
    rmSync(workDir, { recursive: true, force: true });
  }
}

function noting(prompts: Map<string, string[]>, performer: Performer): Performer {
  return {
    ...performer,
    perform: (call) => {
      const { kind, name } = call.command;
      if (kind === 'model')
        prompts.set(name, [...(prompts.get(name) ?? []), promptText(promptOf(call.flow, call.command))]);
      return performer.perform(call);
    },
  };
}
