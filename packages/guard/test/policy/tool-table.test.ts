/** The table of tool categories, row by row: what runs by itself and what waits for somebody, where nothing else is said. */
import { describe, expect, test } from 'vitest';
import { TOOL_CATEGORIES } from '@sluice-internal/kernel/catalog';
import { play } from './play.ts';

const ROWS = [
  { category: 'lookup', effect: 'read', asks: false },
  { category: 'retrieval', effect: 'read', asks: false },
  { category: 'live_api', effect: 'read', asks: false },
  { category: 'live_api', effect: 'write', asks: true },
  { category: 'sandbox', effect: 'read', asks: false },
  { category: 'sandbox', effect: 'write', asks: true },
  { category: 'file_system', effect: 'read', asks: false },
  { category: 'file_system', effect: 'write', asks: true },
  { category: 'database', effect: 'read', asks: false },
  { category: 'database', effect: 'write', asks: true },
  { category: 'messages', effect: 'read', asks: false },
  { category: 'messages', effect: 'communication', asks: true },
  { category: 'payment', effect: 'read', asks: false },
  { category: 'payment', effect: 'financial', asks: true },
  { category: 'infrastructure', effect: 'read', asks: false },
  { category: 'infrastructure', effect: 'infrastructure', asks: true },
  { category: 'review', effect: 'write', asks: false },
] as const;

const TITLES: { readonly [category in (typeof ROWS)[number]['category']]: string } = {
  lookup: 'lookup §tools/read-only-lookup',
  retrieval: 'retrieval §tools/retrieval-vectors',
  live_api: 'live API §tools/live-api',
  sandbox: 'calculator and sandbox §tools/sandbox',
  file_system: 'file system §tools/file-system',
  database: 'database §tools/database',
  messages: 'mail and calendar §tools/email-calendar',
  payment: 'procurement and payment §tools/payment',
  infrastructure: 'infrastructure §tools/infrastructure',
  review: 'review queue §tools/review-queues',
};

describe('the tool table', () => {
  test.each(ROWS.map((row) => ({ ...row, title: TITLES[row.category] })))(
    '$title, $effect: asks $asks',
    async ({ category, effect, asks }) => {
      const document = {
        tools: { 'some.tool': { category, effect, input: { type: 'object' } } },
        agents: [{ id: 'bot', tools: ['some.tool'] }],
        flow: { id: 'demo', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'bot' }] },
      };
      const { report, dispatched } = await play(document, {
        agents: { bot: [{ text: '', tools: [{ name: 'some.tool', args: {} }] }, 'done'] },
        tools: { 'some.tool': [{ result: 1 }] },
      });
      expect([report.code, dispatched.length]).toEqual(asks ? ['CONFIRM_REQUIRED', 0] : ['SUCCESS', 1]);
    },
  );

  test('has all its rows', () => {
    expect(new Set(ROWS.map(({ category }) => category))).toEqual(new Set(TOOL_CATEGORIES));
  });
});
