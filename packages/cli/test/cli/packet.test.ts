/** Questions as a person reads them, and text that fits the terminal. */
import picocolors from 'picocolors';
import { describe, expect, test } from 'vitest';
import type { Packet, PacketEffect, Waiting } from '@sluice-internal/engine/ports';
import { createScreen, widthOf, wrap } from '@sluice-internal/library/documents';
import type { Screen } from '@sluice-internal/library/documents';
import { boxOf, chosen } from '../../src/session/ask-person.ts';
import { packetLines } from '../../src/view/packet.ts';

const PACKET = {
  tool: 'mail.send',
  args: { to: 'a@b.c', body: 'Dear Madam,\nyour refund of 20 dollars is on its way to you.', copies: ['x', 'y'] },
  risk: null,
};

const EFFECT: PacketEffect = {
  node: 'tell',
  tool: 'mail.send',
  effect: 'communication',
  args: { to: 'a@b.c', body: 'Hello' },
  amount: null,
  recipients: ['a@b.c'],
  payee: null,
  reversible: false,
  undo: null,
  sources: [],
  certain: true,
  times: { most: 1 },
  costUsd: 0,
};

describe('a packet', () => {
  test('is names and values, not JSON', () => {
    expect(packetLines(PACKET, 40)).toEqual([
      'tool  mail.send',
      'args',
      '  to      a@b.c',
      '  body    Dear Madam,',
      '          your refund of 20 dollars is',
      '          on its way to you.',
      '  copies  - x',
      '          - y',
      'risk  -',
    ]);
  });

  test('cannot steer the terminal, and stays short', () => {
    expect(packetLines({ note: '\u001B[2Jhi' }, 40)).toEqual(['note  \\u{1b}[2Jhi']);
    const long = packetLines(
      Array.from({ length: 99 }, (_, index) => index),
      40,
      10,
    );
    expect(long).toHaveLength(10);
    expect(long.at(-1)).toContain('90 more lines');
  });
});

describe('the box of a question', () => {
  const packet: Packet = {
    question: 'Send it?',
    goal: 'Write to Ann.',
    user: 'mila',
    effects: [EFFECT],
    why: { rule: 'approval node gate', words: 'I write to her.', problem: null, confidence: null },
    evidence: [],
    repeats: [],
    receipts: [],
    left: { modelCalls: 3 },
    expires: null,
    onExpiry: 'reject',
  };
  const question = { node: 'gate', askedBy: 'clerk', packet, data: {}, choices: [] } as unknown as Waiting;
  const screen = (columns: number) => ({ colors: picocolors.createColors(false), columns: () => columns }) as Screen;

  test.each([30, 60, 120])('fits %i columns', (columns) => {
    const lines = boxOf(question, ['approve', 'reject'], screen(columns));
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns);
    expect(lines[0]).toBe('┌ gate asks');
    expect(lines).toContain('│ 2  reject');
  });

  test('text of a model cannot imitate the choices or the receiver', () => {
    const asked = `Pay?\ngoes to: nobody\n\n1  reject\n2  approve`;
    const args = { '2  reject': 'x\n2  reject' };
    const forged = { ...question, packet: { ...packet, question: asked, goal: asked, effects: [{ ...EFFECT, args }] } };
    const lines = boxOf(forged, ['approve', 'reject'], screen(60));
    expect(lines.filter((line) => /^│ (\d|goes)/.test(line))).toEqual(['│ 1  approve', '│ 2  reject']);
  });

  test('has at most 25 lines: the question, the goal and the calls stay', () => {
    const calls = Array.from({ length: 40 }, (_, index) => ({ ...EFFECT, args: { to: `a${index}@b.c` } }));
    const evidence = Array.from({ length: 40 }, (_, index) => ({ from: `tool${index}`, trusted: true, value: index }));
    const lines = boxOf(
      { ...question, packet: { ...packet, effects: calls, evidence } },
      ['approve', 'reject'],
      screen(80),
    );
    expect(lines.length).toBeLessThanOrEqual(25);
    expect(lines[1]).toBe('│ Send it?');
    expect(lines.join('\n')).toContain('Write to Ann.');
    expect(lines.join('\n')).toContain('a0@b.c');
    expect(lines.find((line) => line.includes('more lines: type `more`'))).toBeDefined();
    expect(lines.at(-2)).toBe('│ 2  reject');
  });

  test('values that no trusted source has are named', () => {
    const sources = [{ path: 'to', from: 'web.get', trusted: false }];
    const lines = boxOf(
      { ...question, packet: { ...packet, effects: [{ ...EFFECT, sources }] } },
      ['approve'],
      screen(90),
    );
    expect(lines).toContain('│ ┆ careful   to a@b.c, from web.get (not trusted)');
  });

  test('a choice is a number, a name or its beginning, and never nothing', () => {
    const options = ['approve', 'reject', 'respond', 'decide later'];
    expect(chosen('', options)).toBeUndefined();
    expect(chosen('  ', options)).toBeUndefined();
    expect(chosen('re', options)).toBeUndefined();
    expect(chosen('0', options)).toBeUndefined();
    expect(chosen('5', options)).toBeUndefined();
    expect(chosen('2', options)).toBe('reject');
    expect(chosen(' APP ', options)).toBe('approve');
    expect(chosen('rej', options)).toBe('reject');
    expect(chosen('10', ['10', '20'])).toBe('10');
  });
});

test('text wraps between words, breaks long words, and counts wide characters', () => {
  expect(wrap('one two three', 7)).toEqual(['one two', 'three']);
  expect(wrap('a\n\nb', 7)).toEqual(['a', '', 'b']);
  expect(wrap('abcdefghij k', 4)).toEqual(['abcd', 'efgh', 'ij k']);
  expect(wrap('日本語の本', 4)).toEqual(['日本', '語の', '本']);
  for (const line of wrap('The quick 日本語 fox jumps over a verylongwordindeed', 9))
    expect(widthOf(line)).toBeLessThanOrEqual(9);
});

test('a terminal that reports no size has 80 columns', () => {
  Object.defineProperty(process.stderr, 'columns', { configurable: true, writable: true, value: undefined });
  const { columns } = createScreen();
  process.stderr.columns = 0;
  expect(columns()).toBe(80);
  process.stderr.columns = 44;
  expect(columns()).toBe(44);
  Reflect.deleteProperty(process.stderr, 'columns');
});
