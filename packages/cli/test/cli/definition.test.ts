/** A module that exports a definition is a document: its functions run, also in the command that continues the run. */
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folder, json, report, root, sluice } from './cli.ts';
import { sluice as inProcess } from './in-process.ts';

const MODULE = `import { agent, flow, jsonSchema, text, tool } from 'sluice';
const Input = jsonSchema({ type: 'object', properties: { message: { type: 'string' } } });
const pay = tool('payments.pay', { effect: 'financial', input: jsonSchema({ type: 'object', properties: { amount: { type: 'number' } } }), run: ({ amount }) => ({ paid: amount * 2 }) });
const triage = agent('triage', { instructions: 'Sort.', output: jsonSchema({ type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] }) });
export default flow('pays', { input: Input })
  .step(triage, ({ input }) => input.message)
  .approve('gate', ({ triage }) => text\`Pay \${triage.amount}?\`)
  .step(pay, ({ triage }) => ({ amount: triage.amount }));
`;
/** The package is installed in the project, as a link to the checkout. */
function project(): string {
  const cwd = folder({
    'pays.ts': MODULE,
    's.yaml': `agents: { triage: ['{"amount": 21}'] }\n`,
    'elsewhere/.keep': '',
    'node_modules/.keep': '',
  });
  symlinkSync(root, join(cwd, 'node_modules', 'sluice'));
  return cwd;
}

const RUN = ['run', 'pays.ts', '--script', 's.yaml', '--input', 'money', '--run', 'r_1', '--json'];

test('check and run take it, and answer calls its function from another folder', async () => {
  const cwd = project();
  expect(json(await sluice(['check', 'pays.ts', '--json'], { cwd }))).toMatchObject({ ok: true, flow: 'pays' });
  const asked = await sluice(RUN, { cwd });
  expect(asked.status).toBe(3);
  expect(report(asked).waiting).toMatchObject([{ node: 'gate', message: 'Pay 21?' }]);
  const id = report(asked).waiting[0]?.id ?? '';
  const args = ['answer', id, 'approve', '--script', '../s.yaml', '--db', '../.sluice/sluice.db', '--json'];
  const answered = await sluice(args, { cwd: join(cwd, 'elsewhere') });
  expect([answered.status, report(answered).output]).toEqual([0, { paid: 42 }]);
});

test('code that has changed since the start is refused', async () => {
  const cwd = project();
  const id = report(await sluice(RUN, { cwd })).waiting[0]?.id ?? '';
  writeFileSync(join(cwd, 'pays.ts'), MODULE.replace('amount * 2', 'amount * 3'));
  const refused = await sluice(['answer', id, 'approve', '--script', 's.yaml', '--json'], { cwd });
  expect(json(refused)).toMatchObject({ error: { code: 'code-changed' } });
  const accepted = await sluice(['answer', id, 'approve', '--script', 's.yaml', '--accept-changed-code', '--json'], {
    cwd,
  });
  expect(report(accepted).output).toEqual({ paid: 63 });
});

test('a suite calls its functions, and refuses modes that would pay again and again', async () => {
  const cwd = project();
  const suite = (rest: string): string =>
    `flow: ./pays.ts\ncases:\n  - name: pays\n    input: money\n    script: { agents: { triage: ['{"amount": 21}'] }, approvals: { gate: approve } }\n    expect: { code: SUCCESS, output: { paid: 42 } }\n${rest}`;
  writeFileSync(join(cwd, 'pays.suite.yaml'), suite(''));
  const passed = await inProcess(['eval', 'pays.suite.yaml', '--json'], { cwd });
  expect([passed.status, json(passed)]).toMatchObject([0, { passed: 1, failed: 0 }]);
  writeFileSync(join(cwd, 'pays.suite.yaml'), suite('modes: [golden, faults]\n'));
  const refused = await inProcess(['eval', 'pays.suite.yaml', '--json'], { cwd });
  expect([refused.status, refused.stdout + refused.stderr]).toMatchObject([2, expect.stringContaining('payments.pay')]);
});

test('the only definition of a module may have any name, and several need a choice', async () => {
  const cwd = project();
  const named = MODULE.replace('export default flow', 'export const pays = flow');
  writeFileSync(join(cwd, 'named.ts'), `${named}export const other = 1;\n`);
  const found = json(await inProcess(['check', 'named.ts', '--json'], { cwd }));
  expect(found).toMatchObject({ ok: true, flow: 'pays' });
  writeFileSync(join(cwd, 'several.ts'), `${named}export const again = pays.approve('twice', () => 'Sure?');\n`);
  const several = await inProcess(['check', 'several.ts'], { cwd });
  expect(several.status).toBe(2);
  expect(several.stderr).toContain('exports several definitions: `again`, `pays`');
  expect(several.stderr).toContain('Export one of them as `default`, `document` or `flow`.');
});
