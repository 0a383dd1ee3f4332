/** The `timeout` of a tool is the time that its call gets. A program can only set a lower limit. */
import { expect, test, vi } from 'vitest';
import { compile } from '../../../library/src/compile.ts';
import type { ToolOptions } from '@sluice-internal/tools/calls';
import { tools } from './call.ts';

/** Extra time that code gets for the start of its process. */
const GRACE_MS = 5_000;

async function waits(tool: object, options: Partial<ToolOptions> = {}): Promise<readonly unknown[]> {
  const { flow } = compile({
    tools: { 'a.b': { effect: 'read', ...tool } },
    flow: { id: 'f', entry: 'a', nodes: [{ id: 'a', type: 'tool', tool: 'a.b' }] },
  });
  const timer = vi.spyOn(globalThis, 'setTimeout');
  try {
    expect(await tools(options).ask('a.b', {}, { tool: flow?.tools['a.b'] ?? {} })).toMatchObject({ ok: true });
    return timer.mock.calls.map(([, ms]) => ms);
  } finally {
    timer.mockRestore();
  }
}

test('code', async () => {
  expect(await waits({ code: '1', timeout: 40 })).toContain(40_000 + GRACE_MS);
  expect(await waits({ code: '1', timeout: 40 }, { code: { timeoutMs: 7_000 } })).toContain(7_000 + GRACE_MS);
});

test('a command', async () => {
  expect(await waits({ shell: 'echo 1', timeout: 300 })).toContain(300_000);
  expect(await waits({ shell: 'echo 1', timeout: 300 }, { shell: { timeoutMs: 9_000 } })).toContain(9_000);
});
