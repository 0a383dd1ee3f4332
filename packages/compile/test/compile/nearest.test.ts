import { expect, test } from 'vitest';
import { nearest } from '../../src/source/nearest.ts';
import { misspelt } from '@sluice-internal/kernel/expr';

test.each([
  ['agnets', ['agents', 'models'], 'agents'],
  ['timeout', ['name', 'timeout_secs'], 'timeout_secs'],
  ['retries', ['max_retries', 'max_iterations'], 'max_retries'],
  ['token', ['max_token_count', 'tokenizer_options'], 'max_token_count'],
  // What is spelt much like it is nearer than what it is a part of.
  ['modle', ['modles_of_all_kinds', 'model'], 'model'],
  ['string', ['substring'], 'substring'],
  ['refund', ['payments.refund'], 'payments.refund'],
  ['InitialState', ['Initial', 'States'], 'Initial'],
  ['AgentName', ['Name'], undefined],
  // Two letters are part of too much.
  ['id', ['void_id'], undefined],
  // One letter says nothing about another.
  ['B', ['A'], undefined],
  ['b', ['B'], 'B'],
  ['same', ['same'], undefined],
  ['xylophone', ['agents'], undefined],
])('%s among %j', (word, names, expected) => {
  expect(nearest(word, names)).toBe(expected);
});

test('a part of a name is no misspelling of it', () => {
  expect(misspelt('content', ['contentEncoding', 'contains'])).toBeUndefined();
  expect(misspelt('minItmes', ['minItems'])).toBe('minItems');
});
