/** Personal data in the names of attachments: no file beside the journal and no output of a command holds the original. */
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folder } from '../cli/cli.ts';
import { sluice } from '../cli/in-process.ts';
import { png } from '../../../models/test/models/png.ts';

const MODULE = `import { mkdirSync, writeFileSync } from 'node:fs';
const PNG = Buffer.from('${png(10, 10, 7).toString('base64')}', 'base64');
export const look = async (args, { attach, workDir }) => {
  mkdirSync(workDir, { recursive: true });
  writeFileSync(workDir + '/eve@corp.example.png', PNG);
  return { photo: await attach({ path: 'eve@corp.example.png' }) };
};
export const bad = async (_, { attach }) => attach({ data: Buffer.from('text'), name: 'max@corp.example.png' });
`;
const FLOW = (pii: string): string => `pii: { attachments: true${pii} }
tools:
  look: { effect: read, module: ./t.mjs#look }
  bad: { effect: read, module: ./t.mjs#bad }
agents: [ { id: a } ]
flow:
  id: f
  entry: think
  nodes:
    - { id: think, type: agent, agent: a, input: { message: "{{event.payload}}" }, routes: [ { to: look } ] }
    - { id: look, type: tool, tool: look, params: {}, routes: [ { to: bad } ] }
    - { id: bad, type: tool, tool: bad, params: {}, on_error: [ { default: true, to: done } ], routes: [ { to: done } ] }
    - { id: done, type: terminal }
`;
const NAMES = [
  'ann@x.example.png',
  'ssn_078-05-1123_scan.png',
  '4012_8888_8888_1881.png',
  '078051124.png',
  'bo%40x.example.png',
  'Mr_Karl_Miller.png',
  `${'long '.repeat(18)}kim@x.example.png`,
];
const ORIGINALS = /ann.x|078-05-1123|4012_8888|078051124|bo.{1,3}x\.example|Karl|Miller|kim.x|eve.corp|max.corp/;

function project(pii = ', names: true'): string {
  const cwd = folder({ 't.mjs': MODULE, 'f.yaml': FLOW(pii), 's.yaml': 'agents: { a: [ Seen. ] }\n' });
  for (const [index, name] of NAMES.entries()) writeFileSync(join(cwd, name), png(10, 10, index));
  return cwd;
}

function leaksIn(cwd: string): string[] {
  return readdirSync(join(cwd, '.sluice'), { recursive: true, encoding: 'utf8' })
    .filter((name) => !name.startsWith('work') && statSync(join(cwd, '.sluice', name)).isFile())
    .filter((name) => ORIGINALS.test(readFileSync(join(cwd, '.sluice', name)).toString('latin1')));
}

const start = (cwd: string, names: readonly string[]) =>
  sluice(
    ['run', 'f.yaml', '--script', 's.yaml', '--run', 'r1', '--input', '{"mail":"ann@x.example"}', '--json'].concat(
      names.flatMap((name) => ['--attach', name]),
    ),
    { cwd },
  );

test('the journal, the store of attachments and all outputs have tokens instead of the names', async () => {
  const cwd = project();
  const ran = await start(cwd, NAMES);
  expect(ran.status, ran.stderr + ran.stdout).toBe(0);
  expect(leaksIn(cwd)).toEqual([]);
  const outputs = [
    ['show', 'r1', '--json'],
    ['trace', 'r1', '--json', '--prompts'],
    ['trace', 'r1', '--format', 'otel', '--json'],
    ['logs', 'r1'],
    ['explain', 'r1'],
    ['audit', 'verify', 'r1', '--json'],
    ['audit', 'export', 'r1', '--out', '.sluice/r1.json'],
    ['backup', '.sluice/copy.db'],
  ];
  for (const args of outputs) {
    const { status, stdout, stderr } = await sluice(args, { cwd });
    expect([args, status]).toEqual([args, 0]);
    expect((stdout + stderr).match(ORIGINALS)?.[0]).toBeUndefined();
  }
  expect(leaksIn(cwd)).toEqual([]);
  // The name of a file has the token that the same value has elsewhere in the run.
  const journal = (await sluice(['trace', 'r1', '--json'], { cwd })).stdout;
  expect(journal).toMatch(/mail\W+\[PII_EMAIL_001\]/);
  expect(journal).toMatch(/name\W+\[PII_EMAIL_001\]\.png/);
  expect(journal).toMatch(/name\W+ssn_\[PII_SSN_001\]_scan\.png/);
  expect(journal).not.toContain('PII_TEXT');
});

test('a name that looks like a token stands for no value', async () => {
  const cwd = project();
  writeFileSync(join(cwd, '[PII_EMAIL_001].png'), png(10, 10, 99));
  const ran = await start(cwd, ['[PII_EMAIL_001].png']);
  expect(ran.status, ran.stderr + ran.stdout).toBe(0);
  expect((await sluice(['trace', 'r1', '--json'], { cwd })).stdout).toMatch(/name\W+\[PII_TEXT_001\]\.png/);
});

test('`mode: block` refuses the name before anything is stored', async () => {
  const cwd = project(', mode: block');
  const refused = await start(cwd, ['ann@x.example.png']);
  expect(refused.status).not.toBe(0);
  expect(refused.stderr + refused.stdout).toContain('pii-blocked');
  expect((await sluice(['list', '--json'], { cwd })).stdout).not.toContain('r1');
});
