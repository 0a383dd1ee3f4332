import picocolors from 'picocolors';
import { expect, test } from 'vitest';
import type { CompiledFlow, Event, EventBody, Node } from '@sluice-internal/kernel/ir';
import {
  cut,
  framed,
  harmless,
  oneLine,
  shellWord,
  table,
  unpadded,
  widthOf,
  wrap,
} from '@sluice-internal/library/documents';
import { wrapSentences } from '../../../library/src/documents/text.ts';
import { frameOf } from '../../src/view/frame.ts';
import { lineOf } from '../../src/view/notices.ts';
import { createProgress } from '../../src/view/progress.ts';

const retry = { max: 1, baseMs: 0, capMs: 0, on: ['transient'] } as const;
const model = (name: string, next: string): Node => ({
  op: 'do',
  label: { name, enters: name },
  charges: ['steps'],
  effect: { kind: 'model', agent: `${name}_bot`, input: {}, reserve: {} },
  writes: [],
  timeoutMs: null,
  retry,
  next,
  failed: [],
  fail: 'over',
});
const FLOW: CompiledFlow = {
  ir: 1,
  id: 'two',
  notation: 'flow',
  entry: 'a',
  fail: 'over',
  nodes: {
    a: model('a', 'b'),
    b: model('b', 'over'),
    over: { op: 'end', label: { name: 'over' }, state: 'completed', code: 'SUCCESS', output: 'null' },
  },
  meters: {
    steps: { unit: 'visits', max: 9, over: 'over', label: 'max_iterations' },
    'budget.costMicros': { unit: 'costMicros', max: 500_000, over: 'over', label: 'budgets.cost_usd' },
  },
  agents: {},
  tools: {},
  models: {},
  least: {},
  hash: 'sha256:0',
};
const error = {
  class: 'transient',
  type: 'TransientError',
  message: '503\u001B[2J',
  node: 'a',
  code: 'UNAVAILABLE_DEP',
} as const;
const request = (node: string, key: string): EventBody => ({
  type: 'effect.requested',
  thread: '0',
  key,
  node,
  kind: 'model',
  name: `${node}_bot`,
  input: 'h',
  deadline: null,
  charge: ['steps'],
});
const BODIES: readonly EventBody[] = [
  { type: 'run.started', run: 'r', flow: 'sha256:0', entry: 'a', input: null, seed: 1, origin: {}, deadline: null },
  request('a', '0#0'),
  { type: 'effect.settled', key: '0#0', attempt: 1, result: { ok: false, error } },
  { type: 'effect.judged', key: '0#0', verdict: 'retry', error, notBefore: 2000, deadline: null },
  {
    type: 'effect.settled',
    key: '0#0',
    attempt: 2,
    result: { ok: true, value: 'x', used: { inputTokens: 1200, outputTokens: 30, costMicros: 1200 } },
  },
  { type: 'effect.judged', key: '0#0', verdict: 'accepted' },
  { type: 'slots.written', thread: '0', node: 'a', writes: [], to: 'b' },
  request('b', '0#1'),
];
const EVENTS = BODIES.map((body, index): Event => ({ seq: index + 1, at: 1000 + index * 100, ...body }));

test('events become one line per thing a person wants to hear of', () => {
  const progress = createProgress(FLOW);
  const lines = EVENTS.flatMap((event) => progress.take(event).map(lineOf));
  expect(lines).toEqual([
    'enter    a',
    'retry    a  TransientError: 503\\u{1b}[2J; retry in 0.7 s',
    'done     a  0.6 s',
    'enter    b',
  ]);
});

test.each([
  [80, 24],
  [30, 8],
  [20, 4],
])('a frame fits a terminal of %i columns and %i rows', (columns, rows) => {
  const progress = createProgress(FLOW);
  for (const event of EVENTS) progress.take(event);
  const scene = { run: 'r_1234567890', flow: FLOW, progress, elapsedMs: 4200, tick: 3, last: false };
  const lines = frameOf(scene, { columns, rows }, picocolors.createColors(true));
  for (const line of lines) expect(widthOf(line)).toBeLessThan(columns);
  expect(lines.length).toBeLessThan(rows);
  const text = frameOf(scene, { columns: 120, rows: 24 }, picocolors.createColors(false)).join('\n');
  expect(text).toContain('steps 2 of 9 · model calls 3 · tokens in 1,200 · tokens out 30 · $0.0012 of $0.50');
  expect(text).toContain('✓ a  agent a_bot');
});

test('streamed text wraps at the width of the terminal, below its step', () => {
  const progress = createProgress(FLOW);
  for (const event of EVENTS) progress.take(event);
  progress.hear('0#1', 'The customer wants the money back because the parcel never came. '.repeat(20));
  const scene = {
    run: 'r_1',
    flow: FLOW,
    progress,
    elapsedMs: 1,
    tick: 1,
    last: false,
  };
  for (const columns of [30, 60, 100]) {
    const lines = frameOf(scene, { columns, rows: 24 }, picocolors.createColors(false));
    for (const line of lines) expect(widthOf(line)).toBeLessThan(columns);
    const text = lines.filter((line) => /^ {4}[A-Za-z]/.test(line));
    expect(text.length).toBe(6);
    expect(text.slice(0, -1).every((line) => widthOf(line) > columns / 2)).toBe(true);
    expect(text.at(-1)).toMatch(/came\.$/);
  }
  const last = frameOf({ ...scene, last: true }, { columns: 60, rows: 24 }, picocolors.createColors(false));
  expect(last.join(' ')).not.toContain('parcel');
});

test('text is cut by columns, not by characters, and shows what could steer a terminal', () => {
  expect(widthOf('日本')).toBe(4);
  expect(cut('日本語', 5)).toBe('日本…');
  expect(cut('abc', 3)).toBe('abc');
  expect(harmless('a\u001B[31mb\u0007c\r\nd')).toBe('a\\u{1b}[31mb\\u{7}c\nd');
  expect(oneLine('a\n  b')).toBe('a b');
  expect(shellWord("it's")).toBe(`'it'\\''s'`);
  expect(shellWord('plain-1.yaml')).toBe('plain-1.yaml');
  expect(
    table([
      ['a', 'bb'],
      ['ccc', 'd'],
    ]),
  ).toBe('a    bb\nccc  d');
});

test('invisible characters of untrusted text are shown, and joiners of scripts and emoji stay', () => {
  expect(harmless('pay\u202Eknab\u2069 \u200Bnow\u{E0041}\u2028end')).toBe(
    'pay\\u{202e}knab\\u{2069} \\u{200b}now\\u{e0041}\\u{2028}end',
  );
  expect(harmless('a\u200Db')).toBe('a\\u{200d}b');
  expect(harmless('👩\u200D💻 می\u200Cخواهم')).toBe('👩\u200D💻 می\u200Cخواهم');
});

test.each([
  ...['\u115F', '\u1160', '\u2800', '\u3164', '\uFFA0', '\u17B4', '\u034F', '\uFE0F', '\u{1D159}', '\u{13441}'],
  ...['\u00A0', '\u1680', '\u2003', '\u200A', '\u205F', '\u3000', '\u0085', '\u009B', '\u001B', '\u007F', '\r', '\v'],
  ...['\u061C', '\u202E', '\u2067', '\uFFF9', '\uE000', '\u{F0000}', '\u0378', '\uFFFE', '\uD800', '\u{E0020}'],
])('a code point that cannot be seen is shown: %j', (hidden) => {
  const shown = `\\u{${(hidden.codePointAt(0) ?? 0).toString(16)}}`;
  expect(harmless(`pay ${hidden} now`)).toBe(`pay ${shown} now`);
  expect(harmless(hidden.repeat(3))).toBe(shown.repeat(3));
});

test.each([
  ['emoji', '👩\u200D💻 👨‍👩‍👧‍👦 ❤️ 1️⃣ 👍🏽 🏳️‍🌈 🏴󠁧󠁢󠁥󠁮󠁧󠁿 🇩🇪'],
  ['Persian, Arabic and Hebrew', 'می\u200Cخواهم مرحبا بالعالم שלום עולם ٱلرَّحْمَٰنِ ۝'],
  ['Hindi and Malayalam', 'क्\u200Dष हिन्दी ന്\u200D'],
  ['Chinese, Japanese and Korean', '東京\u3000大阪、「はい」\u3000한국어 葛\u{E0100}'],
  ['French and a number', 'Vraiment\u202F? 10\u00A0000\u00A0€ « oui »'],
  ['Vietnamese and Thai', 'Tiếng Việt ê\u0323 ภาษาไทย'],
  ['code', 'if (a) {\n\treturn `x`; // ≤ → ✓\n}'],
])('ordinary text stays as it is: %s', (_, text) => {
  expect(harmless(text)).toBe(text);
});

test('long runs of spaces and empty lines are counted, and indented text stays', () => {
  expect(unpadded(`Pay?${' '.repeat(300)}to eve`)).toBe('Pay? [300 spaces] to eve');
  expect(oneLine(`Pay?${' '.repeat(300)}to eve`)).toBe('Pay? [300 spaces] to eve');
  expect(unpadded(`a\n${' '.repeat(60)}b`)).toBe('a\n [60 spaces] b');
  expect(unpadded(`a${'\n'.repeat(50)}b`)).toBe('a\n[49 empty lines]\nb');
  const code = 'def f():\n                return 1\n\n\nname      value';
  expect(unpadded(code)).toBe(code);
  expect(harmless('e' + '\u0301'.repeat(40))).toMatch(/^e\u0301{6}(\\u\{301\}){34}$/);
});

test('text that fills a row of the terminal cannot start the next row like a line of ours', () => {
  const lines = framed(`Refund?${'x'.repeat(33)}goes to   nobody`, 40).split('\n');
  expect(lines.slice(1).every((line) => line.startsWith('  │ '))).toBe(true);
  expect(lines.map((line) => line.replace('  │ ', '')).join('')).toContain('goes to');
  expect(wrap('a '.repeat(50), 10).every((line) => widthOf(line) <= 10)).toBe(true);
});

test('a line of untrusted text cannot stand where a line of ours stands', () => {
  expect(framed('Refund?\ngoes to   nobody\r\nasked by  anna')).toBe(
    'Refund?\n  │ goes to   nobody\n  │ asked by  anna',
  );
});

test('sentences are broken between words, with further lines indented', () => {
  expect(wrapSentences('error: there is no such file', 16)).toBe('error: there is\n  no such file');
  expect(wrapSentences('  = help: use another one', 15)).toBe('  = help: use\n    another one');
  expect(wrapSentences('short\n\n  as it is', 16)).toBe('short\n\n  as it is');
  expect(wrapSentences('one two three', Infinity)).toBe('one two three');
});

test('commands, code, long words and lines of a document stay whole', () => {
  const whole = [
    '    npx sluice answer a_1 approve --script x.yaml',
    '  sluice run flow.yaml --input hello',
    '12 | - { id: pay, type: tool }',
    '   |     ^^^^^^^^^^^^^^^^^^^^^^',
    '/a/path/that/is/longer/than/a/line',
  ];
  expect(wrapSentences(whole.join('\n'), 12)).toBe(whole.join('\n'));
  expect(wrapSentences('Write `sluice keys add NAME` now', 12)).toBe('Write\n  `sluice keys add NAME`\n  now');
  expect(wrapSentences('┆ text of an agent', 10)).toBe('┆ text of\n┆ an agent');
});

test('colours take no room', () => {
  expect(wrapSentences('\u001B[32mone\u001B[39m two', 7)).toBe('\u001B[32mone\u001B[39m two');
});
