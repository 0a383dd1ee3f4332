/**
 * The refund service of examples/refund-service.ts with Mastra. It has no undo, no budget and no record of the person who
 * answered; undo and idempotency keys are written by hand below.
 */
import { Mastra } from '@mastra/core';
import { createStep, createWorkflow } from '@mastra/core/workflows';
import { LibSQLStore } from '@mastra/libsql';
import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import { z } from 'zod';
import { pay, takeBack } from '../../examples/refund-payments.ts';

const Triage = z.object({ kind: z.enum(['refund', 'other']), order: z.string(), amount: z.number() });
const Outcome = z.object({
  choice: z.string(),
  receipt: z.object({ receipt: z.string(), amount: z.number() }).optional(),
});

/** `sort` asks the model and validates its reply. */
export function createService(sort: (message: string) => Promise<z.infer<typeof Triage>>, url = 'file:refunds.db') {
  const triage = createStep({
    id: 'triage',
    inputSchema: z.object({ message: z.string() }),
    outputSchema: Triage,
    execute: ({ inputData }) => sort(inputData.message),
  });
  const gate = createStep({
    id: 'gate',
    inputSchema: Triage,
    outputSchema: Triage.extend({ choice: z.string() }),
    resumeSchema: z.object({ choice: z.string() }),
    suspendSchema: z.object({ question: z.string() }),
    execute: async ({ inputData, resumeData, suspend }) => {
      if (inputData.kind !== 'refund') return { ...inputData, choice: 'none' };
      const question = `Refund ${inputData.amount} for order ${inputData.order}?`;
      if (resumeData === undefined) return suspend({ question });
      return { ...inputData, choice: resumeData.choice };
    },
  });
  const refund = createStep({
    id: 'refund',
    inputSchema: Triage.extend({ choice: z.string() }),
    outputSchema: Outcome,
    execute: async ({ inputData: { choice, order, amount }, runId }) => ({
      choice,
      ...(choice === 'approve' ? { receipt: await pay(order, amount, `${runId}-refund`) } : {}),
    }),
  });
  const refunds = createWorkflow({
    id: 'refunds',
    inputSchema: z.object({ message: z.string() }),
    outputSchema: Outcome,
  })
    .then(triage)
    .then(gate)
    .then(refund)
    .commit();
  const mastra = new Mastra({
    storage: new LibSQLStore({ id: 'refunds', url }),
    workflows: { refunds },
    logger: false,
  });
  const workflow = mastra.getWorkflow('refunds');
  const app = new Hono()
    .post('/refunds', async (c) => {
      const run = await workflow.createRun();
      await run.start({ inputData: await c.req.json() });
      return c.json({ run: run.runId }, 201);
    })
    .get('/runs/:id', async (c) => c.json(await workflow.getWorkflowRunById(c.req.param('id'))))
    .post('/runs/:id/answer', (c) =>
      streamSSE(c, async (stream) => {
        const run = await workflow.createRun({ runId: c.req.param('id') });
        const { choice } = await c.req.json<{ choice: string }>();
        const resumed = run.resumeStream({ step: 'gate', resumeData: { choice } });
        for await (const event of resumed.fullStream)
          await stream.writeSSE({ event: event.type, data: JSON.stringify(event) });
      }),
    )
    .delete('/runs/:id', async (c) => {
      const state = await workflow.getWorkflowRunById(c.req.param('id'));
      const steps = JSON.parse(JSON.stringify(state)) as {
        steps?: { refund?: { output?: { receipt?: object } }; triage?: { output?: { order: string } } };
      };
      if (steps.steps?.refund?.output?.receipt !== undefined) await takeBack(steps.steps.triage?.output?.order ?? '');
      return c.body(null, 204);
    });
  return { app };
}
