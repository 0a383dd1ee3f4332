/** `createEngine`: places of the journal that it refuses, and engines that are closed twice. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { attachment } from '@sluice-internal/tools/calls';
import { compile } from '../../src/compile.ts';
import { createEngine } from '../../src/create-engine.ts';

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

test('an address is not the path of a database', () => {
  const journal = 'postgres://host/runs';
  expect(() => createEngine({ journal })).toThrow(`there is no store for \`${journal}\``);
});
