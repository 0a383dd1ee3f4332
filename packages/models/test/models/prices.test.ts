/** What models cost: looked up once, and counted by the row that the flow keeps. */
import { describe, expect, test } from 'vitest';
import { costOf } from '@sluice-internal/kernel/ir';
import { priceOf } from '../../src/prices.ts';

describe('the table', () => {
  test('knows models by provider, and says so where it does not', () => {
    expect(priceOf('openai', 'gpt-4o')).toEqual({ input: 2.5, output: 10, cached_input: 1.25 });
    expect(priceOf('openai.chat', 'gpt-4o')).toEqual(priceOf('openai', 'gpt-4o'));
    expect(priceOf('openai', 'of-our-own')).toBeNull();
    expect(priceOf('nobody', 'gpt-4o')).toBeNull();
    expect(priceOf('constructor', 'gpt-4o')).toBeNull();
    expect(priceOf('ollama', 'llama3')).toBeNull();
  });

  test('long input has the dearest price of those that follow', () => {
    expect(priceOf('google', 'gemini-2.5-pro')).toMatchObject({
      input: 1.25,
      output: 10,
      long: { above: 200_000, input: 2.5, output: 15 },
    });
  });

  test('a price that changes with the hour counts at its highest', () => {
    expect(priceOf('deepseek', 'deepseek-chat')).toMatchObject({ input: 0.27, output: 1.1 });
  });
});

describe('the cost of a call', () => {
  const price = { input: 2, output: 10, cached_input: 0.5, long: { above: 1000, input: 4, output: 20 } };

  test('in millionths of a dollar, rounded up', () => {
    expect(costOf(price, { inputTokens: 100, outputTokens: 10 })).toBe(300);
    expect(costOf({ input: 0.15, output: 0 }, { inputTokens: 1, outputTokens: 0 })).toBe(1);
    expect(costOf(undefined, { inputTokens: 100, outputTokens: 10 })).toBe(0);
  });

  test('cached input is cheaper, long input dearer, from the first token above', () => {
    expect(costOf(price, { inputTokens: 100, outputTokens: 0, cachedInputTokens: 60 })).toBe(40 * 2 + 60 * 0.5);
    expect(costOf(price, { inputTokens: 1000, outputTokens: 1 })).toBe(2010);
    expect(costOf({ ...price, cache_write: 2.5 }, { inputTokens: 100, outputTokens: 0, cacheWriteTokens: 40 })).toBe(
      60 * 2 + 40 * 2.5,
    );
    expect(costOf(price, { inputTokens: 1001, outputTokens: 1, cachedInputTokens: 500 })).toBe(1001 * 4 + 20);
  });
});
