/** Memory of an engine of the library: beside its journal, by tenant, with an embedder, and violations in the journal. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createMemoryStore } from '@sluice-internal/store-sqlite';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { MemoryViolation } from '@sluice-internal/engine/ports';
import type { Embedder, MemoryStore } from '@sluice-internal/engine/ports';
import type { RunEvent } from '@sluice-internal/wire';
import { openMemory } from '@sluice-internal/engine/memory';
import { createEngine } from '@sluice-internal/library/compose';
import type { CreateEngineOptions } from '@sluice-internal/library/compose';
import { compiled } from '../../../../test/support/harness.ts';
import { DOCUMENT, SCRIPT } from './remembering.ts';

const FLOW: CompiledFlow = compiled(DOCUMENT);

async function remembering(options: CreateEngineOptions, flow = FLOW): Promise<readonly RunEvent[]> {
  await using engine = createEngine({ script: SCRIPT, ...options });
  const run = await engine.run(flow, 'Which order?');
  await run.result();
  const events: RunEvent[] = [];
  for await (const event of run.events()) events.push(event);
  return events.filter(({ type }) => type.startsWith('memory.') || type === 'trouble');
}

test('two engines on one journal remember, for each tenant its own', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-memory-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const journal = join(dir, 'runs.db');
  const [, written] = await remembering({ journal, tenant: 'acme' });
  expect(written).toMatchObject({ type: 'memory.written', trust: 'trusted', sources: [expect.any(String)] });
  const entry = (written as { readonly entry: string }).entry;
  expect(await remembering({ journal, tenant: 'acme' })).toMatchObject([
    { type: 'memory.recalled', entries: [entry], quarantined: [] },
    { type: 'memory.written' },
  ]);
  expect(await remembering({ journal, tenant: 'bank' })).toMatchObject([
    { type: 'memory.recalled', entries: [] },
    { type: 'memory.written' },
  ]);
});

test('an embedder is asked for the goal and for each entry', async () => {
  const texts: string[] = [];
  const embedder: Embedder = {
    embed: async (given) => {
      texts.push(...given);
      return given.map(() => [1, 0]);
    },
  };
  await remembering({ journal: openMemory(), toolOptions: { memory: createMemoryStore(), embedder } });
  expect(texts).toEqual(['Which order?', 'Which order?\nThe order is A-17.']);
});

test('a violation is an event of the run, and the run goes on without memory', async () => {
  const memory: MemoryStore = {
    ...createMemoryStore(),
    find: async (caller) => {
      throw new MemoryViolation(caller, 'read', 'm_1');
    },
  };
  expect(await remembering({ journal: openMemory(), toolOptions: { memory } })).toMatchObject([
    { type: 'trouble', message: 'MemoryViolation: agent `clerk` may not read the memory entry `m_1`' },
    { type: 'memory.written' },
  ]);
});

test('a rule that cannot be evaluated is quoted, and nothing is remembered', async () => {
  const memory = createMemoryStore();
  const validate = [{ when: 'int(answer) > 3 // large', reason: 'too small' }];
  const flow = compiled({ ...DOCUMENT, loop: { ...DOCUMENT.loop, memory: { validate } } });
  const quoted =
    'the rule `int(answer) > 3 // large` cannot be evaluated: `The order is A-17.` is not a number of that type';
  expect(await remembering({ journal: openMemory(), toolOptions: { memory } }, flow)).toMatchObject([
    { type: 'memory.recalled' },
    { type: 'trouble', message: quoted },
  ]);
  expect(await memory.find({ operator: 'olga' }, { now: 0 })).toEqual([]);
});
