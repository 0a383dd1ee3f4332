/** Images and files: in the input, from tools, to models that take them and to models that do not. */
import { existsSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { readAttachment } from '@sluice-internal/tools/calls';
import type { Json } from '@sluice-internal/kernel/expr';
import { attachment, compile, createEngine, openMemory } from '@sluice-internal/library';
import type { CompiledFlow } from '@sluice-internal/library';
import { attachmentTokens } from '../../../kernel/src/ir/attachment.ts';
import { folder, sluice as spawned } from '../cli/cli.ts';
import { sluice } from '../cli/in-process.ts';
import { png } from '../../../models/test/models/png.ts';
import { PROTOCOLS } from '../../../models/test/models/protocols.ts';
import type { ProtocolMock } from '../../../models/test/models/protocols.ts';
import { completion } from '../../../models/test/models/bodies.ts';
import { json, serve, text } from '../../../models/test/models/serve.ts';
import type { Served } from '../../../models/test/models/serve.ts';

const [openai, anthropic] = PROTOCOLS as [ProtocolMock, ProtocolMock];

const BASE64 = png().toString('base64');

const FLOW = `
agents: [ { id: looker, instructions: Describe it. } ]
flow:
  id: look
  entry: ask
  nodes:
    - { id: ask, type: agent, agent: looker, input: { message: "{{event.payload.question}} {{event.payload.photo}}" } }
`;

function project(files: { readonly [name: string]: string } = {}): string {
  const dir = folder({ 'look.flow.yaml': FLOW, ...files });
  writeFileSync(join(dir, 'car.png'), png());
  return dir;
}

const env = ({ url }: Served) => ({
  OPENAI_API_KEY: 'sk-test-0000001',
  ANTHROPIC_API_KEY: 'sk-test-0000002',
  OPENAI_BASE_URL: url,
  ANTHROPIC_BASE_URL: url,
  SLUICE_MODEL: '',
});

const INPUT = JSON.stringify({ question: 'What is this?', photo: { attachment: './car.png' } });
const run = (cwd: string, served: Served, model: string, ...more: string[]) =>
  sluice(['run', 'look.flow.yaml', '--model', model, '--json', '--input', INPUT, ...more], { cwd, env: env(served) });

const chatBody = (content: string | null, calls: readonly object[] = []) =>
  calls.length === 0 ? completion({ content }) : completion({ content, tool_calls: calls }, 'tool_calls');

describe('an image in the input', () => {
  test.each([
    ['openai/gpt-5-mini', openai.body({ text: 'A car.' }), { type: 'input_image' }],
    ['openai.chat/gpt-4o', JSON.stringify(chatBody('A car.')), { type: 'image_url' }],
    ['anthropic/claude-sonnet-4-5', anthropic.body({ text: 'A car.' }), { type: 'image' }],
  ])('%s gets it as an image, once', async (model, reply, part) => {
    await using served = await serve(text(200, reply));
    const cwd = project();
    const ran = await run(cwd, served, model);
    expect([ran.status, ran.stderr.includes('error')]).toEqual([0, false]);
    const sent = served.asked[0]?.body['input'] ?? served.asked[0]?.body['messages'];
    const user = (sent as { role: string; content: Json[] }[]).find(({ role }) => role === 'user');
    expect(user?.content).toHaveLength(2);
    expect(user?.content[1]).toMatchObject(part);
    expect(JSON.stringify(sent).split(BASE64)).toHaveLength(2);
    expect(JSON.stringify(user?.content[0])).not.toContain(BASE64);
  });

  test('a fork of a run without a file keeps it', async () => {
    await using served = await serve(text(200, openai.body({ text: 'A car.' })));
    await using engine = createEngine({
      journal: openMemory(),
      models: { model: 'openai/gpt-5-mini', env: env(served) },
    });
    const { flow } = compile(FLOW);
    const photo = attachment({ data: png() });
    const first = await engine.run(flow as CompiledFlow, { question: 'What is this?', photo });
    await first.result();
    const second = await engine.fork(first.id, { at: 1 });
    await second.result();
    expect(served.asked).toHaveLength(2);
    expect(JSON.stringify(served.asked[1]?.body)).toContain(BASE64);
  });

  test('the journal has a reference, the data is stored once, audited, copied and erased', async () => {
    await using served = await serve(text(200, openai.body({ text: 'A car.' })));
    const cwd = project();
    const first = JSON.parse((await run(cwd, served, 'openai/gpt-5-mini')).stdout) as { run: string };
    await run(cwd, served, 'openai/gpt-5-mini');
    const traced = await sluice(['trace', first.run, '--json', '--prompts'], { cwd });
    expect(traced.stdout).toMatch(/sha256-[0-9a-f]{64}/);
    expect(traced.stdout).not.toContain(BASE64);
    const file = join(cwd, '.sluice/sluice.db.attachments');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const count = (table: string): unknown => {
      const db = new DatabaseSync(file);
      try {
        return db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n'];
      } finally {
        db.close();
      }
    };
    expect([count('contents'), count('uses')]).toEqual([1, 2]);
    expect((await sluice(['audit', 'verify'], { cwd })).status).toBe(0);
    expect((await sluice(['backup', 'copy.db'], { cwd })).stdout).toContain('copy.db.attachments');
    const db = new DatabaseSync(file);
    db.exec(`UPDATE contents SET data = x'00'`);
    db.close();
    const audited = await sluice(['audit', 'verify'], { cwd });
    expect([audited.status, audited.stderr]).toEqual([1, expect.stringContaining('was changed')]);
    expect((await sluice(['erase', first.run], { cwd })).stdout).toContain('1 attachment');
    expect([count('contents'), count('uses')]).toEqual([1, 1]);
    expect((await sluice(['replay', first.run], { cwd })).status).toBe(0);
  });

  test('a model that takes no images: exit 2 and no request', async () => {
    await using served = await serve();
    const cwd = project();
    const refused = await run(cwd, served, 'openai/gpt-3.5-turbo');
    expect(refused.status).toBe(2);
    expect(refused.stdout + refused.stderr).toContain('attachment-not-taken');
    // A run that does not start leaves no data behind.
    const store = join(cwd, '.sluice/sluice.db.attachments');
    const kept = existsSync(store)
      ? new DatabaseSync(store).prepare('SELECT count(*) AS n FROM contents').get()?.['n']
      : 0;
    expect(kept).toBe(0);
    expect(served.asked).toEqual([]);
    const unknown = await run(project(), served, 'ollama/some-model');
    expect([unknown.status, unknown.stdout + unknown.stderr]).toEqual([2, expect.stringContaining('accepts: [image]')]);
  });

  test('with `accepts`, an unknown model gets it', async () => {
    await using served = await serve(json(200, chatBody('A car.')));
    const models = `models: { eye: { provider: local, model: own-7b, base_url: "${served.url}", accepts: [image] } }\n`;
    const cwd = project({ 'look.flow.yaml': models + FLOW.replace('id: looker,', 'id: looker, model: eye,') });
    const ran = await sluice(['run', 'look.flow.yaml', '--json', '--input', INPUT], { cwd, env: env(served) });
    expect(ran.status).toBe(0);
    expect(JSON.stringify(served.asked[0]?.body)).toContain(`data:image/png;base64,${BASE64}`);
  });

  test('only the agent whose model does not take it fails, before its request', async () => {
    await using served = await serve(json(200, chatBody('A car.')));
    const models = `models:
  eye: { provider: local, model: own-7b, base_url: "${served.url}", accepts: [image] }
  blind: { provider: local, model: own-1b, base_url: "${served.url}" }
agents: [ { id: a, model: blind }, { id: b, model: eye } ]
flow:
  id: two
  entry: first
  nodes:
    - { id: first, type: agent, agent: b, input: { photo: "{{event.payload.photo}}" }, routes: [ { to: second } ] }
    - { id: second, type: agent, agent: a, input: { photo: "{{event.payload.photo}}" } }
`;
    const cwd = project({ 'look.flow.yaml': models });
    const ran = await sluice(['run', 'look.flow.yaml', '--json', '--input', INPUT], { cwd, env: env(served) });
    const report = JSON.parse(ran.stdout) as { error: { type: string; message: string; node: string } };
    expect(report.error).toMatchObject({ type: 'AttachmentError', node: 'second' });
    expect(report.error.message).toContain('local/own-1b');
    expect(served.asked).toHaveLength(1);
  });

  test('--attach adds a file to text, in a notation whose input is text', async () => {
    await using served = await serve(text(200, openai.body({ text: 'A car.' })));
    const cwd = project({
      'w.workflow.yaml':
        'agents: [ { id: a } ]\nworkflow: { name: w, steps: [ { name: s, agent_name: a, prompt: "{{input}}" } ] }\n',
    });
    const args = ['run', 'w.workflow.yaml', '--model', 'openai/gpt-5-mini', '--input', 'What?', '--attach', 'car.png'];
    expect((await sluice(args, { cwd, env: env(served) })).status).toBe(0);
    expect(JSON.stringify(served.asked[0]?.body['input'])).toContain(BASE64);
  });

  test('a budget reserves tokens for it', async () => {
    await using served = await serve(text(200, openai.body({ text: 'A car.' })));
    const cwd = project({ 'look.flow.yaml': `budgets: { input_tokens: 2000 }\n${FLOW}` });
    writeFileSync(join(cwd, 'car.png'), png(2000, 2000));
    const report = JSON.parse((await run(cwd, served, 'openai/gpt-5-mini')).stdout) as { code: string };
    expect(report.code).toBe('BUDGET_EXHAUSTED');
    expect(served.asked).toEqual([]);
    expect(attachmentTokens(`\\"attachment\\":\\"sha256-${'a'.repeat(64)}\\",\\"tokens\\":321,`)).toBe(321);
  });

  test('a document that protects personal data must allow attachments', async () => {
    await using served = await serve(text(200, openai.body({ text: 'A car.' })));
    const refused = await run(
      project({ 'look.flow.yaml': `pii: { mode: tokenize }\n${FLOW}` }),
      served,
      'openai/gpt-5',
    );
    expect(refused.stdout + refused.stderr).toContain('pii.attachments');
    expect(served.asked).toEqual([]);
    const cwd = project({ 'look.flow.yaml': `pii: { mode: tokenize, attachments: true }\n${FLOW}` });
    expect((await run(cwd, served, 'openai/gpt-5')).status).toBe(0);
    expect(JSON.stringify(served.asked[0]?.body)).toContain(BASE64);
  });
});

describe('attacks on the input', () => {
  const add = (dir: string, source: Parameters<typeof readAttachment>[0]) =>
    readAttachment(source, 'input', { folders: [dir] }).then(
      () => 'added',
      (error: Error) => error.message,
    );

  test('paths that leave the folder, links, folders and missing files', async () => {
    const dir = project();
    symlinkSync('/etc/hostname', join(dir, 'link.png'));
    symlinkSync('/etc', join(dir, 'etc'));
    expect(await add(dir, { path: 'car.png' })).toBe('added');
    expect(await add(dir, { path: join(dir, 'car.png') })).toBe('added');
    for (const path of ['../car.png', '/etc/hostname', 'a/../../car.png', '.'])
      expect(await add(dir, { path })).toContain('is outside of');
    for (const path of ['link.png', 'etc/hostname']) expect(await add(dir, { path })).toMatch(/link|cannot be read/);
    expect(await add(dir, { path: 'nothing.png' })).toContain('there is no file');
  });

  test('the content decides: text, a wrong type, empty, too large, an image bomb', async () => {
    const dir = project({ '.env': 'SECRET=1', 'fake.png': 'not an image' });
    expect(await add(dir, { path: '.env' })).toContain('by its content');
    expect(await add(dir, { path: 'fake.png' })).toContain('by its content');
    expect(await add(dir, { data: png(), mediaType: 'image/jpeg' })).toContain('its content is image/png');
    expect(await add(dir, { data: Buffer.alloc(0) })).toContain('empty');
    expect(await add(dir, { data: Buffer.concat([png(), Buffer.alloc(21 * 1024 * 1024)]) })).toContain('at most');
    expect(await add(dir, { data: png(60_000, 60_000) })).toContain('pixels');
    expect(await add(dir, { data: png(0, 1) })).toContain('pixels');
  });

  test('URLs of private hosts are not fetched; public rules hold for redirects', async () => {
    await using served = await serve((response) => void response.writeHead(200).end(png()));
    expect(await add('.', { url: `${served.url}/x.png` })).toContain('not public');
    expect(await add('.', { url: 'http://localhost/x.png' })).toContain('not public');
    expect(await add('.', { url: 'http://169.254.169.254/latest' })).toContain('not public');
    expect(served.asked).toEqual([]);
    const allowed = { folders: ['.'], http: { privateHosts: ['127.0.0.1'] } };
    const { ref } = await readAttachment({ url: `${served.url}/car.png?x=1` }, 'input', allowed);
    expect(ref).toMatchObject({ mediaType: 'image/png', name: 'car.png', bytes: 64 });
    served.answer = (response) => void response.writeHead(302, { location: 'http://10.0.0.1/' }).end();
    await expect(readAttachment({ url: served.url }, 'input', allowed)).rejects.toThrow('not public');
  });

  test('other schemes and broken data URLs are errors with the place', async () => {
    await using served = await serve();
    const cwd = project();
    const ask = (written: string) =>
      sluice(
        [
          'run',
          'look.flow.yaml',
          '--model',
          'openai/gpt-5',
          '--input',
          JSON.stringify({ photo: { attachment: written } }),
        ],
        {
          cwd,
          env: env(served),
        },
      );
    for (const written of [
      'file:///etc/passwd',
      'data:image/png,xx',
      'data:text/html;base64,PGI+',
      '../../etc/passwd',
    ]) {
      const { status, stderr } = await ask(written);
      expect([status, stderr]).toEqual([2, expect.stringContaining('bad-attachment')]);
    }
    expect(served.asked).toEqual([]);
  });

  test('the help fits the source', async () => {
    await using served = await serve();
    const ask = (...more: string[]) =>
      sluice(['run', 'look.flow.yaml', '--model', 'openai/gpt-5', ...more], { cwd: project(), env: env(served) });
    expect((await ask('--attach', 'no.png')).stderr).toContain('Paths of `--attach` start at the current folder');
    expect((await ask('--attach', 'http://127.0.0.1/x.png')).stderr).toContain('--allow-host');
    expect((await ask('--input', '{"photo":{"attachment":"no.png"}}')).stderr).toContain('folder of the document');
  });

  test('a reference of another run, or in the reply of a model, shows nothing', async () => {
    await using served = await serve(text(200, openai.body({ text: 'A car.' })));
    const cwd = project();
    const { output } = JSON.parse((await run(cwd, served, 'openai/gpt-5')).stdout) as { output: string };
    expect(output).toBe('A car.');
    const [id] = /sha256-[0-9a-f]{64}/.exec(JSON.stringify(served.asked[0]?.body)) ?? [''];
    const args = ['--model', 'openai/gpt-5', '--input', JSON.stringify({ question: id, photo: '' })];
    expect((await sluice(['run', 'look.flow.yaml', ...args], { cwd, env: env(served) })).status).toBe(0);
    expect(JSON.stringify(served.asked[1]?.body)).toContain(id);
    expect(JSON.stringify(served.asked[1]?.body)).not.toContain(BASE64);
  });
});

describe('an image from a tool', () => {
  const MODULE = `export const shoot = (args, { attach }) => attach({ data: Buffer.from('${BASE64}', 'base64'), name: 'shot.png' });
export const steal = ({ path }, { attach }) => attach({ path });
`;
  const document = (url: string, model: object) => `
models: { eye: ${JSON.stringify({ base_url: url, ...model })} }
agents: [ { id: looker, model: eye, tools: [camera.shoot, camera.steal] } ]
tools:
  camera.shoot: { effect: read, module: ./camera.mjs#shoot }
  camera.steal: { effect: read, module: ./camera.mjs#steal, input: { type: object, properties: { path: { type: string } } } }
boundary: { untrusted: off }
flow:
  id: look
  entry: ask
  nodes: [ { id: ask, type: agent, agent: looker } ]
`;
  const go = async (served: Served, model: object) => {
    const cwd = folder({ 'look.flow.yaml': document(served.url, model), 'camera.mjs': MODULE });
    // A module of the user needs a process.
    const ran = await spawned(['run', 'look.flow.yaml', '--json', '--input', 'look'], { cwd, env: env(served) });
    return { cwd, report: JSON.parse(ran.stdout) as { code: string } };
  };
  const twice = (first: string, second: string) => {
    let count = 0;
    return (response: Parameters<ReturnType<typeof text>>[0], asked: Served['asked'][number]) =>
      text(200, count++ === 0 ? first : second)(response, asked);
  };
  const call = { id: 'c1', name: 'camera_shoot', args: '{}' };
  const chatCall = { id: 'c1', type: 'function', function: { name: 'camera_shoot', arguments: '{}' } };

  test('Anthropic and OpenAI get it inside the result of the tool', async () => {
    await using served = await serve(
      twice(anthropic.body({ text: '', call, stop: 'tool_use' }), anthropic.body({ text: 'Seen.' })),
    );
    const { report } = await go(served, { provider: 'anthropic', model: 'claude-sonnet-4-5' });
    expect(report.code).toBe('SUCCESS');
    const messages = served.asked[1]?.body['messages'] as { content: { type: string; content?: Json[] }[] }[];
    const result = messages.at(-1)?.content.find(({ type }) => type === 'tool_result');
    expect(result?.content).toMatchObject([{ type: 'text' }, { type: 'image', source: { data: BASE64 } }]);

    served.answer = twice(openai.body({ text: '', call }), openai.body({ text: 'Seen.' }));
    await go(served, { provider: 'openai', model: 'gpt-5' });
    const items = served.asked[3]?.body['input'] as { type: string; output?: Json[] }[];
    const output = items.find(({ type }) => type === 'function_call_output')?.output;
    expect(output).toMatchObject([{ type: 'input_text' }, { type: 'input_image' }]);
  });

  test('Chat Completions get it in a message after the results, and never as text', async () => {
    await using served = await serve(
      twice(JSON.stringify(chatBody(null, [chatCall])), JSON.stringify(chatBody('Seen.'))),
    );
    const { report } = await go(served, { provider: 'openai.chat', model: 'gpt-4o' });
    expect(report.code).toBe('SUCCESS');
    const messages = served.asked[1]?.body['messages'] as { role: string; content: Json }[];
    expect(messages.slice(-2)).toMatchObject([
      { role: 'tool', content: expect.not.stringContaining(BASE64) as string },
      { role: 'user', content: [{ type: 'text' }, { type: 'image_url' }] },
    ]);
  });

  test('a model that takes no images gets a note with type and hash', async () => {
    await using served = await serve(
      twice(JSON.stringify(chatBody(null, [chatCall])), JSON.stringify(chatBody('I cannot see it.'))),
    );
    const { report } = await go(served, { provider: 'local', model: 'own-1b' });
    expect(report.code).toBe('SUCCESS');
    const messages = served.asked[1]?.body['messages'] as { role: string; content: string }[];
    expect(messages.at(-1)).toMatchObject({ role: 'tool' });
    expect(messages.at(-1)?.content).toMatch(/sha256-[0-9a-f]{64}.*image\/png/s);
    expect(JSON.stringify(messages)).not.toContain(BASE64);
  });

  test('a path that a model names through a tool stays in the work directory', async () => {
    const steal = { ...chatCall, function: { name: 'camera_steal', arguments: '{"path":"../../../look.flow.yaml"}' } };
    await using served = await serve(
      twice(JSON.stringify(chatBody(null, [steal])), JSON.stringify(chatBody('Refused.'))),
    );
    await go(served, { provider: 'openai.chat', model: 'gpt-4o' });
    const messages = served.asked[1]?.body['messages'] as { role: string; content: string }[];
    expect(messages.at(-1)?.content).toContain('is outside of');
  });
});
