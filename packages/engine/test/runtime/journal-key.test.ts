/** The keys of the journal: where they come from, and what is no key. */
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { NO_CODEC, codecOf, codecOfProcess, journalKeys, keyIdOf } from '@sluice-internal/engine/ports';

const dir = mkdtempSync(join(tmpdir(), 'sluice-keys-'));
afterAll(() => rmSync(dir, { recursive: true }));
afterEach(() => vi.unstubAllEnvs());
const [ONE, TWO] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
const idOf = (text: string): string => journalKeys(text)[0]?.id ?? '';
const given = (value: string): string | null => {
  vi.stubEnv('SLUICE_JOURNAL_KEY', value);
  return codecOfProcess().key;
};

test('from the environment, a file and a command; the first one seals', () => {
  const file = join(dir, 'key');
  writeFileSync(file, `${TWO}\n${ONE}\n`, { mode: 0o600 });
  expect([given(''), given(ONE), given(`${TWO},${ONE}`), given(`file:${file}`), given(`command:cat ${file}`)]).toEqual([
    null,
    idOf(ONE),
    idOf(TWO),
    idOf(TWO),
    idOf(TWO),
  ]);
  expect(given(ONE.replaceAll('+', '-').replaceAll('/', '_').replace('=', ''))).toBe(idOf(ONE));
});

test('a file and a command are read once by a process', () => {
  const file = join(dir, 'count');
  for (let round = 0; round < 3; round++) given(`command:echo x >> ${file}; echo ${ONE}`);
  expect(given(`command:test $(wc -l < ${file}) = 1 && echo ${TWO}`)).toBe(idOf(TWO));
});

test.each([
  ['short', /32 bytes/],
  [`${ONE},`.repeat(2).slice(0, -5), /32 bytes/],
  [`file:${join(dir, 'none')}`, /cannot be read/],
  [`file:${join(dir, 'empty')}`, /has no key/],
  [`file:${join(dir, 'open')}`, /can be read by others/],
  ['command:exit 3', /ended with status 3/],
  ['command:true', /has no key/],
  ['command:echo my-secret-output', /32 bytes/],
])('%s is refused', (value, message) => {
  writeFileSync(join(dir, 'empty'), '', { mode: 0o600 });
  writeFileSync(join(dir, 'open'), ONE);
  chmodSync(join(dir, 'open'), 0o644);
  expect(() => given(value)).toThrow(
    expect.objectContaining({ code: 'journal-key', message: expect.stringMatching(message) }),
  );
  expect(() => given(value)).not.toThrow(/my-secret-output/);
});

test('a seal covers its place, and every bit of it', () => {
  const codec = codecOf(journalKeys(ONE));
  const place = { store: 's', table: 'log', run: 'r', seq: 1 };
  const text = 'ä secret';
  const sealed = codec.seal(text, place);
  expect([keyIdOf(sealed), codec.open(sealed, place), sealed.includes('secret')]).toEqual([idOf(ONE), text, false]);
  expect(codec.seal(text, place)).not.toBe(sealed);
  for (const other of [{ store: 't' }, { table: 'blobs' }, { run: 'q' }, { seq: 2 }, { seq: '1' }])
    expect(codec.open(sealed, { ...place, ...other })).toBe(sealed);
  const bytes = codec.sealBytes(Buffer.from(text), place);
  for (let at = 22; at < bytes.length; at++) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(Buffer.from(codec.openBytes(changed, place)).equals(changed)).toBe(true);
  }
  expect(Buffer.from(codec.openBytes(bytes, place)).toString()).toBe(text);
  for (const plain of ['', text, sealed, 'plain:', `plain:${sealed}`, 'sealed:k_1'])
    for (const used of [codec, NO_CODEC]) expect(used.open(used.seal(plain, place), place)).toBe(plain);
});
