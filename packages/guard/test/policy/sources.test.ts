/** Names of untrusted texts, as the checks of arguments look for them. */
import { expect, test } from 'vitest';
import { squeezed, taintOf } from '../../src/text/sources.ts';

test('every name of a long text is found, also the last of 60,000', () => {
  const names = Array.from({ length: 60_000 }, (_, index) => `user-${index}@corp.example`);
  const source = taintOf('page', [names.join('\n')]);
  for (const name of [names[0], names[30_000], names[59_999]] as string[])
    expect(source.namesWithin([squeezed(`send it to ${name}`)])).toContain(name);
  expect(source.namesWithin([squeezed('send it to user-60000@corp.example')])).toEqual([]);
});

test('names that begin alike are all found, and each once', () => {
  const source = taintOf('page', ['acme/report/2024 acme/report/2024/final acme/report/2025']);
  const found = source.namesWithin([squeezed('acme-report-2024-final'), squeezed('acme report 2024')]);
  expect(found).toEqual(['acme/report/2024', 'acme/report/2024/final']);
});
