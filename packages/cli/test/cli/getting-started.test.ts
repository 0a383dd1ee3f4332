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

/** The studio has tests of its own in `test/studio`. */
const OPENS_THE_STUDIO = 'dev';

test('every command of the page does what the page says', { timeout: 60_000 }, async () => {
  const cwd = folder();
  const project = join(cwd, 'my-desk');
  const ids: { [word: string]: string } = {};
  const ran = async (line: string): Promise<Ran> => {
    const args = line.split(' ').map((word) => ids[word] ?? word);
    return sluice(args, { cwd: args[0] === 'init' ? cwd : project });
  };
  for (const line of commands) {
    if (line === OPENS_THE_STUDIO) continue;
    const { status, stderr } = await ran(line);
    expect([line, status, stderr]).toEqual([line, line.startsWith('run ') ? 3 : 0, stderr]);
    if (!line.startsWith('run ')) continue;
    const [waiting] = json(await ran('approvals --json')) as readonly { readonly id: string; readonly run: string }[];
    Object.assign(ids, { APPROVAL: waiting?.id, RUN: waiting?.run });
  }
  expect(commands.map((line) => line.split(' ')[0])).toEqual(
    expect.arrayContaining(['init', 'check', 'dev', 'run', 'answer', 'explain']),
  );
  expect(json(await ran('show RUN --json'))).toMatchObject({
    code: 'SUCCESS',
    receipts: [{ tool: 'orders.get' }, { tool: 'payments.refund', args: { order: 'A-1042', amount: 49.5 } }],
  });
});

test('the document of the page is the one that `init` makes; what the page adds answers, and its mistake is printed', async () => {
  const cwd = folder();
  await sluice(['init', '.'], { cwd });
  const [flow, script] = ['desk.loop.yaml', 'desk.script.yaml'].map((file) => join(cwd, file)) as [string, string];
  const document = readFileSync(flow, 'utf8');
  const [printed, added] = blocks.filter(({ language }) => language === 'yaml').map(({ text }) => text);
  expect(document.replace(/^#.*\n/, '')).toBe(printed);
  writeFileSync(script, `${readFileSync(script, 'utf8')}${added}`);
  const args = ['run', 'desk.loop.yaml', '--script', 'desk.script.yaml', '--input', '@input.txt'];
  expect((await sluice(args, { cwd })).status).toBe(0);

  writeFileSync(flow, document.replace('payments.refund]', 'payments.refnd]'));
  const mistake = blocks.find(({ language }) => language === '')?.text.trim();
  expect((await sluice(['check', 'desk.loop.yaml'], { cwd })).stderr).toContain(mistake);
});

test('the help and what `init` says next name files that `init` makes', async () => {
  const cwd = folder();
  const made = await sluice(['init', '.'], { cwd });
  const help = await sluice(['--help'], { cwd });
  const named = [...`${made.stdout}${help.stdout}`.matchAll(/[\w@]+(?:\.\w+)?\.(?:yaml|txt)\b/g)].map(([file]) => file);
  expect(named.length).toBeGreaterThan(6);
  for (const file of new Set(named)) expect(readFileSync(join(cwd, file.replace('@', '')), 'utf8')).not.toBe('');
});
