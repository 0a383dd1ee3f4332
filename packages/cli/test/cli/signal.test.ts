/** `sluice signal`, and waits that outlive the process which began them, also one that was killed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ended, folder, json, report, start } from './cli.ts';
import { sluice } from './in-process.ts';

const PARCEL = `flow:
  id: parcel
  entry: pause
  nodes:
    - { id: pause, type: wait, signal: shipped, routes: [{ to: done }] }
    - { id: done, type: terminal, output: { carrier: "{{pause.data.carrier}}" } }
`;
const NAP = `flow:
  id: nap
  entry: before
  nodes:
    - { id: before, type: set, values: { n: 1 }, routes: [{ to: pause }] }
    - { id: pause, type: wait, for: 1.5, routes: [{ to: done }] }
    - { id: done, type: terminal, output: { n: "{{before.n}}" } }
`;

test('a signal with data goes on with the run, as an answer does', async () => {
  const cwd = folder({ 'parcel.yaml': PARCEL });
  const waiting = await sluice(['run', 'parcel.yaml', '--json'], { cwd });
  expect(waiting.status).toBe(3);
  const { run, state } = report(waiting);
  expect(state).toBe('suspended');
  const sent = await sluice(['signal', run, 'shipped', '--data', '{"carrier": "DHL"}', '--json'], { cwd });
  expect(sent.status).toBe(0);
  expect(report(sent)).toMatchObject({ state: 'completed', code: 'SUCCESS', output: { carrier: 'DHL' } });
  const again = await sluice(['signal', run, 'shipped'], { cwd });
  expect(again.status).toBe(1);
  expect(again.stderr).toContain('run-ended');
});

test('a signal that nothing awaits, broken data and an unknown run are each one clear error', async () => {
  const cwd = folder({ 'parcel.yaml': PARCEL });
  const { run } = report(await sluice(['run', 'parcel.yaml', '--json'], { cwd }));
  const other = await sluice(['signal', run, 'shiped'], { cwd });
  expect(other.status).toBe(1);
  expect(other.stderr).toContain('shipped');
  const broken = await sluice(['signal', run, 'shipped', '--data', '{"carrier": '], { cwd });
  expect(broken.status).not.toBe(0);
  expect(broken.stderr).toContain('JSON');
  const unknown = await sluice(['signal', 'r_nowhere', 'shipped'], { cwd });
  expect(unknown.status).toBe(1);
  expect(unknown.stderr).toContain('run-not-found');
  expect(report(await sluice(['show', run, '--json'], { cwd })).state).toBe('suspended');
});

test(
  'kill -9 during a wait: another process takes the run up and the timer fires once',
  { timeout: 60_000 },
  async () => {
    const cwd = folder({ 'nap.yaml': NAP });
    const child = start(['run', 'nap.yaml', '--json'], { cwd });
    const done = ended(child);
    let runs: readonly { readonly run: string }[] = [];
    while (runs.length === 0) {
      await sleep(100);
      const listed = await sluice(['runs', '--json'], { cwd });
      if (listed.status === 0) runs = json(listed) as typeof runs;
    }
    child.kill('SIGKILL');
    await done;
    const run = runs[0]?.run ?? '';
    const resumed = report(await sluice(['resume', run, '--json'], { cwd }));
    expect(resumed).toMatchObject({ state: 'completed', output: { n: 1 }, path: ['before', 'pause', 'done'] });
    expect((await sluice(['audit', 'verify', run], { cwd })).status).toBe(0);
  },
);
