/** Lists in pages: filters, cursors, and the lists made again from the journals. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { folder, json } from './cli.ts';
import { sluice } from './in-process.ts';

const ASK = `flow:
  id: ask
  entry: gate
  nodes:
    - { id: gate, type: approval, message: "Go?", routes: [{ to: done }] }
    - { id: done, type: terminal, output: ok }
`;
const FAIL = `flow:
  id: broken
  entry: stop
  nodes:
    - { id: stop, type: fail, code: VALIDATION_FAIL, message: "No order number." }
`;

interface Page {
  readonly items: readonly { readonly run: string; readonly [field: string]: unknown }[];
  readonly next: string | null;
}

async function project(): Promise<string> {
  const cwd = folder({ 'ask.yaml': ASK, 'fail.yaml': FAIL });
  for (const run of ['a1', 'a2', 'a3'])
    await sluice(['run', 'ask.yaml', '--run', run, '--user', run === 'a2' ? 'kim' : 'lee'], { cwd });
  await sluice(['run', 'fail.yaml', '--run', 'f1', '--thread', 't1'], { cwd });
  return cwd;
}

async function page(cwd: string, ...args: readonly string[]): Promise<Page> {
  return json(await sluice([...args, '--json'], { cwd })) as Page;
}

const names = ({ items }: Page): readonly string[] => items.map(({ run }) => run);

test('`runs` gives pages, each from the cursor of the one before', async () => {
  const cwd = await project();
  const first = await page(cwd, 'runs', '--limit', '3');
  expect(names(first)).toEqual(['f1', 'a3', 'a2']);
  const last = await page(cwd, 'runs', '--limit', '3', '--cursor', String(first.next));
  expect([names(last), last.next]).toEqual([['a1'], null]);
  expect(names(await page(cwd, 'runs', '--cursor', String(first.next)))).toEqual(['a1']);
  const shown = await sluice(['runs', '--limit', '3'], { cwd });
  expect(shown.stderr).toContain(`--cursor ${first.next}`);
  for (const cursor of ['page2', '1.0', '-1']) {
    const refused = await sluice(['runs', `--cursor=${cursor}`], { cwd });
    expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining('error[bad-cursor]')]);
  }
});

test('`runs` narrows the list by every filter, and by several at once', async () => {
  const cwd = await project();
  const runs = async (...args: readonly string[]) => names(await page(cwd, 'runs', ...args, '--limit', '9'));
  expect(await runs('--flow', 'broken')).toEqual(['f1']);
  expect(await runs('--code', 'VALIDATION_FAIL')).toEqual(['f1']);
  expect(await runs('--code', 'CONFIRM_REQUIRED', '--user', 'lee')).toEqual(['a3', 'a1']);
  expect(await runs('--user', 'kim', '--state', 'suspended,failed')).toEqual(['a2']);
  expect(await runs('--thread', 't1')).toEqual(['f1']);
  expect(await runs('--since', '1h')).toHaveLength(4);
  expect(await runs('--since', '2100-01-01')).toEqual([]);
  expect(await runs('--flow', 'unknown')).toEqual([]);
  expect((await sluice(['runs', '--flow', 'unknown'], { cwd })).stderr).toBe('no run with flow `unknown` was found\n');
  const [failed, asks] = (json(await sluice(['runs', '--json'], { cwd })) as Page['items']).slice(0, 2);
  expect(failed).toMatchObject({ thread: 't1', questions: 0, error: { message: 'No order number.' } });
  expect(asks).toMatchObject({ node: 'gate', questions: 1, steps: 1, costUsd: 0, error: null });
});

test('`approvals` gives pages, the question that was asked last first', async () => {
  const cwd = await project();
  const first = await page(cwd, 'approvals', '--limit', '2');
  expect(names(first)).toEqual(['a3', 'a2']);
  expect(first.items[0]).toMatchObject({
    node: 'gate',
    message: 'Go?',
    choices: expect.arrayContaining(['approve']) as unknown,
  });
  await sluice(['answer', String(first.items[0]?.['id']), 'approve'], { cwd });
  expect(names(await page(cwd, 'approvals', '--limit', '2', '--cursor', String(first.next)))).toEqual(['a1']);
  expect(names(await page(cwd, 'approvals', '--limit', '9'))).toEqual(['a2', 'a1']);
  expect(names(await page(cwd, 'approvals', 'a1', '--limit', '9'))).toEqual(['a1']);
});

test('`audit verify --rebuild` makes facts and questions again from the journals', async () => {
  const cwd = await project();
  const before = json(await sluice(['runs', '--json'], { cwd }));
  const questions = json(await sluice(['approvals', '--json'], { cwd }));
  const db = new DatabaseSync(join(cwd, '.sluice/sluice.db'));
  db.exec("DELETE FROM questions; UPDATE run_facts SET steps = 99; DELETE FROM run_facts WHERE node = 'gate'");
  db.close();
  expect((await sluice(['audit', 'verify'], { cwd })).status).toBe(1);
  expect((json(await sluice(['runs', '--json'], { cwd })) as { broken: unknown }[])[0]?.broken).not.toBeNull();
  const rebuilt = await sluice(['audit', 'verify', '--rebuild'], { cwd });
  expect([rebuilt.status, rebuilt.stderr]).toEqual([0, expect.stringContaining('the lists of 4 runs were made again')]);
  expect(json(await sluice(['runs', '--json'], { cwd }))).toEqual(before);
  expect(json(await sluice(['approvals', '--json'], { cwd }))).toEqual(questions);
  expect((await sluice(['audit', 'verify', '--rebuild'], { cwd })).stderr).toContain('the lists were right');
  expect((await sluice(['audit', 'acts'], { cwd })).stdout).toContain('lists.rebuilt');
});
