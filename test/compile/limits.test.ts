/** The page of the limits says what the constants say, and a document above a limit is refused. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { LIMITS } from '@sluice-internal/kernel/ir';
import { compile } from '@sluice-internal/library';

test('docs/guide/limits.md has every limit with its number', () => {
  const page = readFileSync(new URL('../../docs/guide/limits.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| `(\w+)`[^|]*\| ([\d,]+) \|/gm)].map(([, name, most]) => [
    name,
    Number(most?.replaceAll(',', '')),
  ]);
  expect(Object.fromEntries(rows)).toEqual(LIMITS);
});

const codesOf = (document: string | object) => compile(document).diagnostics.map(({ code }) => code);

test('a document with very many values is refused before it is read', () => {
  const nodes = Array.from({ length: LIMITS.documentValues / 4 }, (_, index) => ({
    id: `n${index}`,
    type: 'set',
    values: { x: '1' },
  }));
  expect(codesOf({ flow: { id: 'f', entry: 'n0', nodes } })).toEqual(['too-many-values']);
  const text = `a: [${'x, '.repeat(2 * LIMITS.documentValues + 1)}]`;
  expect(codesOf(text)).toEqual(['too-many-values']);
});

test('a graph with very many nodes is refused', { timeout: 60_000 }, () => {
  const nodes = Array.from({ length: 2_500 }, (_, index) => ({
    id: `n${index}`,
    type: 'agent',
    agent: 'bot',
    routes: [{ to: index === 2_499 ? 'end' : `n${index + 1}` }],
  }));
  const agents = [
    {
      id: 'bot',
      instructions: 'Work.',
      tools: ['read_file', 'write_file', 'patch_file', 'delete_file', 'shell_run', 'code_run'],
    },
  ];
  const { ok, diagnostics } = compile({ agents, flow: { id: 'f', entry: 'n0', nodes } });
  expect(ok).toBe(false);
  expect(diagnostics).toMatchObject([{ code: 'too-many-nodes', message: expect.stringContaining('50000 nodes') }]);
});
