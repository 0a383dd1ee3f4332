/** The first page that people follow is true command by command: each is run as it is printed, in the project of `init`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folder, json, root, type Ran } from './cli.ts';
import { sluice } from './in-process.ts';

const page = readFileSync(join(root, 'docs/guide/getting-started.md'), 'utf8');
const blocks = [...page.matchAll(/```(\w*)\n([\s\S]*?)```/g)].map(([, language, text = '']) => ({ language, text }));
const commands = blocks
  .filter(({ language }) => language === 'sh')
  .flatMap(({ text }) => text.trimEnd().split('\n'))
  .filter((line) => line.startsWith('npx sluice '))
  .map((line) => line.slice('npx sluice '.length));

test('every command of the page does what the page says', { timeout: 60_000 }, async () => {
  const cwd = folder();
  const project = join(cwd, 'my-flow');
  const ids: { [word: string]: string } = {};
  const ran = async (line: string): Promise<Ran> => {
    const args = line.split(' ').map((word) => ids[word] ?? word);
    return sluice(args, { cwd: args[0] === 'init' ? cwd : project });
  };
  for (const line of commands) {
    const { status, stderr } = await ran(line);
    expect([line, status, stderr]).toEqual([line, line.startsWith('run ') ? 3 : 0, stderr]);
    if (!line.startsWith('run ')) continue;
    const [waiting] = json(await ran('approvals --json')) as readonly { readonly id: string; readonly run: string }[];
    Object.assign(ids, { APPROVAL: waiting?.id, RUN: waiting?.run });
  }
  expect(commands.map((line) => line.split(' ')[0])).toEqual(
    expect.arrayContaining(['init', 'run', 'answer', 'replay']),
  );
  expect(json(await ran('show RUN --json'))).toMatchObject({
    code: 'SUCCESS',
    output: { refunded: 250, order: 'A-1001' },
  });
});

test('what the page adds to the script answers the gate, and what it misspells gives the error that it prints', async () => {
  const cwd = folder();
  await sluice(['init', '.'], { cwd });
  const [flow, script] = ['support.flow.yaml', 'support.script.yaml'].map((file) => join(cwd, file)) as [
    string,
    string,
  ];
  const added = blocks.find(({ language }) => language === 'yaml')?.text;
  writeFileSync(script, `${readFileSync(script, 'utf8')}${added}`);
  const args = ['run', 'support.flow.yaml', '--script', 'support.script.yaml', '--input', '@input.json'];
  expect((await sluice(args, { cwd })).status).toBe(0);

  writeFileSync(flow, readFileSync(flow, 'utf8').replace('to: size', 'to: siez'));
  const printed = blocks.find(({ language }) => language === '')?.text.trim();
  expect((await sluice(['check', 'support.flow.yaml'], { cwd })).stderr).toContain(printed);
});

test('the help and what `init` says next name files that `init` makes', async () => {
  const cwd = folder();
  const made = await sluice(['init', '.'], { cwd });
  const help = await sluice(['--help'], { cwd });
  const named = [...`${made.stdout}${help.stdout}`.matchAll(/[\w@]+(?:\.\w+)?\.(?:yaml|json)\b/g)].map(
    ([file]) => file,
  );
  expect(named.length).toBeGreaterThan(6);
  for (const file of new Set(named)) expect(readFileSync(join(cwd, file.replace('@', '')), 'utf8')).not.toBe('');
});
