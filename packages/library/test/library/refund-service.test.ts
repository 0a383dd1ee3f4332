/** The refund service of the examples, over HTTP: asks, pays once, streams its events, resumes a stream, and pays back. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { createService } from '../../../../examples/refund-service.ts';
import { payments } from '../../../../examples/refund-payments.ts';
import { compile, openMemory } from '../../src/index.ts';
import { refunds } from '../../../../examples/refund-service.ts';

let service: ReturnType<typeof createService>;
const begin = (order: string) => {
  const script = { agents: { triage: [`{"kind": "refund", "order": "${order}", "amount": 20}`] } };
  service = createService({ journal: openMemory(), script });
  return async (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
    service.app.request(path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
};
afterEach(() => service.engine.close());

interface Sent {
  readonly id: string;
  readonly event: string;
}
const sentIn = (text: string): readonly Sent[] =>
  [...text.matchAll(/event: (\S+)\ndata: .*\nid: (\S+)/g)].map(([, event = '', id = '']) => ({ event, id }));

test('a refund is approved, paid once, and its events are streamed and resumed', async () => {
  const call = begin('S-1');
  const { run } = (await (await call('POST', '/refunds', { message: 'money back' })).json()) as { run: string };
  expect((await call('POST', `/runs/${run}/answer`, { choice: 'approve', by: 'anna' })).status).toBe(204);
  const sent = sentIn(await (await call('GET', `/runs/${run}/events`)).text());
  expect(sent.map(({ event }) => event)).toEqual(
    expect.arrayContaining(['question.asked', 'question.answered', 'tool.finished']),
  );
  expect(sent.at(-1)?.event).toBe('run.ended');
  const asked = sent.findIndex(({ event }) => event === 'question.asked');
  const rest = await call('GET', `/runs/${run}/events`, undefined, { 'Last-Event-ID': sent[asked]?.id ?? '' });
  expect(sentIn(await rest.text())).toEqual(sent.slice(asked + 1));
  expect(payments().paid.filter(({ receipt }) => receipt === 're_S-1')).toHaveLength(1);
  expect(await (await call('GET', `/runs/${run}`)).json()).toMatchObject({
    code: 'SUCCESS',
    receipts: [{ tool: 'payments.refund' }],
  });
});

test('a cancelled run asks nothing more', async () => {
  const call = begin('S-2');
  const { run } = (await (await call('POST', '/refunds', { message: 'money back' })).json()) as { run: string };
  await service.engine.wait(run);
  expect((await call('DELETE', `/runs/${run}`)).status).toBe(204);
  await service.engine.wait(run);
  expect(await service.engine.get(run)).toMatchObject({ state: 'cancelled', waiting: [] });
  expect(payments().paid.some(({ receipt }) => receipt === 're_S-2')).toBe(false);
});

test('the flow of the service compiles without a warning', () => {
  expect(compile(refunds.document).diagnostics).toEqual([]);
});

test('the line counts of the guide are those of the files', () => {
  const root = join(import.meta.dirname, '../../../..');
  const page = readFileSync(join(root, 'docs/guide/comparison.md'), 'utf8');
  for (const file of [
    'examples/refund-service.ts',
    'bench/peers/refund-mastra.ts',
    'bench/peers/refund-langgraph.ts',
  ]) {
    const lines = readFileSync(join(root, file), 'utf8')
      .replaceAll(/\/\*\*[\s\S]*?\*\//g, '')
      .split('\n');
    const counted = lines.filter((line) => line.trim() !== '' && !line.trim().startsWith('//')).length;
    expect(page, file).toContain(`| [\`${file}\`](../../${file}) | ${counted} |`);
  }
});
