/** A shell completes what can stand at the place: commands, options once a dash is typed, their values, files elsewhere. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { folder, json } from './cli.ts';
import { sluice } from './in-process.ts';

const execute = promisify(execFile);
const STATES = ['pending', 'running', 'suspended', 'completed', 'failed', 'cancelled'];

type Complete = (...words: readonly string[]) => Promise<readonly string[]>;

async function bash(cwd: string): Promise<Complete> {
  const { stdout: script } = await sluice(['completion', 'bash'], { cwd });
  return async (...words) => {
    const line = `${script}\nCOMP_WORDS=(sluice ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; _sluice; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return (await execute('bash', ['-c', line], { cwd })).stdout.trim().split('\n');
  };
}

test('bash offers the values that an option or an argument takes, and nothing else', async () => {
  const complete = await bash(folder({ 'a.yaml': '' }));
  expect(await complete('graph', 'a.yaml', '--format', '')).toEqual(['mermaid', 'dot', 'svg', 'json']);
  expect(await complete('graph', '-f', 's')).toEqual(['svg']);
  expect(await complete('graph', '--format', '=', 'd')).toEqual(['dot']);
  expect(await complete('graph', '--format', '=')).toEqual(['mermaid', 'dot', 'svg', 'json']);
  expect(await complete('completion', '')).toEqual(['bash', 'zsh', 'fish']);
  expect(await complete('runs', '--state', '')).toEqual(STATES);
  expect(await complete('--json', 'runs', '--state', 'c')).toEqual(['completed', 'cancelled']);
  expect(await complete('audit', '')).toEqual(expect.arrayContaining(['verify']));
  expect(await complete('audit', '')).not.toContain('a.yaml');
});

test('bash offers files where files go, and options once a dash is typed', async () => {
  const complete = await bash(folder({ 'a.yaml': '', 'b.yaml': '' }));
  expect((await complete('check', '')).toSorted()).toEqual(['a.yaml', 'b.yaml']);
  expect(await complete('run', 'a.yaml', '--script', 'b')).toEqual(['b.yaml']);
  expect(await complete('run', 'a.yaml', '--scr')).toEqual(['--script']);
  expect(await complete('runs', '')).toContain('--json');
  // A file that is called as a command is, is a file.
  expect(await complete('check', 'graph', '--max')).toEqual(['--max-cost']);
});

test.each([
  ['zsh', "'graph --format'|'graph -f') candidates=('mermaid' 'dot' 'svg' 'json')"],
  ['zsh', `'runs --state') candidates=(${STATES.map((state) => `'${state}'`).join(' ')})`],
  ['zsh', "'completion') candidates=('bash' 'zsh' 'fish')"],
  ['fish', "-l 'format' -s f -x -a 'mermaid dot svg json'"],
  ['fish', `-l 'state' -x -a '${STATES.join(' ')}'`],
  ['fish', "'__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'"],
])('%s knows values too: %s', async (shell, words) => {
  expect((await sluice(['completion', shell], { cwd: folder() })).stdout).toContain(words);
});

test.each(['bash', 'zsh', 'fish'])('completion %s --json is one document', async (shell) => {
  const cwd = folder();
  const { stdout } = await sluice(['completion', shell], { cwd });
  expect(json(await sluice(['completion', shell, '--json'], { cwd }))).toEqual({ shell, script: stdout.trimEnd() });
});
