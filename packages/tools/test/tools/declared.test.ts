/** Tools that a document declares as commands or functions, and results that no journal could hold. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { builtinTool } from '@sluice-internal/kernel/catalog';
import type { Json } from '@sluice-internal/kernel/expr';
import { createVirtualClock } from '@sluice-internal/engine/ports';
import { compile } from '../../../library/src/compile.ts';
import { callOf, tools } from './call.ts';
import type { Asking } from './call.ts';
import { stopped } from './own-tools.ts';

const shell = (command: string, rest: object = {}): Asking => ({
  tool: { implementation: { shell: { command, ...rest } } },
});
const module = (name: string): Asking => ({ tool: { implementation: { module: `./own-tools.ts#${name}` } } });
const documentDir = import.meta.dirname;

describe('a declared command', () => {
  test('gets its arguments as variables and on its input, and gives its output', async () => {
    const { ask } = tools();
    expect(await ask('t', { to: 'Ann', n: 2 }, shell('echo "$ARG_to $ARG_n"'))).toEqual({ ok: true, value: 'Ann 2' });
    expect(await ask('t', { deep: { a: [1] } }, shell('cat'))).toEqual({ ok: true, value: { deep: { a: [1] } } });
  });

  test('takes no NUL, which would add options to the sandbox', async () => {
    const { ask } = tools();
    const evil = 'x\0--dir\0/tmp/host\0--bind\0/\0/tmp/host\0--share-net';
    const refused = { ok: false, type: 'ArgumentError', message: expect.stringContaining('NUL') };
    for (const place of [{ env: { TO: '{{to}}' } }, { env: { 'A\0--share-net': 'x' } }])
      expect(await ask('t', { to: evil }, shell('ls /tmp/host', place))).toMatchObject(refused);
    const argv: Asking = { tool: { implementation: { shell: { argv: ['echo', '{{to}}'] } } } };
    expect(await ask('t', { to: evil }, argv)).toMatchObject(refused);
    expect(await ask('shell_run', { command: `ls\0${evil}` })).toMatchObject(refused);
  });

  test('never runs what an argument says', async () => {
    const { ask } = tools();
    for (const evil of [
      '$(touch hacked)',
      '`touch hacked`',
      '; touch hacked',
      "' ; touch hacked ; '",
      '" ; touch hacked ; "',
      '\ntouch hacked',
    ]) {
      expect(await ask('t', { to: evil }, shell('printf %s "$ARG_to" > said; ls'))).toEqual({
        ok: true,
        value: 'said',
      });
    }
  });

  test('gets lists and objects as JSON in its variables, unless they are too long for one', async () => {
    const { ask } = tools();
    const echo = shell('printf %s "$ARG_list$ARG_deep"');
    expect(await ask('t', { list: [1, 'a b'] }, echo)).toEqual({ ok: true, value: [1, 'a b'] });
    expect(await ask('t', { deep: { a: true } }, echo)).toEqual({ ok: true, value: { a: true } });
    const long = { list: ['x'.repeat(200_000)] };
    expect(await ask('t', long, shell('echo "[$ARG_list]"; wc -c'))).toEqual({ ok: true, value: '[]\n200014' });
  });

  test('has its folder, its variables and the call’s key', async () => {
    const { dir, ask } = tools();
    mkdirSync(join(dir, 'sub'));
    expect(
      await ask(
        't',
        {},
        { ...shell('echo "$PWD $MODE $SLUICE_IDEMPOTENCY_KEY"', { cwd: 'sub', env: { MODE: 'fast' } }), key: 'k' },
      ),
    ).toEqual({ ok: true, value: '/workspace/sub fast k' });
    expect(await ask('t', {}, { ...shell('echo "$SLUICE_RESULT"'), result: { id: 1 } })).toEqual({
      ok: true,
      value: { id: 1 },
    });
  });

  test('that fails is a failed call', async () => {
    const { ask } = tools();
    expect(await ask('t', {}, shell('echo broken >&2; exit 4'))).toMatchObject({
      ok: false,
      class: 'fatal',
      type: 'ExitError',
      message: 'exit code 4: broken',
    });
  });

  test('that says more than is read of it is a failed call; what it says of errors is not its output', async () => {
    const { ask } = tools();
    expect(await ask('t', {}, shell('seq 1 30000'))).toMatchObject({
      ok: false,
      class: 'semantic',
      type: 'TooLargeError',
    });
    expect(await ask('t', {}, shell('seq 1 30000 >&2; echo 1'))).toEqual({ ok: true, value: 1 });
    const run = await ask('shell_run', { command: 'seq 1 30000' });
    expect(run).toMatchObject({ ok: true, value: { exitCode: 0, truncated: true } });
    expect(run.ok && Object.keys(run.value as object)).toEqual(['exitCode', 'stdout', 'stderr', 'truncated']);
  });
});

describe('a function in a module', () => {
  test('gets arguments and context, and gives its value', async () => {
    const { ask } = tools({ documentDir });
    expect(await ask('t', { a: 1 }, { ...module('send'), key: 'k', result: 'r' })).toEqual({
      ok: true,
      value: { args: { a: 1 }, idempotencyKey: 'k', run: 'r_test', hasDir: true, result: 'r' },
    });
    expect(await ask('t', {}, module('nothing'))).toEqual({ ok: true, value: null });
  });

  test('fails as it says', async () => {
    const { ask } = tools({ documentDir });
    expect(await ask('t', {}, module('throws'))).toMatchObject({ ok: false, class: 'fatal', message: 'out of stock' });
    expect(await ask('t', {}, module('limited'))).toMatchObject({ ok: false, class: 'rate_limit', type: 'QuotaError' });
    expect(await ask('t', {}, module('absent'))).toMatchObject({ ok: false, class: 'fatal', type: 'ModuleError' });
    expect(await ask('t', {}, module('number'))).toMatchObject({ ok: false, type: 'ModuleError' });
    expect(await ask('t', {}, { tool: { implementation: { module: './absent.ts#x' } } })).toMatchObject({
      ok: false,
      type: 'ModuleError',
    });
  });

  test('that hangs is aborted in real time, under any clock of the run', async () => {
    const { performer } = tools({ documentDir });
    // Loading the module counts towards the limit, so the limit is far above it.
    const asked = callOf('t', {}, { tool: { ...module('hangs').tool, timeoutMs: 2000 } });
    const outcome = performer.perform({ ...asked, clock: createVirtualClock() });
    await expect(outcome).rejects.toMatchObject({ class: 'timeout', type: 'TimeoutError' });
    expect(stopped).toEqual(['hangs']);
  });

  test('gets the abort signal', async () => {
    const { ask } = tools({ documentDir });
    const controller = new AbortController();
    const outcome = ask('t', {}, { ...module('patient'), signal: controller.signal });
    controller.abort();
    expect(await outcome).toMatchObject({ ok: false, class: 'timeout' });
  });
});

describe('results', () => {
  test('that are no JSON, or too large, are failures', async () => {
    const { ask } = tools({ documentDir });
    for (const name of ['circular', 'bigint'])
      expect(await ask('t', {}, module(name))).toMatchObject({ ok: false, class: 'semantic', type: 'ResultError' });
    expect(await ask('t', {}, module('big'))).toMatchObject({ ok: false, class: 'semantic', type: 'TooLargeError' });
  });

  test('that cannot be used are the results of calls that took effect, unless the tool only reads', async () => {
    const { ask } = tools({ documentDir });
    for (const { tool } of [module('circular'), module('big'), shell('seq 1 30000')]) {
      expect(await ask('t', {}, { tool: { ...tool } })).toMatchObject({ ok: false, ran: true });
      expect(await ask('t', {}, { tool: { ...tool, effect: 'read' } })).not.toHaveProperty('ran');
    }
    expect(await ask('t', {}, module('throws'))).not.toHaveProperty('ran');
    expect(await ask('t', {}, shell('exit 4'))).not.toHaveProperty('ran');
  });
});

describe('arguments', () => {
  test('are held to the schema that the document gives, cycles and all', async () => {
    const { ask } = tools({ documentDir });
    const tree: Json = {
      $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } }, additionalProperties: false } },
      $ref: '#/$defs/node',
    };
    const asking: Asking = { tool: { ...module('send').tool, input: tree } };
    expect(await ask('t', { next: { next: {} } }, asking)).toMatchObject({ ok: true });
    expect(await ask('t', { next: { nest: {} } }, asking)).toMatchObject({
      ok: false,
      class: 'semantic',
      type: 'ArgumentError',
    });
    const loop: Json = { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' };
    expect(await ask('t', {}, { tool: { ...module('send').tool, input: loop } })).toMatchObject({ ok: false });
  });

  test('of a tool that does not exist are refused', async () => {
    const { ask } = tools();
    expect(await ask('nobody.has')).toMatchObject({ ok: false, class: 'fatal', type: 'NotConfiguredError' });
    expect(await ask('toString')).toMatchObject({ ok: false, type: 'NotConfiguredError' });
  });

  test('go to the document’s tool where it has the name of a built-in one', async () => {
    const { ask } = tools();
    expect(await ask('read_file', { path: 'x' }, shell('echo mine'))).toEqual({ ok: true, value: 'mine' });
  });
});

describe('a declaration under the name of a built-in tool', () => {
  const declared = (tool: object) =>
    compile({
      tools: { read_file: tool },
      flow: { id: 'f', entry: 'a', nodes: [{ id: 'a', type: 'tool', tool: 'read_file', params: { path: 'a' } }] },
    }).flow?.tools['read_file'];

  test('changes only what it names: the schema, the effect and the time stay', () => {
    const builtin = builtinTool('read_file');
    expect(declared({ approval: 'always' })).toEqual(builtin);
    expect(declared({ description: 'Reads it.', timeout: 2, category: 'retrieval' })).toEqual({
      ...builtin,
      description: 'Reads it.',
      timeoutMs: 2_000,
      category: 'retrieval',
    });
  });

  test('is not of the same kind where it names the effect', () => {
    const { category: _, ...others } = builtinTool('read_file') ?? {};
    expect(declared({ effect: 'write' })).toEqual({ ...others, effect: 'write', idempotent: false });
  });

  test('is a tool of its own if it has an implementation', () => {
    expect(declared({ code: '1' })).toMatchObject({ description: '', input: true, effect: 'write', timeoutMs: 30_000 });
  });
});
