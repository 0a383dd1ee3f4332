/** What a call counts as before it is made: calls that are networked or paid draw on the budget of external calls. */
import { describe, expect, test } from 'vitest';
import { reserveOfTool } from '../../src/document/definitions.ts';
import { builtinTool } from '@sluice-internal/kernel/catalog';
import type { ToolDef } from '@sluice-internal/kernel/ir';

const declared = (more: Partial<ToolDef> = {}): ToolDef => ({
  description: '',
  input: true,
  output: true,
  effect: 'read',
  implementation: null,
  timeoutMs: 1000,
  permission: 'it',
  idempotent: true,
  compensate: null,
  ...more,
});

describe('a call is external', () => {
  test.each<[string, ToolDef | undefined, number]>([
    ['a request', declared({ implementation: { http: {} } as unknown as ToolDef['implementation'] }), 0],
    ['a server', declared({ implementation: { mcp: 's/t' } as unknown as ToolDef['implementation'] }), 0],
    ['a live lookup that nothing carries out but a script', declared({ category: 'live_api' }), 0],
    ['a lookup that costs money', declared({ category: 'lookup' }), 0.01],
    ['the built-in fetch', builtinTool('http.get'), 0],
    ['the built-in request', builtinTool('http.request'), 0],
  ])('%s', (_, tool, cost) => {
    expect(reserveOfTool(tool, cost)).toMatchObject({ toolCalls: 1, externalCalls: 1 });
  });

  test.each<[string, ToolDef | undefined]>([
    ['a tool that says nothing', declared()],
    ['a corpus of one’s own', declared({ category: 'retrieval' })],
    ['a file', builtinTool('read_file')],
    ['the calculator', builtinTool('calculator')],
    ['a tool that nobody knows', undefined],
  ])('but not %s', (_, tool) => {
    expect(reserveOfTool(tool, 0)).not.toHaveProperty('externalCalls');
  });
});
