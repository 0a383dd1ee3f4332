/** Code and arithmetic: values out, nothing of the machine in, and an end to every loop. */
import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test, vi } from 'vitest';
import { calculate } from '../../src/calls/calculator.ts';
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

  test('a result keeps keys with escapes, also after V8 has read others', async () => {
    JSON.parse('{"h":[],"\\\\":0}');
    JSON.parse('{"h":[],"\\\\n":0}');
    const { ask } = tools();
    const value = { h: [1], '\n': 2 };
    expect(await ask('code_run', { code: 'input', input: value })).toEqual({ ok: true, value: { value, logs: [] } });
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

  test.each([
    ['a typed array', 'new Uint8Array(9 * 2 ** 20).length'],
    ['many typed arrays', 'const a = []; while (a.length < 100) a.push(new Float64Array(2 ** 17)); return a.length'],
    ['shared memory', 'new SharedArrayBuffer(20 * 2 ** 20).byteLength'],
    [
      'a buffer that grows',
      'const b = new ArrayBuffer(8, { maxByteLength: 2 ** 30 }); b.resize(20 * 2 ** 20); return 1',
    ],
  ])('%s beyond the memory limit is refused', async (_, code) => {
    const { ask } = tools({ code: { memoryMax: 8 * 1024 * 1024 } });
    expect(await ask('code_run', { code })).toMatchObject({ ok: false, type: 'CodeError', message: /out of memory/ });
  });

  test('the engine goes on while code runs', async () => {
    const { ask } = tools({ code: { timeoutMs: 50_000 } });
    const controller = new AbortController();
    const running = ask('code_run', { code: 'while (true) {}' }, { signal: controller.signal });
    for (let ticks = 0; ticks < 10; ticks++) await new Promise((resolve) => setTimeout(resolve, 5));
    controller.abort();
    expect(await running).toMatchObject({ ok: false, type: 'AbortError' });
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
    'log(8, 2)',
    'pow(2, 3, 4)',
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

describe('the process of the code', () => {
  const typed = 'const a = []; for (let i = 0; i < 2100; i++) a.push(new Uint8Array(1024 * 1024).fill(1)); a.length';

  test.each([
    ['in the sandbox', {}],
    ['without a sandbox', { shell: { bwrap: 'no-bwrap-here' } }],
  ])('keeps typed arrays within 64 MiB, %s', async (_, options) => {
    const { ask } = tools(options);
    const before = process.memoryUsage.rss();
    expect(await ask('code_run', { code: typed })).toMatchObject({ ok: false, class: 'semantic', type: 'CodeError' });
    expect(process.memoryUsage.rss() - before).toBeLessThan(200 * 1024 * 1024);
    expect(await ask('code_run', { code: 'new Uint8Array(32 * 1024 * 1024).length' })).toMatchObject({
      ok: true,
      value: { value: 32 * 1024 * 1024 },
    });
  });

  test('has limits that the operating system keeps', async () => {
    const { ask, performer } = tools({ code: { timeoutMs: 60_000 } });
    const done = ask('code_run', { code: 'while (true) {}' });
    // The process has its name before it has its limits.
    const data = await vi.waitUntil(() => codeProcesses().map(dataLimit).find(Number), {
      timeout: PATIENCE_MS,
      interval: 20,
    });
    expect(Number(data)).toBeLessThan(1024 ** 3);
    await (performer as { close(): Promise<void> } & typeof performer).close();
    expect(await done).toMatchObject({ ok: false, type: 'AbortError' });
  });

  test('ends when the engine closes, also with 20 calls at once', async () => {
    const { ask, performer } = tools({ code: { timeoutMs: 60_000 } });
    const calls = Array.from({ length: 20 }, () => ask('code_run', { code: 'while (true) {}' }));
    await vi.waitUntil(() => codeProcesses().length > 0, { timeout: PATIENCE_MS, interval: 20 });
    await (performer as { close(): Promise<void> } & typeof performer).close();
    for (const outcome of await Promise.all(calls)) expect(outcome).toMatchObject({ ok: false, type: 'AbortError' });
    await vi.waitUntil(() => codeProcesses().length === 0, { timeout: PATIENCE_MS, interval: 20 });
  });

  test('20 calls at once all give their results', async () => {
    const { ask } = tools();
    const outcomes = await Promise.all(Array.from({ length: 20 }, (_, n) => ask('code_run', { code: `${n} * 2` })));
    expect(outcomes.map((each) => (each.ok ? (each.value as { value: number }).value : each))).toEqual(
      Array.from({ length: 20 }, (_, n) => n * 2),
    );
  });
});

/** A busy machine starts a process late. */
const PATIENCE_MS = 30_000;

/** The limit of the process's data in bytes, or undefined if it has no limit. */
function dataLimit(pid: string): string | undefined {
  return /^Max data size +(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'utf8'))?.[1];
}

/** Processes that run the interpreter for this test process. */
function codeProcesses(): string[] {
  return readdirSync('/proc').filter(
    (pid) =>
      /^\d+$/.test(pid) &&
      isOurs(pid) &&
      commandOf(pid).endsWith('\0sluice-quickjs\0') &&
      !commandOf(pid).startsWith('sluice-child:'),
  );
}

function isOurs(pid: string): boolean {
  const stat = readOr(`/proc/${pid}/stat`);
  const parent = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? '0';
  return Number(parent) > 1 && (commandOf(parent).startsWith(`sluice-child:${process.pid}:`) || isOurs(parent));
}

function commandOf(pid: string): string {
  return readOr(`/proc/${pid}/cmdline`);
}

function readOr(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
