/** Code and folders belong to the run: they are recorded when it starts, and a later process uses the same. */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { compile } from '@sluice-internal/library';
import type { CompiledFlow } from '@sluice-internal/library';
import { pinsOf } from '@sluice-internal/platform';
import { folder, json, report, sluice as spawned } from '../cli/cli.ts';
import { sluice } from '../cli/in-process.ts';
import { FLOW } from '../../../engine/test/runtime/pinned-flow.ts';

const project = (): string =>
  folder({
    'home/a.yaml': FLOW,
    'home/s.yaml': 'clock: real\n',
    'home/code/own.mjs':
      "import { who } from './who.mjs';\nexport const pay = (_, { workDir }) => `${who} ${workDir}`;\n",
    'home/code/who.mjs': "export const who = 'ann';\n",
    'elsewhere/s.yaml': 'clock: real\n',
    'elsewhere/code/own.mjs': "export const pay = () => 'eve';\n",
  });

interface Scene {
  readonly home: string;
  readonly approval: string;
  /** Answers from another folder, which has code of the same name. */
  answer(...flags: string[]): ReturnType<typeof sluice>;
}

async function waitingRun(): Promise<Scene> {
  const root = project();
  const home = join(root, 'home');
  const ran = await sluice(['run', 'a.yaml', '--script', 's.yaml', '--run', 'r_1', '--json'], { cwd: home });
  const approval = report(ran).waiting[0]?.id ?? '';
  const db = join(home, '.sluice', 'sluice.db');
  return {
    home,
    approval,
    answer: (...flags) =>
      spawned(['answer', approval, 'yes_please', '--as', 'bob', '--script', 's.yaml', '--db', db, '--json', ...flags], {
        cwd: join(root, 'elsewhere'),
      }),
  };
}

test('the code and the work directory are those of the start, in every folder', async () => {
  const { home, answer } = await waitingRun();
  expect(report(await answer())).toMatchObject({ state: 'completed', output: `ann ${join(home, '.sluice/work/r_1')}` });
});

test.each(['own.mjs', 'who.mjs'])('changed code is refused by the name of the file: %s', async (file) => {
  const { home, answer } = await waitingRun();
  appendFileSync(join(home, 'code', file), '// changed\n');
  const refused = await answer();
  expect([refused.status, json(refused)]).toMatchObject([
    1,
    { error: { code: 'code-changed', message: expect.stringContaining(join('code', file)) } },
  ]);
  for (const command of [
    ['resume', 'r_1'],
    ['cancel', 'r_1'],
  ]) {
    const other = await sluice([...command, '--json'], { cwd: home });
    expect(json(other)).toMatchObject({ error: { code: 'code-changed' } });
  }
  expect(report(await sluice(['show', 'r_1', '--json'], { cwd: home })).state).toBe('suspended');
});

test('a module that was deleted is reported as missing', async () => {
  const { home, answer } = await waitingRun();
  rmSync(join(home, 'code', 'who.mjs'));
  const message = expect.stringMatching(/who\.mjs` \(missing\)$/) as string;
  expect(json(await answer())).toMatchObject({ error: { code: 'code-changed', message } });
});

test('an operator accepts changed code, and the journal records it', async () => {
  const { home, answer } = await waitingRun();
  writeFileSync(join(home, 'code', 'who.mjs'), "export const who = 'kim';\n");
  expect(report(await answer('--accept-changed-code')).output).toMatch(/^kim /);
  const events = json(await sluice(['trace', 'r_1', '--events', '--json'], { cwd: home })) as { type: string }[];
  expect(events.find(({ type }) => type === 'run.repinned')).toMatchObject({
    by: expect.any(String),
    modules: { [join(home, 'code', 'who.mjs')]: expect.any(String) },
  });
  expect((await sluice(['replay', 'r_1'], { cwd: home })).status).toBe(0);
  expect((await sluice(['audit', 'verify'], { cwd: home })).status).toBe(0);
});

test.each([['.'], ['code']])('a module inside the work directory %s is refused', async (workDir) => {
  const home = join(project(), 'home');
  const args = ['run', 'a.yaml', '--script', 's.yaml', '--work-dir', workDir, '--json'];
  const ran = await sluice(args, { cwd: home });
  expect([ran.status, json(ran)]).toMatchObject([1, { error: { code: 'unsafe-module' } }]);
  expect(json(await sluice(['runs', '--json'], { cwd: home }))).toEqual([]);
  mkdirSync(join(home, 'work'));
  expect((await sluice([...args.slice(0, -2), 'work', '--json'], { cwd: home })).status).toBe(3);
  expect(existsSync(join(home, 'work')) && readdirSync(join(home, 'work'))).toEqual([]);
});

test('a folder of the work directory whose name starts with two dots is inside of it', async () => {
  const home = join(project(), 'home');
  renameSync(join(home, 'code'), join(home, '..code'));
  const file = join(home, 'a.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('./code/', './..code/'));
  const ran = await sluice(['run', 'a.yaml', '--script', 's.yaml', '--work-dir', '.', '--json'], { cwd: home });
  expect([ran.status, json(ran)]).toMatchObject([1, { error: { code: 'unsafe-module' } }]);
});

const HOOKS = { 'one that exists': '[./code/own.sh]', 'one to come': '[./later.sh]', 'a script': '[sh, code/own.sh]' };

test.each(Object.entries(HOOKS))('a hook inside the work directory is refused: %s', async (_, command) => {
  const root = folder({
    'home/a.yaml': `notify: [{ command: ${command} }]\n${APPROVAL}`,
    'home/code/own.sh': '#!/bin/sh\ntouch started\n',
  });
  const home = join(root, 'home');
  const ran = await sluice(['run', 'a.yaml', '--work-dir', '.', '--json'], { cwd: home });
  expect([ran.status, json(ran)]).toMatchObject([
    1,
    { error: { code: 'unsafe-module', message: expect.stringMatching(/^the program /) } },
  ]);
  expect(json(await sluice(['runs', '--json'], { cwd: home }))).toEqual([]);
});

test.each([
  '{ command: node, args: [work/own.mjs] }',
  '{ command: ./own, cwd: work }',
  '{ command: work/../work/own }',
])('an MCP server inside the work directory is refused: %s', (server) => {
  const documentDir = folder({ 'work/own.mjs': '' });
  const { flow } = compile(`mcp: { own: ${server} }\ntools: { ping: { mcp: own/ping, effect: read } }\n${APPROVAL}`);
  const pins = (workDir: string) => () =>
    pinsOf(flow as CompiledFlow, { documentDir, workDir: join(documentDir, workDir) });
  expect(pins('work')).toThrow(/^the program .* is in the work directory/);
  expect(pins('other')()).toMatchObject({ modules: {} });
});

const APPROVAL = `flow:
  id: f
  entry: ask
  nodes: [{ id: ask, type: approval, message: "Pay?" }]
`;
