/** Code and arithmetic: values out, nothing of the machine in, and an end to every loop. */
import { describe, expect, test } from 'vitest';
import { calculate } from '../../src/effects/tools/calculator.ts';
import { tools } from './call.ts';

describe('code', () => {
  test.each([
    ['1 + 1', null, 2],
    ['input.list.map(x => x * 2)', { list: [1, 2] }, [2, 4]],
    ['args => args.n + 1', { n: 1 }, 2],
    ['const n = args.n; return n * 3;', { n: 2 }, 6],
    ['(async () => { await null; return "later"; })()', null, 'later'],
    ['undefined', null, null],
    ['({ a: undefined, b: [1] })', null, { b: [1] }],
  ])('%s', async (code, input, value) => {
    const { ask } = tools();
    expect(await ask('code_run', { code, input })).toEqual({ ok: true, value: { value, logs: [] } });
  });

  test('what it prints is kept', async () => {
    const { ask } = tools();
    expect(await ask('code_run', { code: 'console.log("a", { b: 1 }); console.error(2); 3' })).toEqual({
      ok: true,
      value: { value: 3, logs: ['a {"b":1}', '2'] },
    });
  });

  test('nothing of the machine is there', async () => {
    const { ask } = tools();
    const names = ['process', 'require', 'fetch', 'setTimeout', 'WebAssembly', 'Deno', 'std', 'os'];
    expect(await ask('code_run', { code: `[${names.map((name) => `typeof ${name}`).join()}]` })).toMatchObject({
      value: { value: names.map(() => 'undefined') },
    });
    expect(await ask('code_run', { code: 'import("node:fs").then(() => "in")' })).toMatchObject({
      ok: false,
      type: 'CodeError',
    });
  });

  test('mistakes are failures with the code’s own words', async () => {
    const { ask } = tools();
    expect(await ask('code_run', { code: 'throw new TypeError("no")' })).toMatchObject({
      ok: false,
      class: 'semantic',
      type: 'CodeError',
      message: 'TypeError: no',
    });
    expect(await ask('code_run', { code: 'let =' })).toMatchObject({
      ok: false,
      type: 'CodeError',
      message: expect.stringContaining('SyntaxError'),
    });
    expect(await ask('code_run', { code: 'throw 7' })).toMatchObject({
      ok: false,
      type: 'CodeError',
      message: 'the code threw 7',
    });
    expect(await ask('code_run', { code: 'const a = {}; a.a = a; a' })).toMatchObject({ ok: false, type: 'CodeError' });
    expect(await ask('code_run', { code: 'new Promise(() => {})' })).toMatchObject({
      ok: false,
      type: 'CodeError',
      message: expect.stringContaining('never settles'),
    });
  });

  test.each([
    ['a loop', 'while (true) {}'],
    ['a loop that catches', 'while (true) { try { while (true) {} } catch {} }'],
    ['promises without end', 'const f = () => Promise.resolve().then(f); f()'],
    ['a regular expression that backtracks', '/^(a+)+$/.test("a".repeat(60) + "b")'],
  ])('%s ends when time is up', async (_, code) => {
    const { ask } = tools({ code: { timeoutMs: 200 } });
    expect(await ask('code_run', { code })).toMatchObject({ ok: false, class: 'timeout', type: 'TimeoutError' });
  });

  test.each([
    ['strings', 'let s = "x"; while (true) s += s + Math.random();'],
    ['lists', 'const a = []; while (true) a.push(new Array(1000).fill(1));'],
    ['a buffer', 'new Uint8Array(2 ** 31)'],
    ['a deep recursion', 'const f = () => 1 + f(); f()'],
  ])('a bomb of %s does no harm', async (_, code) => {
    const { ask } = tools({ code: { memoryMax: 8 * 1024 * 1024, timeoutMs: 2_000 } });
    const outcome = await ask('code_run', { code });
    // An interpreter that is short of memory may collect garbage until its time is up.
    expect(outcome.ok ? 'no failure' : outcome.type).toMatch(/^(CodeError|TimeoutError)$/);
    expect(await ask('code_run', { code: '1' })).toMatchObject({ ok: true });
  });

  test('the engine goes on while code runs', async () => {
    const { ask } = tools({ code: { timeoutMs: 300 } });
    let ticks = 0;
    const timer = setInterval(() => (ticks += 1), 5);
    await ask('code_run', { code: 'while (true) {}' });
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(5);
  });

  test('declared code gives its value', async () => {
    const { ask } = tools();
    expect(
      await ask(
        'sum',
        { a: 1, b: 2 },
        { tool: { implementation: { code: { language: 'javascript', source: 'args.a + args.b' } } } },
      ),
    ).toEqual({ ok: true, value: 3 });
  });
});

describe('arithmetic', () => {
  test.each([
    ['1 + 2 * 3', 7],
    ['(1 + 2) * 3', 9],
    ['2 ^ 3 ^ 2', 512],
    ['2 ** 3', 8],
    ['-2 ^ 2', -4],
    ['2 ^ -1', 0.5],
    ['7 % 4', 3],
    ['10 / 4', 2.5],
    ['1e3 + .5', 1000.5],
    ['--1', 1],
    ['sqrt(16) + abs(-2)', 6],
    ['max(1, 2, 3) - min(4, 5)', -1],
    ['round(2.345, 2)', 2.35],
    ['round(pi, 2)', 3.14],
    ['log(1000)', 3],
  ])('%s', (source, value) => {
    expect(calculate(source)).toBeCloseTo(value, 12);
  });

  test.each([
    '',
    '1 +',
    '(1',
    '1 2',
    'foo(1)',
    'constructor',
    '1/0',
    'sqrt(-1)',
    'sqrt',
    '2 ^',
    `${'('.repeat(300)}1${')'.repeat(300)}`,
    `1${'^1'.repeat(300)}`,
    'process.exit()',
    'pi > 3',
  ])('%j cannot be evaluated', async (expression) => {
    const { ask } = tools();
    expect(await ask('calculator', { expression })).toMatchObject({ ok: false, class: 'semantic' });
  });

  test('the tool gives the value', async () => {
    const { ask } = tools();
    expect(await ask('calculator', { expression: '0.1 + 0.2' })).toEqual({ ok: true, value: { value: 0.1 + 0.2 } });
  });
});
