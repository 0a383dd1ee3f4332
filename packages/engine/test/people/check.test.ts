/** `people` and `approvers` are checked with the document: names, quorum, keys, and the file beside the document. */
import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { compile } from '@sluice-internal/notations/driver';
import { anna, ben } from './people.ts';

function checked(document: string, files: { readonly [file: string]: string } = {}) {
  const result = compile(document, {
    file: 'demo/f.yaml',
    hash: (text) => hash('sha256', text, 'hex'),
    readText: (file) => files[file] ?? null,
  });
  const found = result.diagnostics.map(({ code, file, line, column, help, message }) => ({
    code,
    file,
    line,
    column,
    help,
    message,
  }));
  return { found, flow: result.flow };
}

const GATE = (approvers: string): string => `flow:
  id: f
  entry: gate
  nodes:
    - { id: gate, type: approval, message: "Go?", approvers: ${approvers} }
`;
/** Sets the last unused bit of a key. */
function respelt(line: string): string {
  return `${line.slice(0, -1)}${String.fromCharCode(line.charCodeAt(line.length - 1) + 1)}`;
}

const PEOPLE = `people:
  - { id: anna, roles: [manager] }
  - { id: ben, roles: [manager, ops] }
`;

test.each([
  ['{ roles: [manger] }', 'unknown-approver', 8, 72, 'Did you mean `manager`?'],
  ['{ people: [bem] }', 'unknown-approver', 8, 73, 'Did you mean `ben`?'],
  ['{ roles: [ops], quorum: 2 }', 'quorum-too-large', 8, 86, 'Name more people or roles, or lower `quorum`.'],
  ['{ roles: [ops], escalate: { after: 5, roles: [managr] } }', 'unknown-approver', 8, 108, 'Did you mean `manager`?'],
  ['{ rolls: [ops] }', 'unknown-key', 8, 64, 'Did you mean `roles`?'],
] as const)('approvers %s are refused with place and help', (approvers, code, line, column, help) => {
  expect(checked(PEOPLE + GATE(approvers)).found).toMatchObject([{ code, line, column, help }]);
});

test('people that are no list are one mistake', () => {
  expect(checked(`people: { anna: {} }\n${GATE('{ roles: [manager] }')}`).found).toMatchObject([
    { code: 'wrong-type' },
  ]);
});

test('approvers need people', () => {
  expect(checked(GATE('{ roles: [manager] }')).found).toMatchObject([{ code: 'unknown-approver', line: 5 }]);
});

test('the second level is asked before the question expires', () => {
  const late = `people: [{ id: anna }]
flow:
  id: f
  entry: gate
  nodes:
    - { id: gate, type: approval, message: "Go?", timeout: 60, approvers: { escalate: { after: 60 } } }
`;
  expect(checked(late).found).toMatchObject([
    { code: 'bad-value', message: expect.stringContaining('expires before') },
  ]);
});

test.each([
  [`- { id: anna, key: "ed25519:short" }`, 'bad-value'],
  [`- { id: anna }\n  - { id: anna, os_user: other }`, 'duplicate-id'],
  [`- { id: script }\n  - { id: anna }`, 'reserved-id'],
  [`- { id: anna, key: "${anna.line}" }\n  - { id: ben, key: "${anna.line}=" }`, 'bad-value'],
  // The last character has two bits that the key does not use: another spelling of the same key.
  [`- { id: anna, key: "${anna.line}" }\n  - { id: ben, key: "${respelt(anna.line)}" }`, 'bad-value'],
  [`- { id: anna }\n  - { id: ben, os_user: anna }`, 'bad-value'],
  [`- { id: anna, key: "${anna.line}", os_user: anna }`, 'bad-value'],
  ['- { id: anna, login: anna }', 'bad-value'],
  ['- { id: anna, login: "token:" }', 'bad-value'],
  ['- { id: anna, login: "https://login.example.com" }', 'bad-value'],
  ['- { id: anna, login: "token:a b" }', 'bad-value'],
  ['- { id: anna, login: "token:a" }\n  - { id: ben, login: "token:a" }', 'bad-value'],
  ['- { id: anna, login: "token:a" }\n  - { id: anna, login: "token:a" }', 'duplicate-id'],
] as const)('people %s are refused once', (people, code) => {
  const { found } = checked(`people:\n  ${people}\n${GATE('{ people: [anna] }')}`);
  expect(found.map((each) => each.code)).toEqual([code]);
});

test('a public key may also have the form of OpenSSL', () => {
  const der = `ed25519:MCowBQYDK2VwAyEA${anna.line.slice(8).replaceAll('-', '+').replaceAll('_', '/')}=`;
  const { flow } = checked(`people: [{ id: anna, key: "${der}" }, { id: ben, key: "${ben.line}" }]\n${GATE('{}')}`);
  expect(flow?.people?.['anna']?.key).toBe(anna.line);
});

test('people may stand in a file beside the document, and become part of the flow', () => {
  const files = { 'sluice.people.yaml': PEOPLE };
  const { flow, found } = checked(GATE('{ roles: [manager], quorum: 2 }'), files);
  expect(found).toEqual([]);
  expect(flow?.people).toMatchObject({ anna: { roles: ['manager'] }, ben: { roles: ['manager', 'ops'] } });
  expect(
    checked(GATE('{ roles: [manager] }'), { 'sluice.people.yaml': '- { id: anna, roles: [manager] }\n' }).found,
  ).toEqual([]);
  expect(checked(PEOPLE + GATE('{}'), files).found).toMatchObject([
    { code: 'people-twice', file: 'demo/f.yaml', line: 1 },
  ]);
  const broken = { 'sluice.people.yaml': 'people:\n  - { id: anna, role: manager }\n' };
  expect(checked(GATE('{ roles: [manager] }'), broken).found).toMatchObject([
    { code: 'unknown-key', file: 'demo/sluice.people.yaml', line: 2 },
  ]);
});

test('approvers of tools and stages are checked too', () => {
  const tool = `${PEOPLE}tools:
  pay.out: { effect: financial, input: { type: object }, approvers: { people: [annna] } }
flow: { id: f, entry: pay, nodes: [{ id: pay, type: tool, tool: pay.out }] }
`;
  expect(checked(tool).found).toMatchObject([{ code: 'unknown-approver', line: 5, help: 'Did you mean `anna`?' }]);
  const asks = checked(tool.replace('annna', 'anna')).flow?.nodes['pay'];
  const ask = { kind: 'ask', purpose: 'tool_call', approvers: { people: ['anna'], counted: ['approve'] } };
  expect(asks).toMatchObject({ controls: { walk: [{ how: 'meter' }, { how: 'ask', with: { ask } }] } });
  expect(checked(tool.replace('annna', 'anna').replace('approvers', 'approval: never, approvers')).found).toMatchObject(
    [{ code: 'bad-value' }],
  );
  const staged = `${PEOPLE}agents:
  - { id: p, instructions: "Plan." }
  - { id: w, instructions: "Work." }
staged:
  id: s
  tier: regulated
  plan: { agent: p }
  workers: { agent: w }
  validate: { review: true, approvers: { roles: [manger] } }
`;
  expect(checked(staged).found).toMatchObject([{ code: 'unknown-approver', line: 12 }]);
  const asked = Object.values(checked(staged.replace('manger', 'ops')).flow?.nodes ?? {}).flatMap((node) =>
    node.op === 'do' && node.effect.kind === 'ask' ? [node.effect.approvers?.people] : [],
  );
  expect(asked).toContainEqual(['ben']);
  expect(asked).toContainEqual(['anna', 'ben']);
});

test.each([
  ['kim', 'Kim'],
  ['anna', '\u0430nna'],
  ['anna', 'an\u200Bna'],
  ['Iris', 'lris'],
])('the ids %s and %s look alike, in one list and over both lists', (one, other) => {
  const list = (id: string): string => `people:\n  - { id: "${id}" }\n`;
  const related = (document: string, files: { readonly [file: string]: string }) =>
    compile(document, {
      file: 'demo/f.yaml',
      hash: (text) => hash('sha256', text, 'hex'),
      readText: (file) => files[file] ?? null,
    }).diagnostics.map(({ code, file, line, related: places }) => [
      code,
      file,
      line,
      places?.map((each) => [each.file, each.line]),
    ]);
  const both = `people:\n  - { id: "${one}" }\n  - { id: "${other}" }\n${GATE('{}')}`;
  expect(related(both, {})).toEqual([['look-alike', 'demo/f.yaml', 3, [['demo/f.yaml', 2]]]]);
  const same = 'people:\n  - { id: dora, login: "token:a" }\n';
  expect(related(same + GATE('{}'), { 'sluice.people.yaml': same.replace('dora', 'carl') })).toEqual([
    ['bad-value', 'demo/f.yaml', 2, [['demo/sluice.people.yaml', 2]]],
  ]);
  expect(related(list(one) + GATE('{}'), { 'sluice.people.yaml': list(other) })).toEqual([
    ['look-alike', 'demo/f.yaml', 2, [['demo/sluice.people.yaml', 2]]],
  ]);
});

test('people of the document and of the file are one list, and each is declared once', () => {
  const file = { 'sluice.people.yaml': 'people: [{ id: carl, roles: [manager] }]\n' };
  const { flow, found } = checked(PEOPLE + GATE('{ roles: [manager], quorum: 3 }'), file);
  expect(found).toEqual([]);
  expect(Object.keys(flow?.people ?? {}).toSorted()).toEqual(['anna', 'ben', 'carl']);
  const logins = 'people: [{ id: carl, login: "https://login.example.com#17" }]\n';
  const same = 'people:\n  - { id: dora, login: "https://login.example.com#17" }\n';
  expect(checked(same + GATE('{}'), { 'sluice.people.yaml': logins }).found).toMatchObject([
    { code: 'bad-value', file: 'demo/f.yaml', line: 2 },
  ]);
  expect(checked(GATE('{}'), { 'sluice.people.yaml': logins }).flow?.people?.['carl']?.login).toBe(
    'https://login.example.com#17',
  );
  const twins = { 'sluice.people.yaml': 'people: [{ id: carl, os_user: anna }]\n' };
  expect(checked(PEOPLE + GATE('{}'), twins).found).toMatchObject([
    { code: 'bad-value', file: 'demo/f.yaml', line: 2 },
  ]);
});
