/** Images and files in the library: in the input of a run, and from the functions of tools. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { attachment, compile, createEngine, openMemory } from '@sluice-internal/library';
import { folder } from '../cli/cli.ts';
import { png } from '../../../models/test/models/png.ts';

const BASE64 = png().toString('base64');
const FLOW = `
agents: [ { id: looker, instructions: Describe it. } ]
flow:
  id: look
  entry: ask
  nodes:
    - { id: ask, type: agent, agent: looker, input: { message: "{{event.payload.question}} {{event.payload.photo}}" } }
`;

function project(): string {
  const dir = folder();
  writeFileSync(join(dir, 'car.png'), png());
  return dir;
}

describe('in a program', () => {
  const flow = () => {
    const compiled = compile(FLOW).flow;
    if (compiled === undefined) throw new Error('does not compile');
    return compiled;
  };

  test('attachment() becomes a reference; plain data of users names no file', async () => {
    const seen: string[] = [];
    const engine = createEngine({
      journal: openMemory(),
      model: ({ messages }) => (seen.push(String(messages.at(-1)?.content)), 'ok'),
      toolOptions: { documentDir: project() },
    });
    onTestFinished(() => engine.close());
    await (await engine.run(flow(), { question: 'What?', photo: attachment({ path: 'car.png' }) })).result();
    await (await engine.run(flow(), { question: 'What?', photo: { attachment: './car.png' } })).result();
    await (await engine.run(flow(), { photo: [attachment({ data: png(), mediaType: 'image/png' })] })).result();
    expect(seen[0]).toMatch(
      /\\"attachment\\":\\"sha256-[0-9a-f]{64}\\",\\"tokens\\":300,\\"mediaType\\":\\"image\/png\\"/,
    );
    expect(seen[1]).toContain('\\"attachment\\":\\"./car.png\\"');
    expect(seen[2]).toContain('sha256-');
    await expect(engine.run(flow(), { photo: attachment({ path: '../x.png' }) })).rejects.toThrow('is outside of');
  });

  test('a function of a tool attaches data', async () => {
    const { flow: compiled } = compile({
      agents: [{ id: 'a', tools: ['cam'] }],
      tools: { cam: { effect: 'read' } },
      boundary: { untrusted: 'off' },
      flow: { id: 'f', entry: 'n', nodes: [{ id: 'n', type: 'agent', agent: 'a' }] },
    });
    if (compiled === undefined) throw new Error('does not compile');
    const dir = folder();
    const engine = createEngine({
      journal: join(dir, 'j.db'),
      tools: { cam: (_, { attach }) => attach({ data: png() }) },
      model: ({ messages }) =>
        messages.some(({ role }) => role === 'tool') ? 'seen' : { text: '', toolCalls: [{ name: 'cam' }] },
    });
    const run = await engine.run(compiled, {});
    expect(await run.report()).toBeDefined();
    await run.result();
    await engine.close();
    expect(existsSync(join(dir, 'j.db.attachments'))).toBe(true);
    expect(readFileSync(join(dir, 'j.db')).includes(BASE64)).toBe(false);
  });
});
