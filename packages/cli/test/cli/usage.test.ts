import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folder, json, report } from './cli.ts';
import { sluice } from './in-process.ts';

test('an unknown command is wrong usage and suggests the one that was meant', async () => {
  const ran = await sluice(['chekc', 'x.yaml'], { cwd: folder() });
  expect(ran.status).toBe(2);
  expect(ran.stdout).toBe('');
  expect(ran.stderr).toContain('error[usage]: unknown command `chekc`');
  expect(ran.stderr).toContain('Did you mean `check`?');
  expect(ran.stderr).toContain('docs/errors/usage.md');
});

test('an unknown option suggests the one that was meant, also among those of all commands', async () => {
  const cwd = folder();
  const own = await sluice(['run', '--scirpt', 'x'], { cwd });
  expect(own.status).toBe(2);
  expect(own.stderr).toContain('Did you mean `--script`?');
  const shared = await sluice(['runs', '--jsno'], { cwd });
  expect(shared.stderr).toContain('Did you mean `--json`?');
});

test.each([
  [['run'], 'missing required argument'],
  [['run'], 'run [options] <file>`.'],
  [['show', 'a', 'b'], 'too many arguments'],
  [['fork', 'r'], '`--at <seq>` is missing'],
  [['fork', 'r'], 'fork [options] <run> --at <seq>`.'],
  [['fork', 'r', '--at', '1', '--answer', 'gate'], 'Write it as --answer gate=approve'],
  [['--db'], '`--db <path>` needs a value'],
  [['memory', 'lsit'], 'Did you mean `list`?'],
  [['memory', 'zzz'], 'sluice memory --help` lists the commands'],
  [['help', 'zzz'], 'unknown command `zzz`'],
  [['graph', 'x.yaml', '--format', 'png'], 'Choose one of mermaid, dot, svg, json.'],
  [['check', 'x.yaml', '--max-cost', 'much'], '`--max-cost` takes a number'],
  [['check', 'x.yaml', '--max-cost', '0x10'], '`--max-cost` takes a number'],
  [['simulate', 'x.yaml', '--runs', '2000000'], '`--runs` takes a number of at most 1000000, not `2000000`'],
  [['metrics', '--since', '2026-02-31'], '`--since` takes a time, not `2026-02-31`'],
  [['prune', '--older-than', '2026-04-31'], '`--older-than` takes a time, not `2026-04-31`'],
  [['run', 'x.yaml', '--shell-limit', 'cpu=1=2'], '`--shell-limit cpu` takes a whole number or `none`, not `1=2`'],
  [['simulate', 'x.yaml', '--html', 'none/page.html'], '`none/page.html` cannot be written: there is no folder `none`'],
  [['eval', 'x.yaml', '--report', 'none/a.json'], '`none/a.json` cannot be written: there is no folder `none`'],
  [['answer', 'a_x', 'approve', '--edit', '{'], '`--edit` takes JSON'],
  [['eval', 'record', 'r', '--tag', 'x'], '`eval record` has no option `--tag`'],
  [['runs', '--state', 'complete'], 'Did you mean `completed`?'],
])('%j is wrong usage', async (args, words) => {
  const ran = await sluice(args, { cwd: folder() });
  expect(ran.status).toBe(2);
  expect(ran.stderr).toContain(words);
  expect(ran.stderr).not.toMatch(/^\s+at /m);
});

test('a comma too many in `--input` is named', async () => {
  const flow = 'flow: { id: f, entry: t, nodes: [{ id: t, type: terminal }] }\n';
  const cwd = folder({ 'w.yaml': flow, 'in.json': '{"a": [1,]}' });
  for (const [input, place] of [
    ['{"a": ",}", "b": 1,}', '--input:1:19'],
    ['@in.json', 'in.json:1:9'],
  ] as const) {
    const { stderr } = await sluice(['run', 'w.yaml', '--input', input], { cwd });
    expect(stderr).toContain(`is not valid JSON: a comma too many\n --> ${place}\n`);
    expect(stderr).toContain('= help: Remove the comma.');
  }
});

test('a cancelled run without a reason says so, and is explained by the cancellation', async () => {
  const flow =
    'flow: { id: f, entry: gate, nodes: [{ id: gate, type: approval, message: "Go?", routes: [{ to: end }] }] }\n';
  const cwd = folder({ 'f.yaml': flow });
  await sluice(['run', 'f.yaml', '--run', 'r'], { cwd });
  const cancelled = await sluice(['cancel', 'r', '--as', 'kim'], { cwd });
  expect(cancelled.stderr).toContain('the question is closed: the run was stopped\n');
  expect(cancelled.stderr).toContain('trouble  cancelled by kim: no reason given\n');
  const { stdout } = await sluice(['explain', 'r'], { cwd });
  expect(stdout).toContain('terminated with USER_CANCEL because kim cancelled the run: no reason given.');
});

test.each([
  ['quotas', 'remove', 'acme'],
  ['breakers', 'close', 'bot@openai/big'],
])('%s %s makes no database at a misspelt path', async (...args) => {
  const cwd = folder();
  const ran = await sluice([...args, '--db', 'rnus.db'], { cwd });
  expect([ran.status, ran.stderr]).toEqual([1, expect.stringContaining('there is no database at `rnus.db`')]);
  expect(readdirSync(cwd)).toEqual([]);
});

test('the help of a command lists no options of its group', async () => {
  const { stdout } = await sluice(['eval', 'record', '--help'], { cwd: folder() });
  expect(stdout).toContain('--tenant');
  expect(stdout).not.toContain('--baseline');
});

test('without a command the help is shown, and the status says that something is missing', async () => {
  const ran = await sluice([], { cwd: folder() });
  expect(ran.status).toBe(2);
  expect(ran.stderr).toContain('Usage: sluice');
});

test('help and version go to standard output with status 0', async () => {
  const cwd = folder();
  const help = await sluice(['run', '--help'], { cwd });
  expect(help.status).toBe(0);
  expect(help.stdout).toContain('--script <file>');
  expect(help.stdout).toContain('--json');
  expect((await sluice(['--version'], { cwd })).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test('help and version are one JSON document where JSON was asked for', async () => {
  const cwd = folder();
  for (const flag of ['--version', '-V'])
    expect(json(await sluice([flag, '--json'], { cwd }))).toEqual({
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    });
  for (const args of [['--help'], ['run', '--help'], ['help', 'run']])
    expect(json(await sluice(['--json', ...args], { cwd }))).toEqual({ help: expect.stringMatching(/^Usage: sluice/) });
});

test.each(['', 'a b/c'])('a run cannot be called %j', async (run) => {
  const cwd = folder({ 'w.yaml': 'steps: [{ name: one, agent_name: a }]\n', 's.yaml': 'agents: { a: [x] }\n' });
  const ran = await sluice(['run', 'w.yaml', '--script', 's.yaml', '--run', run], { cwd });
  expect([ran.status, ran.stderr]).toEqual([2, expect.stringContaining('error[bad-run-id]')]);
});

test.each(['', '# nothing yet\n'])('an empty script (%j) is told what a script holds', async (script) => {
  const cwd = folder({ 'w.yaml': 'steps: [{ name: one, agent_name: a }]\n', 's.yaml': script });
  const ran = await sluice(['run', 'w.yaml', '--script', 's.yaml'], { cwd });
  expect([ran.status, ran.stderr]).toEqual([1, expect.stringContaining('error[empty-document]: this script is empty')]);
  expect(ran.stderr).toMatch(/help: .*`agents:`.*`tools:`.*`approvals:`/);
  expect(ran.stderr).not.toContain('flow:');
});

test('a missing file is told in one sentence, and as JSON where JSON was asked for', async () => {
  const ran = await sluice(['check', 'nowhere.yaml', '--json'], { cwd: folder() });
  expect(ran.status).toBe(2);
  expect(report(ran)).toEqual({
    error: {
      code: 'file-not-found',
      message: 'there is no file `nowhere.yaml`',
      help: 'Paths are relative to the current directory.',
      docs: 'docs/errors/file-not-found.md',
    },
  });
});

test('a file that is not UTF-8 text is refused with its line', async () => {
  const cwd = folder();
  writeFileSync(join(cwd, 'old.yaml'), Buffer.from('steps:\n  - { name: \u00c4, agent_name: a }\n', 'latin1'));
  expect(report(await sluice(['check', 'old.yaml', '--json'], { cwd }))).toMatchObject({
    error: { code: 'file-unreadable', message: '`old.yaml` is not UTF-8 text: line 2 has other bytes' },
  });
});

test('stack traces are shown with --debug only', async () => {
  const cwd = folder();
  expect((await sluice(['check', 'nowhere.yaml'], { cwd })).stderr).not.toMatch(/^\s+at /m);
  expect((await sluice(['check', 'nowhere.yaml', '--debug'], { cwd })).stderr).toMatch(/^\s+at /m);
});
