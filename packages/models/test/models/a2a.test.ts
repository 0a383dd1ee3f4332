/** Remote agents that speak A2A: the card, one message, tasks that take time, failures, and an address of another origin. */
import { describe, expect, test } from 'vitest';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import { json, serve, text } from './serve.ts';
import type { Answer, Asked } from './serve.ts';

const CARD = '/.well-known/agent-card.json';

async function run(answer: (asked: Asked, url: string) => Answer, more: object = {}) {
  await using served = await serve();
  served.answer = (response, asked) => answer(asked, served.url)(response, asked);
  const { flow, diagnostics } = compile({
    Orchestration: {
      Agents: [
        {
          Name: 'Remote',
          Instructions: 'Review.',
          RemoteAgent: { Url: `${served.url}/agents/r`, TimeoutSeconds: 5, ...more },
        },
      ],
    },
  });
  if (flow === undefined) throw new Error(JSON.stringify(diagnostics));
  const engine = createEngine({ journal: openMemory(), models: { env: { A2A_API_KEY: 'secret-key-1' } } });
  try {
    const id = await engine.start(flow, { input: 'The text.' });
    return { report: await engine.settled(id), asked: [...served.asked] };
  } finally {
    await engine.close();
  }
}

const reply = (result: object): Answer => json(200, { jsonrpc: '2.0', id: '1', result });
const said = (words: string) => ({ kind: 'message', role: 'agent', parts: [{ kind: 'text', text: words }] });
const isCard = ({ path }: Asked): boolean => path.endsWith('.json');

describe('a remote agent', () => {
  test('is found by its card, gets one message with the key, and its text is the turn', async () => {
    const { report, asked } = await run((each, url) =>
      isCard(each) ? json(200, { name: 'R', url: `${url}/rpc` }) : reply(said('Looks good.')),
    );
    expect(report).toMatchObject({ code: 'SUCCESS', output: 'Looks good.', usage: { modelCalls: 1 } });
    expect(asked.map(({ path }) => path)).toEqual([`/agents/r${CARD}`, '/rpc']);
    expect(asked[1]?.headers['authorization']).toBe('Bearer secret-key-1');
    expect(asked[1]?.body).toMatchObject({
      method: 'message/send',
      params: { message: { role: 'user', parts: [{ kind: 'text', text: 'Review.\n\nThe text.' }] } },
    });
  });

  test('with the older path of the card, and a task that takes time', async () => {
    let polls = 0;
    const { report, asked } = await run((each) => {
      if (each.path.endsWith('agent-card.json')) return text(404, '');
      if (isCard(each)) return json(200, { name: 'R' });
      if (each.body['method'] === 'message/send') return reply({ kind: 'task', id: 't', status: { state: 'working' } });
      polls += 1;
      const artifacts = [{ parts: [{ kind: 'text', text: 'One.' }] }, { parts: [{ kind: 'data', data: { two: 2 } }] }];
      return reply({ kind: 'task', id: 't', status: { state: polls < 2 ? 'working' : 'completed' }, artifacts });
    });
    expect(report.output).toBe('One.\n\n{"two":2}');
    expect(asked.filter(({ body }) => body['method'] === 'tasks/get')).toHaveLength(2);
    expect(asked.at(-1)?.path).toBe('/agents/r');
  });

  test.each([
    [
      'a task that failed',
      reply({ kind: 'task', id: 't', status: { state: 'failed', message: said('Out of paper.') } }),
      'UNAVAILABLE_DEP',
      'Out of paper.',
    ],
    [
      'a task that was rejected',
      reply({ kind: 'task', id: 't', status: { state: 'rejected' } }),
      'IMPOSSIBLE',
      'is rejected',
    ],
    [
      'an error of the protocol',
      json(200, { jsonrpc: '2.0', id: '1', error: { code: -32601, message: 'no such method' } }),
      'UNAVAILABLE_DEP',
      'no such method',
    ],
    ['an answer that is not JSON', text(200, 'hello'), 'REPEATED_FAILURE', 'cannot be read'],
    ['a key that is refused', text(401, '{}'), 'UNAVAILABLE_DEP', 'A2A_API_KEY'],
  ])('%s fails the turn', async (_, answer, code, message) => {
    const { report } = await run((each) => (isCard(each) ? json(200, { name: 'R' }) : answer));
    expect(report).toMatchObject({ state: 'failed', code });
    expect(report.error?.message).toContain(message);
    expect(JSON.stringify(report)).not.toContain('secret-key-1');
  });

  test('whose card names another origin is not asked', async () => {
    const { report, asked } = await run(() => json(200, { name: 'R', url: 'https://elsewhere.example.com/rpc' }));
    expect(report.error?.message).toContain('https://elsewhere.example.com, which is not the origin of');
    expect(asked).toHaveLength(1);
  });

  test('that takes too long ends with its time', async () => {
    const { report } = await run(
      (each) =>
        isCard(each) ? json(200, { name: 'R' }) : reply({ kind: 'task', id: 't', status: { state: 'working' } }),
      { TimeoutSeconds: 0.2 },
    );
    expect(report).toMatchObject({ state: 'failed', error: { type: 'TimeoutError' } });
  });
});
