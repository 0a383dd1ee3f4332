/** A key that an MCP server or a function returns as bytes, or tells as progress, is neither stored nor shown. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { attachmentsBeside } from '@sluice-internal/store-sqlite';
import type { Event } from '@sluice-internal/library';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import { freshDir } from './call.ts';
import { mcpProgram } from './mcp-program.ts';

const KEY = 'told-secret-key-0123456789';

/** Runs an agent that calls one tool, with a store of attachments that the test reads. */
async function calling(tool: string, document: object, functions: object = {}) {
  const workDir = freshDir();
  const listening = Promise.withResolvers<void>();
  const attachments = attachmentsBeside(':memory:');
  const { flow, diagnostics } = compile({
    ...document,
    agents: [{ id: 'bot', tools: [tool] }],
    boundary: { tools: { allow: ['*'] } },
    flow: { id: 'demo', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'bot' }] },
  });
  if (flow === undefined) throw new Error(JSON.stringify(diagnostics));
  const engine = createEngine({
    journal: openMemory(),
    attachments,
    tools: functions as never,
    toolOptions: { workDir, env: { TOLD_KEY: KEY, OPENAI_API_KEY: KEY } },
    // The tool is called when the test listens.
    model: async ({ messages }) => {
      await listening.promise;
      return messages.some(({ role }) => role === 'tool')
        ? 'done'
        : { text: '', toolCalls: [{ name: tool, args: {} }] };
    },
  });
  onTestFinished(() => engine.close());
  const run = await engine.start(flow, { input: { message: 'go' } });
  const texts: string[] = [];
  const events: Event[] = [];
  for await (const event of engine.events(run, { deltas: true })) {
    listening.resolve();
    if (event.type === 'reply.streamed') texts.push(event.text);
    else events.push(event);
    if (event.type === 'run.ended') break;
  }
  const results = events.flatMap((event) => (event.type === 'effect.settled' ? [event.result] : []));
  return {
    texts: texts.join(''),
    results,
    journal: JSON.stringify(events),
    stored: await attachments.list(run),
    workDir,
  };
}

const document = {
  mcp: { s: mcpProgram('mcp-telling-server.ts', [], { TOLD_KEY: '{{env.TOLD_KEY}}' }) },
  tools: { 's.tell': { effect: 'read', mcp: 's/tell' } },
};

test('an MCP server that repeats its key in progress and as bytes', async () => {
  const { texts, results, journal, stored, workDir } = await calling('s.tell', document);
  expect(texts).toContain('with [redacted]: 1 of 2');
  const problem = 'the data contains a configured key, so it is not stored';
  const value = { content: [{ type: 'image', problem }, { mediaType: 'image/png' }, { type: 'resource', problem }] };
  expect(results.find((result) => result.ok && JSON.stringify(result.value).includes('content'))).toMatchObject({
    value,
  });
  expect(stored).toHaveLength(1);
  expect(readdirSync(join(workDir, 'attachments'))).toHaveLength(1);
  for (const shown of [texts, journal]) {
    expect(shown).not.toContain(KEY);
    expect(shown).not.toContain(Buffer.from(KEY).toString('base64').slice(0, 20));
  }
});

test('a function that attaches a key gets an error', async () => {
  const data = Buffer.concat([Buffer.from('%PDF-1.4 '), Buffer.from(KEY)]);
  const attaching = (_: unknown, { attach }: { attach: (source: object) => Promise<unknown> }) =>
    attach({ data, name: 'bill.pdf' });
  const { results, stored, journal } = await calling(
    'bill.make',
    { tools: { 'bill.make': { effect: 'read' } } },
    { 'bill.make': attaching },
  );
  const error = { type: 'AttachmentError', message: '`bill.pdf` contains a configured key' };
  expect(results).toContainEqual(
    expect.objectContaining({ ok: false, error: expect.objectContaining(error) as object }),
  );
  expect(stored).toEqual([]);
  expect(journal).not.toContain(KEY);
});
