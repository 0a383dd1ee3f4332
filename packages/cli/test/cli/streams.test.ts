/** What becomes of the two streams decides neither what becomes of a run nor how a fault is told. */
import { execFile } from 'node:child_process';
import { expect, test } from 'vitest';
import { bin, folder, json, type Ran } from './cli.ts';
import { sluice } from './in-process.ts';

const FILES = {
  'w.yaml': 'steps: [{ name: one, agent_name: a }, { name: two, agent_name: b }]\n',
  's.yaml': 'agents: { a: [well], b: [hello] }\n',
};
const RUN = 'run w.yaml --script s.yaml --input x';
const LOST = /^error\[disk-full\]: standard output cannot be written/m;

/** As somebody types it, with redirections. */
async function shell(line: string, cwd: string): Promise<Ran> {
  return new Promise((resolve) => {
    execFile('bash', ['-c', `"$NODE" "$BIN" ${line}`], options(cwd), (error, stdout, stderr) =>
      resolve({ status: error === null ? 0 : (error.code as number), stdout, stderr }),
    );
  });
}

function options(cwd: string): { cwd: string; env: NodeJS.ProcessEnv } {
  const { NO_COLOR: _no, FORCE_COLOR: _force, SLUICE_LAUNCHER: _launcher, ...env } = process.env;
  return { cwd, env: { ...env, NODE: process.execPath, BIN: bin } };
}

test.each(['2>&-', '2>/dev/full', '2</dev/null', '2> >(true)'])(
  'with %s nobody hears of the progress, and the run completes all the same',
  async (redirection) => {
    const cwd = folder(FILES);
    expect(await shell(`${RUN} ${redirection}`, cwd)).toMatchObject({ status: 0, stdout: 'hello\n' });
    expect(json(await sluice(['runs', '--json'], { cwd }))).toMatchObject([{ state: 'completed', code: 'SUCCESS' }]);
  },
);

test.each(['runs', 'trace r_1 --json', 'schema', '--help', 'check nowhere.yaml --json'])(
  '%s tells in one line that its result could not be written',
  async (line) => {
    const cwd = folder(FILES);
    if (/^(runs|trace)/.test(line)) await sluice([...RUN.split(' '), '--run', 'r_1'], { cwd });
    const { status, stderr } = await shell(`${line} >/dev/full`, cwd);
    expect([status, stderr]).toEqual([1, expect.stringMatching(LOST)]);
    expect(stderr).not.toMatch(/^\s+at /m);
  },
);

test('a run whose result could not be written is told, and kept', async () => {
  const cwd = folder(FILES);
  expect(await shell(`${RUN} --json >/dev/full`, cwd)).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(LOST),
  });
  const { status, stderr } = await shell(`${RUN} --quiet 1</dev/null`, cwd);
  expect([status, stderr]).toEqual([1, expect.stringContaining('standard output cannot be written: EBADF')]);
  expect(json(await sluice(['runs', '--json'], { cwd }))).toMatchObject([
    { state: 'completed' },
    { state: 'completed' },
  ]);
});

test('a reader of the result that goes away does not change the status of a run', async () => {
  const cwd = folder({ ...FILES, 's.yaml': 'agents: { a: [{ error: fatal, message: no }] }\n' });
  const { stdout } = await shell(`${RUN} --json 2>/dev/null | true; echo "status \${PIPESTATUS[0]}"`, cwd);
  expect(stdout).toBe('status 1\n');
});
