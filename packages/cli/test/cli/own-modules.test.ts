/** A module of the user's own runs in the command's process; whatever it does there, the result and the status are right. */
import { expect, test } from 'vitest';
import { folder, json, report, sluice } from './cli.ts';
import { sluice as inProcess } from './in-process.ts';

const MODULE = `
const later = () => new Promise((resolve) => setTimeout(resolve, 5000, 'fine'));
export const prints = () => { console.log('NOISE'); process.stdout.write('MORE'); return 1; };
export const exits = () => process.exit(0);
export const rejects = () => { Promise.reject(new Error('left alone')); return later(); };
export const throws = () => { setTimeout(() => { throw new Error('left alone'); }, 1); return later(); };
`;

const project = (name: string): string =>
  folder({
    'own.mjs': MODULE,
    's.yaml': '{}\n',
    'a.yaml': `tools: { own.tool: { effect: read, module: "./own.mjs#${name}" } }
flow: { id: f, entry: a, nodes: [{ id: a, type: tool, tool: own.tool }] }
`,
  });
const RUN = ['run', 'a.yaml', '--script', 's.yaml', '--run', 'r_1'];

test('what it prints is no part of the result', async () => {
  const ran = await sluice([...RUN, '--json'], { cwd: project('prints') });
  expect([ran.status, report(ran).output, ran.stderr]).toEqual([0, 1, 'NOISE\nMORE']);
});

test.each([
  ['exits', 'the process ended before'],
  ['rejects', 'left alone'],
  ['throws', 'left alone'],
])('a tool that %s never passes for success, and the run is kept', async (name, said) => {
  const cwd = project(name);
  const ran = await sluice([...RUN, '--json'], { cwd });
  expect([ran.status, json(ran)]).toMatchObject([
    1,
    {
      error: {
        code: 'interrupted',
        message: expect.stringMatching(new RegExp(`${said}.*; run r_1 can be resumed`)),
        help: expect.stringContaining('sluice resume r_1 --script s.yaml'),
      },
    },
  ]);
  expect(ran.stderr).not.toMatch(/^\s+at /m);
  expect(json(await inProcess(['runs', '--json'], { cwd }))).toMatchObject([{ run: 'r_1', state: 'running' }]);
});

test('`--debug` shows where an error came from that no call waited for', async () => {
  const { stderr } = await sluice([...RUN, '--debug'], { cwd: project('throws') });
  expect(stderr).toMatch(/caused by Error: left alone\n\s+at .*own\.mjs/);
});
