/** Quotas of tenants through the command: two processes of one database share them, also after `kill -9`. */
import { once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { ended, folder, json, report, sluice as spawned, start } from './cli.ts';
import { sluice } from './in-process.ts';

const FLOW = `agents: [{ id: a }]
flow:
  id: f
  entry: n
  nodes:
    - { id: n, type: agent, agent: a, routes: [{ to: m }] }
    - { id: m, type: agent, agent: a }
`;
const SLOW = 'clock: real\nagents: { a: [{ delayMs: 60000, text: one }] }\n';
const FAST = 'agents: { a: [one] }\n';

const RUN = ['run', 'f.yaml', '--tenant', 'acme', '--json', '--script'] as const;

async function withQuota(...limits: string[]): Promise<string> {
  const cwd = folder({ 'f.yaml': FLOW, 'slow.yaml': SLOW, 'fast.yaml': FAST });
  expect((await sluice(['quotas', 'set', 'acme', ...limits, '--as', 'olga', '--why', 'trial'], { cwd })).status).toBe(
    0,
  );
  return cwd;
}

interface Listed {
  readonly quotas: readonly {
    readonly tenant: string;
    readonly runs: { readonly limit: number | null; readonly used: number };
    readonly concurrent: { readonly used: number };
    readonly refused: number;
    readonly runsHeld: readonly string[];
  }[];
  readonly acts: readonly {
    readonly what: string;
    readonly by: string;
    readonly tenant: string;
    readonly why: string;
  }[];
}
async function listed(cwd: string): Promise<Listed> {
  return json(await sluice(['quotas', '--json'], { cwd })) as Listed;
}

/** Resolves when the run is stored. */
async function untilStarted(cwd: string, run: string): Promise<void> {
  while ((await sluice(['show', run], { cwd })).status !== 0) await new Promise((resolve) => setTimeout(resolve, 50));
}

describe('two processes', () => {
  test('share the runs at once; after kill -9 the reservation is returned, and resuming needs room again', async () => {
    const cwd = await withQuota('--concurrent', '1');
    const first = start([...RUN, 'slow.yaml', '--run', 'one'], { cwd });
    await untilStarted(cwd, 'one');
    const second = await spawned([...RUN, 'fast.yaml', '--run', 'two'], { cwd });
    expect([second.status, second.stdout]).toEqual([1, expect.stringContaining('"quota-exceeded"')]);
    expect((await sluice(['show', 'two'], { cwd })).status).toBe(1);

    first.kill('SIGKILL');
    await once(first, 'close');
    const third = start([...RUN, 'slow.yaml', '--run', 'three'], { cwd });
    await untilStarted(cwd, 'three');
    const resumed = await spawned(['resume', 'one', '--script', 'fast.yaml', '--json'], { cwd });
    expect([resumed.status, resumed.stdout]).toEqual([1, expect.stringContaining('"quota-exceeded"')]);
    third.kill('SIGKILL');
    await once(third, 'close');
    expect(report(await spawned(['resume', 'one', '--script', 'fast.yaml', '--json'], { cwd }))).toMatchObject({
      run: 'one',
      code: 'SUCCESS',
    });
    const { quotas, acts } = await listed(cwd);
    expect(quotas).toMatchObject([{ tenant: 'acme', refused: 2, runs: { used: 2 }, runsHeld: [] }]);
    expect(acts.map(({ what, by }) => [what, by])).toEqual([
      ['quota.set', 'olga'],
      ['quota.refused', ''],
      ['quota.refused', ''],
    ]);
    expect((await sluice(['audit', 'verify'], { cwd })).status).toBe(0);
  });

  test('start four runs at once under a quota of two', async () => {
    const cwd = await withQuota('--runs', '2', '--per', 'month');
    const all = await Promise.all(
      [1, 2, 3, 4].map((each) => ended(start([...RUN, 'fast.yaml', '--run', `r${each}`], { cwd }))),
    );
    expect(all.map(({ status }) => status).sort((a, b) => Number(a) - Number(b))).toEqual([0, 0, 1, 1]);
    expect((await listed(cwd)).quotas).toMatchObject([{ runs: { limit: 2, used: 2 }, refused: 2, runsHeld: [] }]);
  });
});

test('a stopped run can be cancelled without room in the quota', async () => {
  const cwd = await withQuota('--concurrent', '1');
  const first = start([...RUN, 'slow.yaml', '--run', 'one'], { cwd });
  await untilStarted(cwd, 'one');
  first.kill('SIGKILL');
  await once(first, 'close');
  await sluice(['quotas', 'set', 'acme', '--concurrent', '0'], { cwd });
  const cancelled = await sluice(['cancel', 'one', '--script', 'fast.yaml', '--json'], { cwd });
  expect(json(cancelled)).toMatchObject({ state: 'cancelled' });
});

describe('sluice quotas', () => {
  test('lists limits and use; a tenant sees its own and cannot change it', async () => {
    const cwd = await withQuota('--runs', '3');
    await sluice(['quotas', 'set', '*', '--runs', '1'], { cwd });
    await sluice([...RUN, 'fast.yaml'], { cwd });
    await sluice(['run', 'f.yaml', '--tenant', 'globex', '--script', 'fast.yaml'], { cwd });
    const { stdout } = await sluice(['quotas'], { cwd });
    expect(stdout).toMatch(/^acme +day +1 of 3/m);
    expect(stdout).toMatch(/^globex +day +1 of 1/m);
    const own = await sluice(['quotas', '--tenant', 'globex', '--json'], { cwd });
    expect(json(own)).toMatchObject({ quotas: [{ tenant: 'globex' }], acts: [] });
    const changed = await sluice(['quotas', 'set', 'globex', '--runs', '9', '--tenant', 'globex'], { cwd });
    expect([changed.status, changed.stderr]).toEqual([1, expect.stringContaining('wrong-tenant')]);
    for (const shared of [
      ['backup', 'copy.db'],
      ['breakers', 'open', 'bot@openai/gpt-6'],
      ['audit', 'acts'],
    ]) {
      const refused = await sluice([...shared, '--tenant', 'globex'], { cwd });
      expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining('wrong-tenant')]);
    }
    expect((await sluice(['quotas', 'remove', '*'], { cwd })).status).toBe(0);
    expect((await sluice(['run', 'f.yaml', '--tenant', 'globex', '--script', 'fast.yaml'], { cwd })).status).toBe(0);
  });

  test.each([
    [['set', 'acme'], 'a limit is missing'],
    [['set', 'acme', '--runs', 'ten'], '--runs'],
    [['set', 'acme', '--runs', '-1'], '--runs'],
    [['set', 'acme', '--tokens', '1.5'], 'whole number'],
    [['set', 'acme', '--runs', '1', '--per', 'week'], 'hour, day, month'],
    [['remove', 'acne'], 'Did you mean `acme`?'],
  ])('%j is wrong usage', async (args, message) => {
    const cwd = await withQuota('--runs', '3');
    const { status, stderr } = await sluice(['quotas', ...args], { cwd });
    expect([status, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  test('a use that was changed in the file is found', async () => {
    const cwd = await withQuota('--runs', '3');
    await sluice([...RUN, 'fast.yaml'], { cwd });
    const { DatabaseSync } = await import('node:sqlite');
    const db = new DatabaseSync(`${cwd}/.sluice/sluice.db`);
    db.exec(`UPDATE shared SET value = replace(value, '"runs":1', '"runs":0') WHERE key = 'quota.use:acme'`);
    db.close();
    const { status, stderr } = await sluice(['audit', 'verify'], { cwd });
    expect([status, stderr]).toEqual([1, expect.stringContaining('quota.use:acme')]);
  });
});

describe('a database that was changed from outside', () => {
  test.each([
    ['a quota deleted', "DELETE FROM shared WHERE key LIKE 'quota.rules:%'"],
    ['a quota raised', "UPDATE shared SET value = replace(value, '1', '9') WHERE key LIKE 'quota.rules:%'"],
    ['a count reset', "UPDATE shared SET value = '{}' WHERE key LIKE 'quota.use:%'"],
    ['a count deleted', "DELETE FROM shared WHERE key LIKE 'quota.use:%'"],
    ['the act that set it deleted', 'DELETE FROM acts'],
  ])('%s: `quotas` says so, and no run starts', async (_, sql) => {
    const cwd = await withQuota('--runs', '1');
    expect((await sluice([...RUN, 'fast.yaml', '--run', 'one'], { cwd })).status).toBe(0);
    const database = new DatabaseSync(join(cwd, '.sluice/sluice.db'));
    const keys = database
      .prepare("SELECT key FROM shared WHERE key LIKE 'quota.rules:%' OR key LIKE 'quota.use:%'")
      .all();
    expect(keys).toHaveLength(2);
    for (const { name } of database.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all())
      database.exec(`DROP TRIGGER ${String(name)}`);
    database.exec(sql);
    database.close();
    const shown = await sluice(['quotas'], { cwd });
    expect([shown.status, shown.stderr]).toEqual([1, expect.stringContaining('error[chain-broken]')]);
    expect(shown.stderr).not.toContain('no tenant has a quota');
    const listing = await sluice(['quotas', '--json'], { cwd });
    expect([listing.status, JSON.parse(listing.stdout)]).toMatchObject([1, { broken: expect.any(String) }]);
    const second = await sluice([...RUN, 'fast.yaml', '--run', 'two'], { cwd });
    expect([second.status, second.stdout]).toEqual([1, expect.stringContaining('"error"')]);
    expect(second.stdout).not.toContain('SUCCESS');
  });
});
