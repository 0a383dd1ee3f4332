/** `retain`, `sluice prune` and `--tenant`: what is removed, what stays, and what another tenant can do. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { attachmentsBeside, openPiiStore, piiFileOf } from '@sluice-internal/store-sqlite';
import { folder } from './cli.ts';
import { sluice } from './in-process.ts';

const examples = new URL('../../../../examples/', import.meta.url).pathname;
const flowWith = (retain: string): string => `${retain}
agents: [{ id: a }]
flow:
  id: f
  entry: ask
  nodes:
    - { id: ask, type: approval, message: go?, choices: [yes, no], routes: [{ to: n }] }
    - { id: n, type: agent, agent: a }
`;
const SCRIPT = 'agents: { a: [one] }\napprovals: { ask: yes }\n';

function start(cwd: string, run: string, ...more: string[]) {
  return sluice(['run', 'f.yaml', '--script', 's.yaml', '--run', run, ...more], { cwd });
}

async function runsOf(cwd: string, ...more: string[]): Promise<readonly string[]> {
  const { stdout } = await sluice(['runs', '--json', ...more], { cwd });
  return (JSON.parse(stdout) as { run: string }[]).map(({ run }) => run);
}

describe('retain', () => {
  test('keeps the newest runs of each tenant, exports the others and says so', async () => {
    const cwd = folder({ 'f.yaml': flowWith('retain: { runs: 1, export: ./archive }'), 's.yaml': SCRIPT });
    await start(cwd, 'r1', '--tenant', 'acme');
    await start(cwd, 'r2', '--tenant', 'globex');
    const third = await start(cwd, 'r3', '--tenant', 'acme');
    expect(third.stderr).toContain('1 ended run was removed');
    expect(await runsOf(cwd)).toEqual(['r3', 'r2']);
    expect(readdirSync(join(cwd, 'archive'))).toEqual(['r1.json']);
    expect((await sluice(['audit', 'verify', 'archive/r1.json'], { cwd })).status).toBe(0);
    expect((await sluice(['audit', 'verify'], { cwd })).stdout).toContain('1 removed run');
    const gone = await sluice(['show', 'r1'], { cwd });
    expect([gone.status, gone.stderr]).toEqual([1, expect.stringMatching(/run `r1` was removed from .* on \d{4}-/)]);
    expect(gone.stderr).toContain(join('archive', 'r1.json'));
    expect(gone.stderr).not.toContain('Did you mean');
    expect((await sluice(['trace', 'r1', '--tenant', 'acme'], { cwd })).stderr).toContain('was removed');
    // Another tenant does not learn that there was such a run.
    expect((await sluice(['show', 'r1', '--tenant', 'globex'], { cwd })).stderr).not.toContain('removed');
    await sluice(['audit', 'heads', '--tenant', 'globex', '--out', 'h.json'], { cwd });
    expect(readFileSync(join(cwd, 'h.json'), 'utf8')).not.toContain('"r1"');
    const again = await start(cwd, 'r1', '--tenant', 'acme');
    expect([again.status, again.stderr]).toEqual([1, expect.stringContaining('removed by retention')]);
  });

  test('with `runs: 0`, a run stays until the next one starts', async () => {
    const text = `retain: { runs: 0 }\nflow: { id: f, entry: a, nodes: [{ id: a, type: set, values: { x: 1 } }] }\n`;
    const cwd = folder({ 'f.yaml': text });
    for (const run of ['r1', 'r2']) {
      const ran = await sluice(['run', 'f.yaml', '--run', run], { cwd });
      expect([ran.status, ran.stdout]).toEqual([0, expect.stringContaining('"x": 1')]);
      expect(await runsOf(cwd)).toEqual([run]);
    }
  });

  test('removes nothing if the export fails', async () => {
    const cwd = folder({ 'f.yaml': flowWith('retain: { runs: 1, export: ./s.yaml/x }'), 's.yaml': SCRIPT });
    await start(cwd, 'r1');
    expect((await start(cwd, 'r2')).stderr).toContain('the export failed');
    expect(await runsOf(cwd)).toEqual(['r2', 'r1']);
  });

  test('an export folder in a place without folders fails, and the command ends', async () => {
    const cwd = folder({ 'f.yaml': flowWith('retain: { runs: 1, export: /proc/none/archive }'), 's.yaml': SCRIPT });
    await start(cwd, 'r1');
    expect((await start(cwd, 'r2')).stderr).toContain('the export failed');
    expect(await runsOf(cwd)).toEqual(['r2', 'r1']);
  });

  test.each([
    ['retain: { export: ./x }', 'missing-field'],
    ['retain: { runs: -1 }', 'bad-value'],
    ['retain: { days: 0 }', 'bad-value'],
    ['retain: { run: 3 }', 'unknown-key'],
  ])('%s is an error', async (retain, code) => {
    const cwd = folder({ 'f.yaml': flowWith(retain) });
    const { status, stdout } = await sluice(['check', 'f.yaml', '--json'], { cwd });
    expect([status, stdout]).toEqual([1, expect.stringContaining(`"code": "${code}"`)]);
  });
});

describe('prune', () => {
  test('a removed run is not mistaken for one whose id begins with its id, and an empty id names no run', async () => {
    const cwd = folder({ 'f.yaml': flowWith(''), 's.yaml': SCRIPT });
    await start(cwd, 'r1');
    await start(cwd, 'r12');
    expect((await sluice(['prune', '--keep', '1'], { cwd })).stdout).toContain('r1\n');
    expect((await sluice(['show', 'r'], { cwd })).stdout).toContain('r12');
    expect((await sluice(['show', 'r1'], { cwd })).stderr).toContain('run `r1` was removed');
    for (const command of [
      ['show', ''],
      ['resume', ''],
      ['audit', 'verify', ''],
      ['signal', '', 'go'],
    ])
      expect((await sluice(command, { cwd })).stderr, command.join(' ')).toContain('there is no run ``');
  });

  test('removes by number and age, never a run that has not ended', async () => {
    const cwd = folder({ 'f.yaml': flowWith(''), 's.yaml': SCRIPT, 'wait.yaml': 'agents: { a: [one] }\n' });
    for (const run of ['r1', 'r2', 'r3']) await start(cwd, run);
    await sluice(['run', 'f.yaml', '--script', 'wait.yaml', '--run', 'open'], { cwd });
    const dry = await sluice(['prune', '--keep', '2', '--dry-run', '--json'], { cwd });
    expect(JSON.parse(dry.stdout)).toEqual({ removed: ['r1', 'r2'], dryRun: true });
    expect(await runsOf(cwd)).toHaveLength(4);
    expect((await sluice(['prune', '--older-than', '1d', '--json'], { cwd })).stdout).toContain('"removed": []');
    await sluice(['prune', '--keep', '0', '--export', 'old'], { cwd });
    expect(await runsOf(cwd)).toEqual(['open']);
    expect(readdirSync(join(cwd, 'old'))).toEqual(['r1.json', 'r2.json', 'r3.json']);
    expect((await sluice(['show', 'r2'], { cwd })).stderr).toContain(join(cwd, 'old', 'r2.json'));
    expect((await sluice(['audit', 'verify'], { cwd })).status).toBe(0);
  });

  test('exports to a folder that starts at the current one, not at the document', async () => {
    const cwd = folder({ 'docs/f.yaml': flowWith(''), 's.yaml': SCRIPT });
    await sluice(['run', 'docs/f.yaml', '--script', 's.yaml', '--run', 'r1'], { cwd });
    const pruned = await sluice(['prune', '--keep', '0', '--export', 'archive'], { cwd });
    expect(pruned.stdout).toMatch(/^1 run was removed\n/);
    expect(readdirSync(join(cwd, 'archive'))).toEqual(['r1.json']);
    expect(existsSync(join(cwd, 'docs/archive'))).toBe(false);
  });

  test('personal data goes with the last run that uses it: a fork of a fork has the tokens of the first run', async () => {
    const flow = join(examples, 'personal-data.flow.yaml');
    const script = join(examples, 'personal-data.script.yaml');
    const cwd = folder({});
    await sluice(['run', flow, '--script', script, '--input', 'mail anna@example.com', '--run', 'r1'], { cwd });
    await sluice(['fork', 'r1', '--at', '1', '--script', script, '--run', 'f1'], { cwd });
    await sluice(['fork', 'f1', '--at', '1', '--script', script, '--run', 'f2'], { cwd });
    const ownersLeft = async (keep: string) => {
      await sluice(['prune', '--keep', keep], { cwd });
      const db = new DatabaseSync(join(cwd, '.sluice/sluice.db.pii'), { readOnly: true });
      const rows = db.prepare('SELECT DISTINCT run FROM tokens').all();
      db.close();
      return { runs: await runsOf(cwd), owners: rows.map(({ run }) => run) };
    };
    expect(await ownersLeft('1')).toEqual({ runs: ['f2'], owners: ['r1'] });
    expect(await ownersLeft('0')).toEqual({ runs: [], owners: [] });
  });

  test('a fork that cannot be read keeps its personal data, and no attachments of removed runs', async () => {
    const flow = join(examples, 'personal-data.flow.yaml');
    const script = join(examples, 'personal-data.script.yaml');
    const cwd = folder({});
    await sluice(['run', flow, '--script', script, '--input', 'mail anna@example.com', '--run', 'r1'], { cwd });
    await sluice(['fork', 'r1', '--at', '1', '--script', script, '--run', 'f1'], { cwd });
    const journal = join(cwd, '.sluice/sluice.db');
    const attachments = attachmentsBeside(journal);
    await attachments.add('r1', {
      id: 'sha256-a',
      data: Buffer.of(1),
      mediaType: 'image/png',
      name: 'a',
      origin: 'tool',
    });
    const db = new DatabaseSync(journal);
    db.exec("UPDATE flows SET text = 'x'");
    db.close();
    const pruned = await sluice(['prune', '--keep', '1'], { cwd });
    expect([pruned.status, pruned.stderr]).toEqual([1, expect.stringContaining('the graph of run `f1` is unreadable')]);
    expect(await runsOf(cwd)).toEqual(['f1']);
    expect(await attachments.list('r1')).toEqual([]);
    await attachments.close();
    const vault = openPiiStore(piiFileOf(journal));
    expect(await vault.owners()).toEqual(['r1']);
    await vault.close();
  });

  test('without options takes the rule of each flow; wrong options are named', async () => {
    const cwd = folder({ 'f.yaml': flowWith('retain: { days: 30 }'), 's.yaml': SCRIPT });
    await start(cwd, 'r1');
    expect((await sluice(['prune', '--json'], { cwd })).stdout).toContain('"removed": []');
    for (const args of [
      ['--keep', 'x'],
      ['--older-than', 'soon'],
      ['--flow', 'f'],
      ['--flow', 'typo', '--keep', '1'],
    ])
      expect((await sluice(['prune', ...args], { cwd })).status, args.join(' ')).toBe(2);
    const empty = folder({});
    expect((await sluice(['prune', '--keep', '1', '--export', 'out'], { cwd: empty })).status).toBe(1);
    expect(existsSync(join(empty, 'out'))).toBe(false);
  });
});

describe('--tenant', () => {
  test('the runs of another tenant cannot be read, answered, forked, cancelled or removed', async () => {
    const cwd = folder({ 'f.yaml': flowWith(''), 's.yaml': SCRIPT, 'wait.yaml': 'agents: { a: [one] }\n' });
    await sluice(['run', 'f.yaml', '--script', 'wait.yaml', '--run', 'r1', '--tenant', 'acme', '--user', 'ann'], {
      cwd,
    });
    const own = JSON.parse((await sluice(['runs', '--json', '--tenant', 'acme'], { cwd })).stdout) as object[];
    expect(own).toMatchObject([{ run: 'r1', tenant: 'acme', user: 'ann' }]);
    expect(await runsOf(cwd, '--tenant', 'globex')).toEqual([]);
    const [question] = JSON.parse((await sluice(['approvals', '--json'], { cwd })).stdout) as { id: string }[];
    const attacks: readonly (readonly string[])[] = [
      ['show', 'r1'],
      ['trace', 'r1'],
      ['replay', 'r1'],
      ['explain', 'r1'],
      ['answer', question?.id ?? '', 'yes', '--script', 's.yaml'],
      ['signal', 'r1', 'x'],
      ['fork', 'r1', '--at', '1'],
      ['resume', 'r1'],
      ['cancel', 'r1'],
      ['erase', 'r1'],
      ['audit', 'export', 'r1', '--out', 'x.json'],
      ['diff', 'r1', 'r1'],
    ];
    for (const args of attacks) {
      const { status, stderr } = await sluice([...args, '--tenant', 'globex'], { cwd });
      expect([args, status, stderr]).toEqual([args, 1, expect.stringMatching(/error\[(run|approval)-not-found\]/)]);
    }
    expect(existsSync(join(cwd, 'x.json'))).toBe(false);
    await sluice(['prune', '--keep', '0', '--tenant', 'globex'], { cwd });
    expect((await sluice(['show', 'r1', '--json', '--tenant', 'acme'], { cwd })).stdout).toContain('"suspended"');
    const taken = await start(cwd, 'r1', '--tenant', 'globex');
    expect(taken.status).toBe(1);
    const answered = await sluice(['answer', question?.id ?? '', 'yes', '--script', 's.yaml', '--tenant', 'acme'], {
      cwd,
    });
    expect(answered.status).toBe(0);
  });
});
