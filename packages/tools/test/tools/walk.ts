/** One run with a bad call in it, and another one after it on the same engine, through the library's own doors. */
import { expect, onTestFinished } from 'vitest';
import { openMemory } from '@sluice-internal/engine/memory';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Failure } from '@sluice-internal/kernel/ir';
import type { Report } from '@sluice-internal/engine/ports';
import type { ToolFunction } from '@sluice-internal/tools/calls';
import { compile } from '../../../library/src/compile.ts';
import { createEngine } from '@sluice-internal/library/compose';
import type { Engine } from '@sluice-internal/library/compose';
import { freshDir } from './call.ts';

export interface Walked {
  readonly report: Report;
  /** Of tool calls, as they stand on the journal. */
  readonly failures: readonly Failure[];
  readonly values: readonly Json[];
  /** What was written down for the agent to read. */
  readonly told: string;
}

export interface Scene {
  readonly tools: object;
  /** What the agent calls, one after the other, before it says that it is done. */
  readonly calls: readonly { readonly name: string; readonly args?: unknown }[];
  readonly functions?: { readonly [name: string]: () => unknown };
  readonly sections?: object;
}

/** The run, after it was seen that the engine still performs another one. */
export async function walk({ tools, calls, functions = {}, sections = {} }: Scene): Promise<Walked> {
  const replies = calls.map((call) => ({ text: '', tools: [{ args: {}, ...call }] }));
  const engine = createEngine({
    journal: openMemory(),
    tools: { 'fine.call': () => 'fine', ...(functions as { [name: string]: ToolFunction }) },
    toolOptions: { workDir: freshDir(), documentDir: import.meta.dirname },
    script: {
      agents: {
        bot: [...(replies as never[]), 'done'],
        other: [{ text: '', tools: [{ name: 'fine.call', args: {} }] }, 'ok'],
      },
    },
  });
  onTestFinished(() => engine.close());
  const walked = await runOn(engine, 'bot', tools, sections);
  const next = await runOn(engine, 'other', { 'fine.call': { effect: 'read' } }, {});
  expect([next.report.code, next.report.output, next.values]).toEqual(['SUCCESS', 'ok', ['fine']]);
  return walked;
}

async function runOn(engine: Engine, agent: string, tools: object, sections: object): Promise<Walked> {
  const { flow, diagnostics } = compile({
    ...sections,
    tools,
    agents: [{ id: agent, tools: Object.keys(tools) }],
    boundary: { tools: { allow: ['*'] } },
    flow: { id: 'demo', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent }] },
  });
  if (flow === undefined) throw new Error(JSON.stringify(diagnostics));
  const run = await engine.start(flow, { input: { message: 'go' } });
  const report = await engine.settled(run);
  const [failures, values, keys]: [Failure[], Json[], Set<string>] = [[], [], new Set()];
  let told = '';
  for await (const event of engine.events(run, { live: false })) {
    if (event.type === 'effect.requested' && event.kind === 'tool') keys.add(event.key);
    if (event.type === 'effect.settled' && keys.has(event.key))
      if (event.result.ok) values.push(event.result.value);
      else failures.push(event.result.error);
    if (event.type === 'slots.written') told += JSON.stringify(event.writes);
  }
  return { report, failures, values, told };
}
