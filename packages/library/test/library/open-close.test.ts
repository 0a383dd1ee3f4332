/** `createEngine`: places of the journal that it refuses, and engines that are closed twice. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { attachment } from '@sluice-internal/tools/calls';
import { compile } from '../../src/compile.ts';
import { createEngine } from '../../src/create-engine.ts';
import { fileAt } from '../../src/host/location.ts';

const DOCUMENT = {
  pii: { attachments: true },
  agents: [{ id: 'clerk', instructions: 'Answer.' }],
  flow: {
    id: 'desk',
    entry: 'answer',
    nodes: [{ id: 'answer', type: 'agent', agent: 'clerk', input: { text: '{{event.payload.message}}' } }],
  },
};

test.each(['memory', 'a file'])('an engine with personal data and attachments in %s closes twice', async (where) => {
  const file = join(mkdtempSync(join(tmpdir(), 'sluice-close-')), 'runs.db');
  const engine = createEngine({ journal: where === 'memory' ? ':memory:' : file, script: { agents: { clerk: 'ok' } } });
  const photo = attachment({ path: 'examples/damage-door.png' });
  const run = await engine.run(compile(DOCUMENT), { message: 'I am ann@x.example', photo });
  expect(await run.result()).toMatchObject({ code: 'SUCCESS' });
  await engine.close();
  await expect(engine.close()).resolves.toBeUndefined();
  rmSync(dirname(file), { recursive: true });
});

describe('a location', () => {
  test.each([
    ['runs.db', 'runs.db'],
    ['./a:b.db', './a:b.db'],
    ['C:\\runs.db', 'C:\\runs.db'],
    ['sqlite:runs.db', 'runs.db'],
    ['SQLite:./x/runs.db', './x/runs.db'],
    ['sqlite:/data/runs.db', '/data/runs.db'],
    ['sqlite:///data/my%20runs.db', '/data/my runs.db'],
    [':memory:', undefined],
    ['sqlite::memory:', undefined],
  ])('%s is the file %s', (location, file) => {
    expect(fileAt(location)).toBe(file);
  });

  test.each([
    ['', 'Name a file'],
    ['sqlite:', 'Name a file'],
    ['sqlite://data/runs.db', 'sqlite:///data/runs.db'],
    ['sqlite:runs.db?mode=ro', 'no parameters'],
    ['sqlite:100%.db', '%25'],
    ['sqlit:runs.db', 'Did you mean `sqlite:`?'],
    ['mysql://ann:secret@host/runs?password=secret', 'Name a file'],
    ['postgres://ann:secret@host/runs?password=secret', 'Known are `schema` and `sslmode`'],
    ['backup:runs.db', 'begins with `./`'],
  ])('%j is refused with one error, which shows no password', (journal, help) => {
    const wrong = { code: 'journal-unavailable', help: expect.stringContaining(help) };
    expect(() => createEngine({ journal })).toThrow(expect.objectContaining(wrong));
    expect(() => createEngine({ journal })).not.toThrow('secret');
  });

  test('an engine opens the file of an address, which the same path finds', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'sluice-address-')), 'runs.db');
    const one = createEngine({ journal: `sqlite:${file}`, script: { agents: { clerk: 'ok' } } });
    const run = await one.run(compile(DOCUMENT), { message: 'Hello.' });
    await run.result();
    await one.close();
    const two = createEngine({ journal: file });
    expect((await two.list()).map((each) => each.run)).toEqual([run.id]);
    await two.close();
    rmSync(dirname(file), { recursive: true });
  });
});
