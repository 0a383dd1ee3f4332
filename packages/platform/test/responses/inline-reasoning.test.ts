/** Reasoning that a model writes into its text. */
import { describe, expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import { splitReply } from '../../src/responses/inline-reasoning.ts';

const split = (text: string): unknown => {
  const { reasoning = null, text: answer } = splitReply({ text }) as { text: string; reasoning?: string };
  return [answer, reasoning];
};

describe('inline reasoning', () => {
  test.each([
    ['<think>\nGO or APPROVED?\n</think>\n\nGO', 'GO', 'GO or APPROVED?'],
    ['<thinking>hm</thinking>{"a": 1}', '{"a": 1}', 'hm'],
    ['  <THINK>hm</THINK> yes', 'yes', 'hm'],
    ['I look.\n<think>one</think>\nThen.\n<think>two</think>\nGO', 'I look.\n\nThen.\n\nGO', 'one\n\ntwo'],
    ['It begins inside.\nGO\n</think>\nSTAY', 'STAY', 'It begins inside.\nGO'],
    ['<think>never closed\nGO', '', 'never closed\nGO'],
    ['[THINK]a[/THINK]b', 'b', 'a'],
    ['◁think▷a◁/think▷b', 'b', 'a'],
    ['<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|return|>', 'b', 'a'],
    ['<reasoning>\n- a\n</reasoning>\nb', 'b', '- a'],
  ])('%j', (text, answer, reasoning) => {
    expect(split(text)).toEqual([answer, reasoning]);
  });

  test.each([
    'Use the tag `<think>` for it.',
    'A sentence with <think>in the middle</think> of it.',
    '{"html": "<think>a</think>"}',
    '```xml\n<think>an example</think>\n```\nGO',
    'I think so.',
    '',
  ])('%j is an answer as it is', (text) => {
    expect(split(text)).toEqual([text, null]);
  });

  test('the parts of a reply lose it too, and the other fields stay', () => {
    const toolCalls = [{ id: 'a', name: 'look', args: {} }];
    const parts: Json = [
      { type: 'text', text: '<think>a</think>b' },
      { type: 'call', id: 'a' },
    ];
    expect(splitReply({ text: '<think>a</think>b', toolCalls, parts, finish: 'stop' })).toEqual({
      text: 'b',
      reasoning: 'a',
      toolCalls,
      parts: [
        { type: 'text', text: 'b' },
        { type: 'call', id: 'a' },
      ],
      finish: 'stop',
    });
    expect(splitReply({ text: 'b' })).toEqual({ text: 'b' });
    expect(splitReply(null)).toBe(null);
  });
});
