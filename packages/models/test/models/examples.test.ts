/** Every example runs on a real model with scripted tools: the replies come over HTTP, the tools from the script. */
import { mkdtempSync, readFileSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { worldBeside } from '../../../library/src/host/world-beside.ts';
import { scriptedPerformer } from '../../../library/src/host/scripted/performer.ts';
import type { Script } from '../../../library/src/host/scripted/script.ts';
import type { CompiledFlow, Settled } from '@sluice-internal/kernel/ir';
import { createRuntime } from '@sluice-internal/engine/worker';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Call, Clock } from '@sluice-internal/engine/ports';
import { compile, openMemory } from '@sluice-internal/library';
import { completion } from './bodies.ts';
import { json, serve } from './serve.ts';
import type { Answer } from './serve.ts';

const root = new URL('../../../../examples/', import.meta.url);
const NOTATION = /\.(flow|workflow|loop|team|staged)\.yaml$/;
/** Without the example that waits for hours, and the one that works on a repository. */
const examples = readdirSync(root).filter(
  (name) =>
    NOTATION.test(name) &&
    !['parcel.flow.yaml', 'dev-team.team.yaml'].includes(name) &&
    readdirSync(root).includes(name.replace(NOTATION, '.script.yaml')),
);

/** The input that the example prints, or any. */
function inputOf(text: string): Json {
  const [, quoted, plain] = /--input (?:'([^']*)'|"([^"]*)")/.exec(text.replaceAll(/ \\\n# +/g, ' ')) ?? [];
  const given = quoted ?? plain ?? 'a question';
  return given.startsWith('{') ? (JSON.parse(given) as Json) : given;
}

/** These examples show runs that fail: one undoes its work, one has used up its budget. */
const FAILS: ReadonlySet<string> = new Set(['saga.staged.yaml', 'stamps.flow.yaml']);

/** A scripted reply as Chat Completions. */
function overHttp(settled: Settled): Answer {
  if (!settled.ok) {
    const status = settled.error.class === 'rate_limit' ? 429 : settled.error.class === 'fatal' ? 400 : 503;
    return json(status, { error: { message: settled.error.message } });
  }
  const { text = '', toolCalls = [] } = settled.value as {
    text?: string;
    toolCalls?: { name: string; args: unknown }[];
  };
  const calls = toolCalls.map(({ name, args }, index) => ({
    id: `c${index}`,
    type: 'function',
    function: { name: name.replace(/[^\w-]/g, '_'), arguments: JSON.stringify(args ?? {}) },
  }));
  return calls.length === 0
    ? json(200, completion({ content: text }))
    : json(200, completion({ content: text, tool_calls: calls }, 'tool_calls'));
}

/** Delays of the script pass at once. */
function atOnce({ command, flow, clock }: Call): Call {
  const instant: Clock = { ...clock, sleep: async () => undefined };
  return { command, flow, idempotencyKey: '', signal: new AbortController().signal, clock: instant };
}

test.each(examples)('%s', async (name) => {
  const file = fileURLToPath(new URL(name, root));
  const script = parse(readFileSync(new URL(name.replace(NOTATION, '.script.yaml'), root), 'utf8')) as Script;
  const { flow: compiled, diagnostics } = compile(readFileSync(file, 'utf8'), { file });
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  const replies = new Map<string, Answer[]>();
  await using served = await serve((response, asked) => {
    const next = replies.get(String(asked.body['model']))?.shift() ?? json(500, {});
    return next(response, asked);
  });
  // Each agent has a model of its own name, so that the server knows whose turn it is.
  const ids = Object.keys(compiled?.agents ?? {});
  const models = Object.fromEntries(
    ids.map((id) => [id, { provider: 'openai-compatible', model: id, base_url: served.url, retries: 0 }]),
  );
  const agents = Object.fromEntries(
    Object.entries(compiled?.agents ?? {}).map(([id, agent]) => [id, { ...agent, model: id }]),
  );
  const flow = { ...compiled, agents, models: { ...compiled?.models, ...models } } as unknown as CompiledFlow;
  const workDir = mkdtempSync(join(tmpdir(), 'sluice-example-'));
  const { world } = worldBeside(undefined, {
    script: { ...script, agents: {} },
    models: {},
    toolOptions: { workDir, documentDir: fileURLToPath(root) },
  });
  const scripted = scriptedPerformer(script);
  const perform = async (call: Call): Promise<Settled> => {
    if (call.command.kind === 'model') {
      const queue = replies.get(call.command.name) ?? [];
      replies.set(call.command.name, [...queue, overHttp(await scripted.perform(atOnce(call)))]);
    }
    return world.performer.perform(call);
  };
  const engine = createRuntime({
    store: openMemory(),
    performer: { ...world.performer, perform },
    clock: world.clock,
    pickUp: false,
  });
  try {
    const report = await engine.settled(
      await engine.start(flow, { input: inputOf(readFileSync(file, 'utf8')), seed: 1 }),
    );
    // A branch that is dropped may not get as far as its request.
    expect(served.asked.length > 0).toBe(ids.length > 0);
    expect(served.asked.length).toBeLessThanOrEqual(report.usage['modelCalls'] ?? 0);
    const isSuccess = /^(PARTIAL_)?SUCCESS$/.test(report.code ?? '');
    expect([report.state, isSuccess]).toEqual(FAILS.has(name) ? ['failed', false] : ['completed', true]);
  } finally {
    await engine.close();
    await world.close();
  }
});
