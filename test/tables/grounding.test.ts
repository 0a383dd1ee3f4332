/** The labels of a result: how far a call has come, and that only what was verified is ever written. */
import { describe, expect, test } from 'vitest';
import type { Event } from '@sluice-internal/kernel/ir';
import { compileLoop, drive } from '../../packages/notations/test/loop/drive.ts';
import type { Driven } from '../../packages/notations/test/loop/drive.ts';

const SAVE = {
  effect: 'write',
  input: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
  verify: 'result.saved == true',
  timeout: 5,
};
const proposing = (n: unknown) => ({ tools: [{ name: 'save', args: { n: n as number } }], text: '' });

function run(entry: object, approval: string, n: unknown = 1): Promise<Driven> {
  const flow = compileLoop({
    agents: [{ id: 'bot', tools: ['save'] }],
    tools: { save: SAVE },
    loop: { agent: 'bot' },
  });
  return drive(flow, {
    agents: { bot: [proposing(n), 'done'] },
    tools: { save: [entry] },
    approvals: { save: approval },
  });
}

const toolCall = ({ read }: Driven): Event | undefined =>
  read.events.find((event) => event.type === 'effect.requested' && event.kind === 'tool');
const ofCall = (driven: Driven): readonly Event[] => {
  const asked = toolCall(driven);
  const key = asked?.type === 'effect.requested' ? asked.key : '';
  return driven.read.events.filter((event) => 'key' in event && event.key === key);
};
const observations = ({ read }: Driven): unknown => read.state.threads.get('0')?.slots['observations'];

describe('the labels', () => {
  test('intended: a proposal is judged, and by itself does nothing §grounding/intended', async () => {
    const driven = await run({ result: { saved: true } }, 'reject');
    expect(toolCall(driven)).toBeUndefined();
    const judged = driven.read.events.flatMap((event) => (event.type === 'call.judged' ? event.controls : []));
    expect(judged).toContainEqual(['arguments', 'pass']);
    expect(observations(driven)).toMatchObject([{ ok: false, refused: 'approval' }]);
  });

  test('attempted: key, tool, hash of the arguments and deadline are there before anything comes back §grounding/attempted', async () => {
    const driven = await run({ result: { saved: true } }, 'approve');
    const [asked, settled] = ofCall(driven);
    expect(asked).toMatchObject({ type: 'effect.requested', name: 'save', key: expect.any(String) as string });
    const { input, deadline, at } = asked as Extract<Event, { type: 'effect.requested' }>;
    expect(input).toMatch(/^[\w-]{20,}$/);
    expect(deadline).toBe(at + 5000);
    expect(asked?.seq).toBeLessThan(settled?.seq ?? 0);
  });

  test.each([
    ['a result', { result: { saved: true, id: 7 } }, { ok: true, value: { saved: true, id: 7 } }],
    ['an error', { error: 'fatal', message: 'gone' }, { ok: false, error: { class: 'fatal', message: 'gone' } }],
    ['silence', { delayMs: 60_000, result: 1 }, { ok: false, error: { class: 'timeout' } }],
    ['nothing', { result: null }, { ok: true, value: null }],
  ])('observed: %s is kept as it came §grounding/observed', async (_, entry, kept) => {
    const settled = ofCall(await run(entry, 'approve')).find(({ type }) => type === 'effect.settled');
    expect(settled).toMatchObject({ result: kept });
  });

  test('verified: what does not pass is an observation and no success §grounding/verified', async () => {
    const good = await run({ result: { saved: true } }, 'approve');
    expect(observations(good)).toMatchObject([{ ok: true, result: { saved: true } }]);
    const bad = await run({ result: { saved: false } }, 'approve');
    expect(observations(bad)).toMatchObject([{ ok: false, refused: 'verification' }]);
    expect(ofCall(bad).some((event) => event.type === 'effect.judged' && event.verdict === 'failed')).toBe(true);
  });

  test('committed: a write points at the observation that it comes from, and moves the state on §grounding/committed', async () => {
    const driven = await run({ result: { saved: true, id: 7 } }, 'approve');
    const written = driven.read.events.find(
      (event) => event.type === 'slots.written' && event.seq > (ofCall(driven)[1]?.seq ?? 0),
    );
    expect(JSON.stringify(written)).toContain('"ref":["it"]');
    expect(JSON.stringify(written)).not.toContain('"id":7');
    expect(driven.difference).toBeNull();
  });

  test('assumed: success that nothing shows is never written §grounding/assumed', async () => {
    const flow = compileLoop({
      agents: [{ id: 'bot', tools: ['save'] }],
      tools: { save: SAVE },
      loop: { agent: 'bot', grounding: { on_violation: 'halt' } },
    });
    const claim = JSON.stringify({ status: 'complete', answer: 'ok', claims: [{ tool: 'save' }] });
    const driven = await drive(flow, { agents: { bot: [claim] } });
    expect(driven.report).toMatchObject({
      state: 'failed',
      code: 'VALIDATION_FAIL',
      error: { type: 'GroundingError' },
    });
    expect(observations(driven)).toEqual([]);
  });
});
