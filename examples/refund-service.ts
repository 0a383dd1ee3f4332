/**
 * A refund service over HTTP: an agent sorts the message, a person approves, a tool pays, and a cancelled run pays back.
 * `refund-server.ts` starts it.
 */
import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import { agent, createEngine, flow, text, tool } from 'sluice';
import type { CreateEngineOptions } from 'sluice';
import * as z from 'zod';
import { pay, takeBack } from './refund-payments.ts';

const reverse = tool('payments.reverse', {
  effect: 'financial',
  input: z.object({ order: z.string() }),
  run: ({ order }) => takeBack(order),
});
const refund = tool('payments.refund', {
  effect: 'financial',
  input: z.object({ order: z.string(), amount: z.number() }),
  compensate: reverse,
  run: ({ order, amount }, { idempotencyKey }) => pay(order, amount, idempotencyKey),
});
const triage = agent('triage', {
  model: 'openai/gpt-5-mini',
  instructions: 'Sort the message. For a refund give the order and the amount.',
  output: z.object({ kind: z.enum(['refund', 'other']), order: z.string(), amount: z.number() }),
});
export const refunds = flow('refunds', {
  input: z.object({ message: z.string() }),
  budgets: { modelCalls: 5, costUsd: 0.1 },
})
  .step(triage, ({ input }) => input.message)
  .when(
    ({ triage }) => triage.kind.eq('refund'),
    (f) =>
      f
        .approve('gate', ({ triage }) => text`Refund ${triage.amount} for order ${triage.order}?`)
        .step(refund, ({ triage }) => ({ order: triage.order, amount: triage.amount })),
  );

export function createService(options: CreateEngineOptions = {}) {
  const engine = createEngine({ flows: [refunds], ...options });
  const app = new Hono()
    .post('/refunds', async (c) => c.json({ run: (await engine.run(refunds, await c.req.json())).id }, 201))
    .get('/runs/:id', async (c) => c.json(await engine.get(c.req.param('id'))))
    .get('/runs/:id/events', (c) =>
      streamSSE(c, async (stream) => {
        const reading = { after: c.req.header('Last-Event-ID'), signal: c.req.raw.signal };
        for await (const event of (await engine.open(c.req.param('id'))).events(reading))
          await stream.writeSSE({ id: event.id, event: event.type, data: JSON.stringify(event) });
      }),
    )
    .post('/runs/:id/answer', async (c) => {
      const { choice, by } = await c.req.json<{ choice: 'approve' | 'reject'; by: string }>();
      await (await engine.open(c.req.param('id'), { definition: refunds })).answer('gate', choice, { by });
      return c.body(null, 204);
    })
    .delete('/runs/:id', async (c) => {
      await (await engine.open(c.req.param('id'))).cancel({ by: 'customer' });
      return c.body(null, 204);
    });
  return { app, engine };
}
