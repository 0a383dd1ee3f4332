/** A store that several machines share keeps personal data itself, and takes no key from a file of one of them. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { openMemory } from '@sluice-internal/engine/memory';
import type { PiiStore, Store } from '@sluice-internal/engine/ports';
import { openPiiStore } from '@sluice-internal/store-sqlite';
import { compile } from '../../src/compile.ts';
import { createEngine } from '../../src/create-engine.ts';
import type { Engine } from '../../src/create-engine.ts';

const DOCUMENT = {
  pii: { mode: 'tokenize', trusted: ['send'] },
  tools: { send: { effect: 'read' } },
  flow: {
    id: 'mail',
    entry: 'ask',
    nodes: [
      { id: 'ask', type: 'approval', message: 'Send?', choices: ['yes', 'no'], routes: [{ to: 'send' }] },
      { id: 'send', type: 'tool', tool: 'send', params: { text: '{{event.payload.message}}' } },
    ],
  },
};

/** As a database server answers: later, and only with data. */
function remote(pii: PiiStore): PiiStore {
  const later = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return new Proxy(pii, {
    get: (target, name) => {
      const value = target[name as keyof PiiStore] as unknown;
      if (typeof value !== 'function') return value;
      return async (...given: unknown[]) => {
        await later();
        return (value as (...all: unknown[]) => unknown).apply(target, structuredClone(given));
      };
    },
  });
}

function networkStore(): { readonly store: Store; readonly pii: PiiStore } {
  const pii = openPiiStore(':memory:');
  onTestFinished(() => pii.close());
  return { store: { ...openMemory(), close: async () => undefined, reach: 'network', pii: remote(pii) }, pii };
}

function open(journal: Store, sent: string[]): Engine {
  const engine = createEngine({
    journal,
    tools: { send: ({ text }: { text?: string }) => void sent.push(text ?? '') },
  });
  onTestFinished(() => engine.close());
  return engine;
}

afterEach(() => void vi.unstubAllEnvs());

test('with the key in the environment, the engine of another machine restores the values', async () => {
  vi.stubEnv('SLUICE_PII_KEY', randomBytes(32).toString('base64'));
  const { store, pii } = networkStore();
  const sent: string[] = [];
  const one = open(store, sent);
  const run = await one.run(compile(DOCUMENT), { message: 'I am ann@x.example and bob@x.example.' });
  const { waiting } = await one.settled(run.id);
  await one.close();
  expect(JSON.stringify(await store.journal.load(run.id))).not.toContain('ann@x.example');
  const two = open(store, sent);
  await two.answer(waiting[0]?.id ?? '', { choice: 'yes', by: 'eve' });
  expect(await two.settled(run.id)).toMatchObject({ state: 'completed' });
  expect(sent).toEqual(['I am ann@x.example and bob@x.example.']);
  expect(await pii.erase(run.id)).toBe(2);
});

test.each([
  ['a file that the document names', true],
  ['a file that would be made', false],
])('a key in %s is refused', async (_, isNamed) => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-network-'));
  const file = join(dir, 'own.key');
  writeFileSync(file, randomBytes(32).toString('base64'));
  vi.stubEnv('SLUICE_PII_KEY', '');
  const { store } = networkStore();
  const document = { ...DOCUMENT, pii: { ...DOCUMENT.pii, ...(isNamed ? { key_file: file } : {}) } };
  const engine = createEngine({ journal: store, tools: { send: () => null } });
  onTestFinished(() => engine.close());
  await expect(engine.run(compile(document), { message: 'ann@x.example' })).rejects.toMatchObject({
    code: 'pii-key',
    help: expect.stringContaining('SLUICE_PII_KEY'),
  });
  expect((await store.index.list()).items).toEqual([]);
});

test('a network store that keeps no personal data refuses a document with it', async () => {
  vi.stubEnv('SLUICE_PII_KEY', randomBytes(32).toString('base64'));
  const { pii: _, ...store } = networkStore().store;
  const engine = open(store, []);
  await expect(engine.run(compile(DOCUMENT), { message: 'ann@x.example' })).rejects.toMatchObject({ code: 'pii-key' });
});
