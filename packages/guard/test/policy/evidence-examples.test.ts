/** The examples about evidence: bound answers, data that must not leave, and a call without an answer. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Script } from '../../../library/src/host/scripted/script.ts';
import { play } from './play.ts';

const read = (name: string): string =>
  readFileSync(new URL(`../../../../examples/${name}.yaml`, import.meta.url), 'utf8');
const run = (name: string, kind: string, input: string) =>
  play(read(`${name}.${kind}`), parse(read(`${name}.script`)) as Script, { input });

test('bound-answer: a literal goes back once, and the references are filled in', async () => {
  const { report } = await run('bound-answer', 'loop', 'What does my order cost?');
  expect([report.code, report.output, report.usage.modelCalls]).toEqual([
    'SUCCESS',
    'Your order A-2291 costs $48.9 and is due on 2026-06-05.',
    4,
  ]);
});

test('egress: an address with confidential data is asked about, one without is not', async () => {
  const { report } = await run('egress', 'flow', 'What is new in Berlin?');
  expect(report.code).toBe('SUCCESS');
  expect(report.receipts.map(({ tool, args }) => [tool, args])).toEqual([
    ['crm.get', {}],
    ['web.fetch', { url: 'https://news.example/search?q=Berlin' }],
  ]);
});

test('unknown-outcome: the order is looked up, not repeated', async () => {
  const { report, dispatched } = await run('unknown-outcome', 'flow', '');
  expect([report.code, report.output]).toEqual(['SUCCESS', { order: 'o-9', request: 'R-17' }]);
  expect(dispatched).toEqual(['orders.place', 'orders.find']);
  expect(report.receipts).toMatchObject([{ tool: 'orders.place', status: 'committed' }, { tool: 'orders.find' }]);
});
