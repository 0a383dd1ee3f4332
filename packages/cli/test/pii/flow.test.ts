/** Personal data in a run: tokens in the journal, values only for trusted tools and agents, and nothing left after an erasure. */
import { randomBytes } from 'node:crypto';
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { bin, folder } from '../cli/cli.ts';
import { sluice } from '../cli/in-process.ts';

const MODULE = `import { appendFileSync } from 'node:fs';
export const look = (args) => (appendFileSync('seen.txt', JSON.stringify(args) + '\\n'), { owner: 'bob@corp.example', card: 4111111111111111, args });
export const fail = () => { throw new Error('no such user: eve@corp.example'); };
`;
const FLOW = `pii: { trusted: [crm.save], custom: [ { name: policy, pattern: "POL-[0-9]{6}" } ] }
tools:
  crm.look: { effect: read, module: ./crm.mjs#look }
  crm.save: { effect: write, module: ./crm.mjs#look }
agents: [ { id: a } ]
flow:
  id: f
  entry: think
  nodes:
    - { id: think, type: agent, agent: a, input: { user_message: "{{event.payload.message}}" }, routes: [ { to: look } ] }
    - { id: look, type: tool, tool: crm.look, params: { q: "{{event.payload.message}}" }, routes: [ { to: gate } ] }
    - { id: gate, type: approval, message: "Save {{think.output}}?", choices: [approve, reject], routes: [ { to: save } ] }
    - { id: save, type: tool, tool: crm.save, params: { mail: "{{event.payload.email}}", note: "{{think.output}}" } }
`;
const SCRIPT = 'agents: { a: [ { text: "Noted [PII_EMAIL_001] and 078-05-1123" } ] }\n';
const INPUT = {
  message:
    'I am ann@x.example, [PII_SSN_001], SSN 078-05-1123, POL-123456, card 4012 8888 8888 1881, call +1 415 555 0132',
  email: 'ann@x.example',
};
const ORIGINALS = [
  'ann@x.example',
  '078-05-1123',
  'POL-123456',
  '4012 8888',
  '555 0132',
  'bob@corp',
  '4111111111111111',
];

const project = (files: { readonly [path: string]: string } = {}): string =>
  folder({ 'crm.mjs': MODULE, 'f.yaml': FLOW, 's.yaml': SCRIPT, ...files });

function filesUnder(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => join(dir, name))
    .filter((path) => statSync(path).isFile());
}

function leaksIn(cwd: string): string[] {
  return filesUnder(join(cwd, '.sluice')).flatMap((path) => {
    const text = readFileSync(path).toString('latin1');
    return ORIGINALS.filter((value) => text.includes(value)).map((value) => `${value} in ${path}`);
  });
}

const start = (cwd: string, run = 'r1') =>
  sluice(['run', 'f.yaml', '--script', 's.yaml', '--run', run, '--input', JSON.stringify(INPUT), '--json'], { cwd });

test('L10: agents and untrusted tools see tokens, a trusted tool the values, and the journal neither', async () => {
  const cwd = project();
  const first = await start(cwd);
  expect(first.status).toBe(3);
  expect(first.stderr).toContain('a key for personal data was made');
  const { waiting } = JSON.parse(first.stdout) as { waiting: { id: string; message: string }[] };
  expect(waiting[0]?.message).toBe('Save Noted [PII_EMAIL_001] and [PII_SSN_001]?');
  const answer = ['answer', waiting[0]?.id ?? '', 'approve', '--as', 'bo', '--script', 's.yaml', '--json'];
  const second = await sluice(answer, { cwd });
  expect(second.status, second.stderr).toBe(0);
  const [look, save] = readFileSync(join(cwd, 'seen.txt'), 'utf8').trim().split('\n');
  // The text of the user that looks like a token is a value of its own.
  expect(look).toBe(
    '{"q":"I am [PII_EMAIL_001], [PII_TEXT_001], SSN [PII_SSN_001], [PII_POLICY_001], card [PII_CARD_001], call [PII_PHONE_001]"}',
  );
  expect(save).toBe('{"mail":"ann@x.example","note":"Noted ann@x.example and 078-05-1123"}');
  expect(JSON.parse(second.stdout)).toMatchObject({
    output: { owner: '[PII_EMAIL_002]', card: '[PII_CARD_002]', args: { mail: '[PII_EMAIL_001]' } },
  });
  expect(leaksIn(cwd)).toEqual([]);
  expect(statSync(join(cwd, '.sluice/pii.key')).mode & 0o777).toBe(0o600);
  expect((await sluice(['trace', 'r1', '--json', '--prompts'], { cwd })).stdout).not.toContain('ann@x');
  // Everything that leaves the database: traces, the export, the heads and a backup.
  const outputs = [
    ['trace', 'r1', '--format', 'art', '--json'],
    ['trace', 'r1', '--format', 'otel', '--json'],
    ['explain', 'r1'],
    ['show', 'r1', '--json'],
    ['logs', 'r1'],
    ['audit', 'export', 'r1', '--out', '.sluice/r1.json'],
    ['audit', 'heads', '--out', '.sluice/heads.json'],
    ['backup', '.sluice/copy.db'],
  ];
  for (const args of outputs) {
    const { status, stdout, stderr } = await sluice(args, { cwd });
    expect([args, status]).toEqual([args, 0]);
    expect(ORIGINALS.filter((value) => (stdout + stderr).includes(value))).toEqual([]);
  }
  expect(leaksIn(cwd)).toEqual([]);
});

test.each([
  ['loop', 'loop: { id: l, agent: a }\nbudgets: { tool_calls: 5, model_calls: 5 }\n'],
  ['flow', 'flow: { id: f, entry: n, nodes: [ { id: n, type: agent, agent: a } ] }\n'],
])('a trusted tool with an input schema that an agent of a %s calls receives the values', async (_, notation) => {
  const input = 'input: { type: object, properties: { mail: { type: string } }, required: [ mail ] }';
  const cwd = project({
    'f.yaml': `pii: { trusted: [crm.save], custom: [ { name: policy, pattern: "POL-[0-9]{6}" } ] }
tools:
  crm.save: { effect: write, ${input}, module: ./crm.mjs#look }
  crm.look: { effect: read, ${input}, module: ./crm.mjs#look }
agents: [ { id: a, tools: [ crm.save, crm.look ] } ]
boundary: { tools: { allow: [ "*" ] } }
${notation}`,
    's.yaml': `agents:
  a:
    - { tools: [ { name: crm.save, args: { mail: "[PII_EMAIL_001]" } } ], text: "" }
    - { tools: [ { name: crm.look, args: { mail: "[PII_EMAIL_001]" } } ], text: "" }
    - Saved.
`,
  });
  const { status, stdout, stderr } = await start(cwd);
  expect(status, stdout + stderr).toBe(0);
  expect(readFileSync(join(cwd, 'seen.txt'), 'utf8')).toBe('{"mail":"ann@x.example"}\n{"mail":"[PII_EMAIL_001]"}\n');
  expect(stdout).not.toContain('PII_TEXT_002');
  expect(leaksIn(cwd)).toEqual([]);
});

test('an edit may repeat the tokens of its question, and no others', async () => {
  const cwd = project({
    'f.yaml': `pii: { trusted: [crm.save], custom: [ { name: policy, pattern: "POL-[0-9]{6}" } ] }
tools:
  crm.save: { effect: write, approval: always, input: { type: object, properties: { mail: { type: string } } }, module: ./crm.mjs#look }
agents: [ { id: a, tools: [ crm.save ] } ]
boundary: { tools: { allow: [ "*" ] } }
flow: { id: f, entry: n, nodes: [ { id: n, type: agent, agent: a } ] }
`,
    's.yaml':
      'agents: { a: [ { tools: [ { name: crm.save, args: { mail: "[PII_EMAIL_001]" } } ], text: "" }, Saved. ] }\n',
  });
  const { waiting } = JSON.parse((await start(cwd)).stdout) as { waiting: { id: string }[] };
  const edit = JSON.stringify({ mail: 'to [PII_EMAIL_001], not [PII_CARD_001]' });
  const answer = ['answer', waiting[0]?.id ?? '', 'edit', '--edit', edit, '--as', 'bo', '--script', 's.yaml', '--json'];
  const { status, stderr } = await sluice(answer, { cwd });
  expect(status, stderr).toBe(0);
  expect(readFileSync(join(cwd, 'seen.txt'), 'utf8')).toBe('{"mail":"to ann@x.example, not [PII_CARD_001]"}\n');
  expect(leaksIn(cwd)).toEqual([]);
});

test('after `erase` no value can be restored, and the chain still verifies', async () => {
  const cwd = project();
  const { waiting } = JSON.parse((await start(cwd)).stdout) as { waiting: { id: string }[] };
  const begun = await sluice(['erase', 'r', '--json'], { cwd });
  expect([begun.status, begun.stderr]).toEqual([1, expect.stringContaining('Did you mean `r1`?')]);
  const erased = await sluice(['erase', 'r1', '--json'], { cwd });
  expect(JSON.parse(erased.stdout)).toEqual({ run: 'r1', erased: 8 });
  expect((await sluice(['audit', 'verify'], { cwd })).status).toBe(0);
  const ended = await sluice(
    ['answer', waiting[0]?.id ?? '', 'approve', '--as', 'bo', '--script', 's.yaml', '--json'],
    { cwd },
  );
  expect(JSON.parse(ended.stdout)).toMatchObject({ state: 'failed', error: { type: 'UnknownTokenError' } });
  expect((await sluice(['erase', 'r1'], { cwd })).stdout).toContain('has no personal data');
  expect((await sluice(['erase', 'nope'], { cwd })).status).toBe(1);
});

test('after kill -9 at random moments no value is anywhere', { timeout: 60_000 }, async () => {
  const cwd = project();
  for (let life = 0; life < 6; life++) {
    const args = [bin, 'run', 'f.yaml', '--script', 's.yaml', '--run', `k${life}`, '--input', JSON.stringify(INPUT)];
    const child = spawn(process.execPath, args, { cwd, stdio: 'ignore' });
    // The command may end before it is killed.
    const closed = new Promise((resolve) => child.once('close', resolve));
    await new Promise((resolve) => setTimeout(resolve, 100 + Math.random() * 500));
    child.kill('SIGKILL');
    await closed;
  }
  const ended = await start(cwd, 'last');
  expect([0, 3]).toContain(ended.status);
  expect(leaksIn(cwd)).toEqual([]);
});

test('a write-ahead log that a killed process left holds the run and no value', { timeout: 120_000 }, async () => {
  const flow = FLOW.replace('agents: [ { id: a } ]', 'agents: [ { id: a }, { id: slow } ]').replace(
    '- { id: gate, type: approval, message: "Save {{think.output}}?", choices: [approve, reject],',
    '- { id: gate, type: agent, agent: slow, input: { user_message: "{{look.result}}" },',
  );
  const script = `clock: real\n${SCRIPT.replace(' }\n', ', slow: [ { delayMs: 3600000, text: x } ] }\n')}`;
  const cwd = project({ 'f.yaml': flow, 's.yaml': script });
  const args = [bin, 'run', 'f.yaml', '--script', 's.yaml', '--run', 'k', '--input', JSON.stringify(INPUT)];
  const child = spawn(process.execPath, args, { cwd, stdio: 'ignore' });
  const closed = new Promise((resolve) => child.once('close', resolve));
  onTestFinished(() => void child.kill('SIGKILL'));
  // The slow agent never answers, so the process is in the middle of the run when it is killed.
  const isAsked = async (): Promise<boolean> => {
    const { status, stdout } = await sluice(['trace', 'k', '--json'], { cwd });
    return status === 0 && /"type": "effect\.requested"[^}]*"name": "slow"/s.test(stdout);
  };
  await expect.poll(isAsked, { timeout: 100_000, interval: 100 }).toBe(true);
  child.kill('SIGKILL');
  await closed;
  const log = readFileSync(join(cwd, '.sluice/sluice.db-wal'));
  expect(log.length).toBeGreaterThan(0);
  expect(log.toString('latin1')).toContain('[PII_EMAIL_001]');
  expect(leaksIn(cwd)).toEqual([]);
  expect((await sluice(['audit', 'verify'], { cwd })).status).toBe(0);
  expect(leaksIn(cwd)).toEqual([]);
});

describe('what enters the journal in another way', () => {
  test('an error of a tool', async () => {
    const flow =
      'pii: {}\ntools: { t: { effect: read, module: ./crm.mjs#fail } }\nflow: { id: f, entry: n, nodes: [ { id: n, type: tool, tool: t } ] }\n';
    const cwd = project({ 'f.yaml': flow });
    const { stdout } = await sluice(['run', 'f.yaml', '--json'], { cwd });
    expect(JSON.parse(stdout)).toMatchObject({ error: { message: expect.stringContaining('[PII_EMAIL_001]') } });
    expect(stdout).not.toContain('eve@');
  });

  test('the reason of a cancellation; without one no key is needed', async () => {
    const flow = 'pii: {}\nflow: { id: f, entry: n, nodes: [ { id: n, type: approval, message: "Go?" } ] }\n';
    const cwd = project({ 'f.yaml': flow });
    for (const run of ['r1', 'r2']) await sluice(['run', 'f.yaml', '--run', run], { cwd });
    await sluice(['cancel', 'r1', '--why', 'ann@x.example withdrew'], { cwd });
    const { stdout } = await sluice(['trace', 'r1', '--json'], { cwd });
    expect(stdout).toContain('[PII_EMAIL_001] withdrew');
    expect(leaksIn(cwd)).toEqual([]);
    const otherKey = { SLUICE_PII_KEY: randomBytes(32).toString('base64') };
    await sluice(['cancel', 'r2'], { cwd, env: otherKey });
    expect(JSON.parse((await sluice(['show', 'r2', '--json'], { cwd })).stdout)).toMatchObject({ code: 'USER_CANCEL' });
  });

  test('a key of an object', async () => {
    const flow =
      'pii: {}\nflow: { id: f, entry: n, nodes: [ { id: n, type: set, values: { all: "{{event.payload}}" } } ] }\n';
    const cwd = project({ 'f.yaml': flow });
    const { stdout } = await sluice(['run', 'f.yaml', '--input', '{"ann@x.example": 4111111111111111}', '--json'], {
      cwd,
    });
    expect(stdout).toContain('[PII_EMAIL_001]');
    expect(leaksIn(cwd)).toEqual([]);
  });
});

describe('the document', () => {
  const check = async (pii: string) => {
    const cwd = project({ 'f.yaml': FLOW.replace(/^pii:.*\n/, `pii: ${pii}\n`) });
    return JSON.parse((await sluice(['check', 'f.yaml', '--json'], { cwd })).stdout) as {
      diagnostics: { code: string; line: number; column: number; help?: string }[];
    };
  };

  test.each([
    ['{ trusted: [crm.sav] }', 'unknown-tool', 'Did you mean `crm.save`?'],
    ['{ types: [snn] }', 'bad-value', undefined],
    ['{ custom: [ { name: p, pattern: "(?=x)" } ] }', 'bad-regex', undefined],
    ['{ custom: [ { name: "a-b", pattern: x } ] }', 'bad-value', undefined],
    ['{ custom: [ { name: a_b, pattern: x }, { name: A_B, pattern: y } ] }', 'duplicate-id', 'Rename it.'],
    ['{ custom: [ { name: Card, pattern: x } ] }', 'duplicate-id', 'Rename it.'],
    ['{ mod: block }', 'unknown-key', undefined],
  ])('%s is refused', async (pii, code, help) => {
    const { diagnostics } = await check(pii);
    expect(diagnostics.map((each) => each.code)).toEqual([code]);
    expect(diagnostics[0]).toMatchObject({ line: 1, ...(help === undefined ? {} : { help }) });
  });

  test('`mode: block` refuses the input, and nothing is started', async () => {
    const cwd = project({ 'f.yaml': FLOW.replace('trusted: [crm.save]', 'mode: block') });
    const { status, stderr } = await start(cwd);
    expect([status, stderr]).toEqual([
      1,
      expect.stringContaining('error[pii-blocked]: personal data is not allowed here'),
    ]);
    expect((await sluice(['runs', '--json'], { cwd })).stdout.trim()).toBe('[]');
  });

  test('a trusted agent receives the values, and its reply is protected again', async () => {
    const flow = FLOW.replace('trusted: [crm.save]', 'trusted: [a, crm.save]').replace(
      /crm\.look: .*\n/,
      'crm.look: { effect: read, module: ./crm.mjs#look }\n',
    );
    const prompts: string[] = [];
    const server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        prompts.push(body);
        const choices = [
          { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'It is ann@x.example.' } },
        ];
        response.setHeader('content-type', 'application/json');
        response.end(
          JSON.stringify({
            id: '1',
            object: 'chat.completion',
            created: 1,
            model: 'm',
            choices,
            usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
          }),
        );
      });
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const models = `models: { m: { provider: openai-compatible, model: m, base_url: "http://127.0.0.1:${port}/v1" } }\n`;
    const cwd = project({ 'f.yaml': models + flow.replace('{ id: a }', '{ id: a, model: m }') });
    const { stdout, stderr } = await sluice(['run', 'f.yaml', '--input', JSON.stringify(INPUT), '--json'], {
      cwd,
      env: { OPENAI_COMPATIBLE_API_KEY: 'none' },
    });
    expect(prompts.join(''), stderr).toContain('ann@x.example');
    expect(stdout).toContain('It is [PII_EMAIL_001].');
    expect(leaksIn(cwd)).toEqual([]);
  });
});

describe('the key', () => {
  const KEY = Buffer.alloc(32, 7).toString('base64');

  test('comes from the environment or from a file, and another one is refused', async () => {
    const cwd = project({ 'f.yaml': FLOW.replace('trusted', 'key_file: keys/pii, trusted'), 'keys/pii': `${KEY}\n` });
    const { waiting } = JSON.parse((await start(cwd)).stdout) as { waiting: { id: string }[] };
    expect(readdirSync(join(cwd, '.sluice'))).not.toContain('pii.key');
    writeFileSync(join(cwd, 'keys/pii'), Buffer.alloc(32, 8).toString('base64'));
    const args = ['answer', waiting[0]?.id ?? '', 'approve', '--as', 'bo', '--script', 's.yaml', '--json'];
    const other = await sluice(args, { cwd });
    expect([other.status, other.stdout]).toEqual([1, expect.stringContaining('"pii-key"')]);
    expect(other.stderr).toContain('the key is another one');
    // Nothing was done: the question is still open, and the right key answers it.
    expect((await sluice(['show', 'r1', '--json'], { cwd })).stdout).toContain('"state": "suspended"');
    const forked = await sluice(['fork', 'r1', '--at', '2', '--script', 's.yaml'], { cwd });
    expect([forked.status, forked.stderr]).toEqual([1, expect.stringContaining('pii-key')]);
    writeFileSync(join(cwd, 'keys/pii'), Buffer.alloc(32, 7).toString('base64'));
    expect((await sluice(args, { cwd })).status).toBe(0);
  });

  test.each([
    ['short', 1, 'SLUICE_PII_KEY does not hold 32 bytes in base64'],
    ['', 3, 'a key for personal data was made'],
  ])('SLUICE_PII_KEY=%j', async (value, expected, words) => {
    const cwd = project();
    const env = { SLUICE_PII_KEY: value };
    const args = ['run', 'f.yaml', '--script', 's.yaml', '--input', JSON.stringify(INPUT), '--json'];
    const { status, stderr } = await sluice(args, { cwd, env });
    expect([status, stderr]).toEqual([expected, expect.stringContaining(words)]);
  });
});

test('a Presidio analyzer is asked in addition; if it cannot be asked, nothing passes', async () => {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const { text } = JSON.parse(body) as { text: string };
      // As Python counts characters.
      const start = text.includes('Zaphod') ? [...text.slice(0, text.indexOf('Zaphod'))].length : -1;
      response.end(JSON.stringify(start < 0 ? [] : [{ entity_type: 'PERSON', start, end: start + 6, score: 0.85 }]));
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const flow = `pii: { names: true, service: { url: "${url}" } }\nflow: { id: f, entry: n, nodes: [ { id: n, type: set, values: { all: "{{event.payload}}" } } ] }\n`;
  const cwd = project({ 'f.yaml': flow });
  const run = () => sluice(['run', 'f.yaml', '--input', '{"text":"we met zaphod: Zaphod"}', '--json'], { cwd });
  expect((await run()).stdout).toContain('we met zaphod: [PII_NAME_001]');
  writeFileSync(join(cwd, 'f.yaml'), flow.replace(url, `${url}/analyze/`));
  const emoji = await sluice(['run', 'f.yaml', '--input', '{"text":"😀👍 Zaphod 😀"}', '--json'], { cwd });
  expect(emoji.stdout).toContain('😀👍 [PII_NAME_001] 😀');
  server.close();
  server.closeAllConnections();
  const refused = await run();
  expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining('cannot be used')]);
  expect(JSON.parse(refused.stdout)).toMatchObject({ error: { code: 'pii-service' } });
});
