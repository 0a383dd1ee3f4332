/** Keys and answers through the command. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ended, folder, json, report, start } from '../cli/cli.ts';
import { sluice } from '../cli/in-process.ts';
import { anna, ben, carl } from '../../../engine/test/people/people.ts';

const DOCUMENT = `tools:
  pay.refund: { effect: financial, input: { type: object } }
flow:
  id: refund
  entry: gate
  nodes:
    - { id: gate, type: approval, message: "Refund?", approvers: { roles: [manager]QUORUM }, routes: [{ when: "approvals.gate == 'approve'", to: pay }] }
    - { id: pay, type: tool, tool: pay.refund }
`;
const PEOPLE = `people:
  - { id: anna, roles: [manager], key: "${anna.line}" }
  - { id: ben, roles: [manager], key: "${ben.line}" }
  - { id: carl, roles: [clerk], key: "${carl.line}" }
`;
const files = {
  'one.yaml': DOCUMENT.replace('QUORUM', ''),
  'two.yaml': DOCUMENT.replace('QUORUM', ', quorum: 2'),
  'sluice.people.yaml': PEOPLE,
  'script.yaml': 'tools: { pay.refund: { result: { paid: true } } }\n',
  'anna.pem': anna.key,
  'ben.pem': ben.key,
  'carl.pem': carl.key,
  'not.pem': 'nothing\n',
};
const WORLD = ['--script', 'script.yaml', '--json'];
const RUN = (file: string): readonly string[] => ['run', file, '--run', 'r', ...WORLD];

function answer(as: string, key: string | null, ...more: readonly string[]): readonly string[] {
  return ['answer', 'a_r.0.0', 'approve', '--as', as, ...(key === null ? [] : ['--key', key]), ...more, ...WORLD];
}

test('`keys add` makes a private key that only its owner can read, and `keys list` shows the public one', async () => {
  const cwd = folder();
  const env = { SLUICE_KEYS_DIR: join(cwd, 'keys') };
  const added = await ended(start(['keys', 'add', 'anna', '--json'], { cwd, env }));
  const { key, file } = json(added) as { key: string; file: string };
  expect(key).toMatch(/^ed25519:[\w-]{43}$/);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(join(cwd, 'keys')).mode & 0o777).toBe(0o700);
  expect(readFileSync(file, 'utf8')).toContain('BEGIN PRIVATE KEY');
  const again = await ended(start(['keys', 'add', 'anna', '--json'], { cwd, env }));
  expect([again.status, json(again)]).toMatchObject([1, { error: { code: 'bad-key-file' } }]);
  const listed = await ended(start(['keys', 'list', '--json'], { cwd, env }));
  expect(json(listed)).toEqual([{ name: 'anna', key, file }]);
  writeFileSync(join(cwd, 'keys', 'broken.pem'), 'not a key');
  const mixed = await ended(start(['keys', 'list', '--json'], { cwd, env }));
  expect([mixed.status, json(mixed)]).toEqual([
    0,
    [
      { name: 'anna', key, file },
      {
        name: 'broken',
        key: null,
        file: join(cwd, 'keys', 'broken.pem'),
        problem: expect.stringContaining('cannot be used') as string,
      },
    ],
  ]);
  const bad = await ended(start(['keys', 'add', '../anna', '--json'], { cwd, env }));
  expect([bad.status, existsSync(join(cwd, 'anna.pem'))]).toEqual([2, false]);
});

test('an answer needs the right person and the right key', async () => {
  const cwd = folder(files);
  expect((await sluice([...RUN('one.yaml'), '--user', 'ben'], { cwd })).status).toBe(3);
  for (const [args, code] of [
    [answer('carl', 'carl.pem'), 'not-an-approver'],
    [answer('anna', null), 'identity-unproven'],
    [answer('anna', 'ben.pem'), 'identity-unproven'],
    [answer('ben', 'ben.pem'), 'self-approval'],
    [answer('anna', 'anna.pem', '--payload', 'other'), 'stale-payload'],
    [answer('anna', 'not.pem'), 'bad-key-file'],
    [answer('anna', 'missing.pem'), 'file-not-found'],
  ] as const) {
    const refused = await sluice(args, { cwd });
    expect([code, json(refused)]).toMatchObject([code, { error: { code } }]);
    expect(refused.status).toBe(code === 'file-not-found' ? 2 : 1);
  }
  expect(report(await sluice(['show', 'r', '--json'], { cwd }))).toMatchObject({ state: 'suspended' });
  const right = await sluice(answer('anna', 'anna.pem'), { cwd });
  expect([right.status, json(right)]).toMatchObject([0, { receipts: [{ approvedBy: 'anna' }] }]);
  const trace = (json(await sluice(['trace', 'r', '--json'], { cwd })) as { type: string }[]).map(({ type }) => type);
  expect(trace.filter((type) => type === 'answer.refused')).toHaveLength(5);
  expect((await sluice(['replay', 'r', '--json'], { cwd })).status).toBe(0);
  expect((await sluice(['audit', 'verify', '--json'], { cwd })).status).toBe(0);
});

test('a quorum of two: the first answer exits with 3 and says who is missing', async () => {
  const cwd = folder(files);
  await sluice(RUN('two.yaml'), { cwd });
  const first = await sluice(answer('anna', 'anna.pem'), { cwd });
  expect([first.status, json(first)]).toMatchObject([
    3,
    { waiting: [{ approvers: { people: ['ben'], signing: ['ben'], missing: 1, answers: [{ by: 'anna' }] } }] },
  ]);
  // The printed command is complete: with the key.
  expect((await sluice(['approvals'], { cwd })).stdout).toContain('approve --as ben --key ben');
  const again = await sluice(answer('anna', 'anna.pem'), { cwd });
  expect([again.status, json(again)]).toMatchObject([1, { error: { code: 'already-answered' } }]);
  const second = await sluice(answer('ben', 'ben.pem'), { cwd });
  expect([second.status, json(second)]).toMatchObject([0, { approvals: { gate: 'approve' } }]);
});

test('people that are edited after the start do not change the run', async () => {
  const cwd = folder(files);
  await sluice(RUN('one.yaml'), { cwd });
  writeFileSync(join(cwd, 'sluice.people.yaml'), `people:\n  - { id: carl, roles: [manager], key: "${carl.line}" }\n`);
  const refused = await sluice(answer('carl', 'carl.pem'), { cwd });
  expect([refused.status, json(refused)]).toMatchObject([1, { error: { code: 'not-an-approver' } }]);
});

test('two people in two processes answer at once: one wins, and nothing runs twice', async () => {
  const cwd = folder(files);
  await sluice(RUN('one.yaml'), { cwd });
  const both = await Promise.all(
    [answer('anna', 'anna.pem'), answer('ben', 'ben.pem')].map((args) => ended(start(args, { cwd }))),
  );
  expect(both.map(({ status }) => status).toSorted((a, b) => Number(a) - Number(b))).toEqual([0, 1]);
  const lost = both.find(({ status }) => status === 1);
  expect(json(lost as (typeof both)[number])).toMatchObject({
    error: { code: expect.stringMatching(/approval-closed|run-ended/) },
  });
  expect(report(await sluice(['show', 'r', '--json'], { cwd }))).toMatchObject({ usage: { toolCalls: 1 } });
});
