import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { expect, test } from 'vitest';
import { folder, json, root } from './cli.ts';
import { newProject, sluice } from './in-process.ts';

const execute = promisify(execFile);

test('doctor says what is there and never what a key is', async () => {
  const ran = await sluice(['doctor', '--json'], { cwd: folder(), env: { OPENAI_API_KEY: 'sk-very-secret' } });
  expect(ran.stdout + ran.stderr).not.toContain('sk-very-secret');
  const { ok, checks } = json(ran) as {
    ok: boolean;
    checks: readonly { name: string; status: string; found: string }[];
  };
  expect(ok).toBe(ran.status === 0);
  const found = new Map(checks.map(({ name, status }) => [name, status]));
  expect(found.get('node')).toBe('ok');
  expect(found.get('write-ahead log')).toBe('ok');
  expect(found.get('provider openai')).toBe('ok');
  expect(found.get('provider groq')).toBe('missing');
  expect([...found.keys()]).toEqual(
    expect.arrayContaining(['sqlite', 'database folder', 'free disk', 'clock', 'bubblewrap']),
  );
});

test('doctor names the models of a document: key, package, and with --connect the server', async () => {
  const cwd = folder({
    'x.flow.yaml': `models:
  keyed: { provider: openai, model: gpt-4o }
  azure: { provider: "@ai-sdk/azure", model: x }
  here: { provider: openai-compatible, model: m, base_url: "http://127.0.0.1:9" }
agents: [{ id: a, model: here }]
flow: { id: f, entry: n, nodes: [{ id: n, type: agent, agent: a }] }
`,
  });
  const found = async (...args: readonly string[]) => {
    const ran = await sluice(['doctor', 'x.flow.yaml', '--json', ...args], { cwd, env: { OPENAI_API_KEY: '' } });
    const { checks } = json(ran) as {
      checks: readonly { name: string; status: string; found: string; help?: string }[];
    };
    return new Map(checks.map((check) => [check.name, check]));
  };
  const checks = await found();
  expect(checks.get('model keyed')).toMatchObject({
    status: 'bad',
    found: expect.stringContaining('OPENAI_API_KEY') as string,
  });
  expect(checks.get('model azure')).toMatchObject({
    status: 'bad',
    help: expect.stringContaining('npm install @ai-sdk/azure') as string,
  });
  expect(checks.get('model here')).toMatchObject({ status: 'ok' });
  expect((await found('--connect')).get('model here')).toMatchObject({
    status: 'bad',
    found: expect.stringContaining('does not answer') as string,
  });
});

test('doctor leaves nothing behind', async () => {
  const cwd = folder();
  await sluice(['doctor'], { cwd });
  expect(readdirSync(cwd)).toEqual([]);
});

test('schema is a JSON Schema that accepts the examples and the new project, and refuses a misspelt key', async () => {
  const cwd = await newProject();
  const schema = json(await sluice(['schema'], { cwd })) as object;
  const accepts = new Ajv2020({ strict: false }).compile(schema);
  const examples = readdirSync(join(root, 'examples')).filter((name) => /\.(flow|workflow)\.yaml$/.test(name));
  expect(examples.length).toBeGreaterThan(0);
  for (const file of [...examples.map((name) => join(root, 'examples', name)), join(cwd, 'support.flow.yaml')]) {
    const valid = accepts(parse(readFileSync(file, 'utf8')));
    expect(valid, `${file}: ${JSON.stringify(accepts.errors)}`).toBe(true);
  }
  expect(accepts({ flow: { id: 'x', entry: 'a', nodez: [] } })).toBe(false);
});

test('bash completes commands and options', async () => {
  const cwd = folder();
  const { stdout: script } = await sluice(['completion', 'bash'], { cwd });
  const complete = async (...words: readonly string[]): Promise<readonly string[]> => {
    const line = `${script}\nCOMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _sluice; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return (await execute('bash', ['-c', line], { cwd })).stdout.trim().split('\n');
  };
  expect(await complete('sluice', 'ru')).toEqual(['run', 'runs']);
  expect(await complete('sluice', 'audit', 'v')).toEqual(['verify']);
  expect(await complete('sluice', 'run', 'x.yaml', '--scr')).toEqual(['--script']);
  expect(await complete('sluice', 'check', '--')).toEqual(expect.arrayContaining(['--max-cost', '--json', '--db']));
});

test.each(['zsh', 'fish'])('%s completion names every command', async (shell) => {
  const cwd = folder();
  const { stdout: script, status } = await sluice(['completion', shell], { cwd });
  expect(status).toBe(0);
  for (const command of ['init', 'check', 'graph', 'run', 'answer', 'audit', 'verify', 'doctor'])
    expect(script).toContain(`'${command}${shell === 'zsh' ? ':' : "'"}`);
});
