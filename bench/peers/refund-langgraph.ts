/**
 * The refund service of examples/refund-service.ts with LangGraph.js. It has no undo, no budget, no record of the person who
 * answered and no stream of past events; undo and idempotency keys are written by hand below.
 */
import { Annotation, Command, END, START, StateGraph, interrupt } from '@langchain/langgraph';
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite';
import { randomUUID } from 'node:crypto';
import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import { pay, takeBack } from '../../examples/refund-payments.ts';

interface Triage {
  readonly kind: 'refund' | 'other';
  readonly order: string;
  readonly amount: number;
}

/** `sort` asks the model and validates its reply. */
export function createService(sort: (message: string) => Promise<Triage>, database = 'refunds.db') {
  const State = Annotation.Root({
    message: Annotation<string>,
    triage: Annotation<Triage>,
    choice: Annotation<string>,
    receipt: Annotation<object | undefined>,
  });
  const graph = new StateGraph(State)
    .addNode('sort', async ({ message }) => ({ triage: await sort(message) }))
    .addNode('gate', ({ triage }) => ({
      choice: interrupt<string, string>(`Refund ${triage.amount} for order ${triage.order}?`),
    }))
    .addNode('refund', async ({ triage }, config) => ({
      receipt: await pay(triage.order, triage.amount, `${String(config.configurable?.['thread_id'])}-refund`),
    }))
    .addEdge(START, 'sort')
    .addConditionalEdges('sort', ({ triage }) => (triage.kind === 'refund' ? 'gate' : END), ['gate', END])
    .addConditionalEdges('gate', ({ choice }) => (choice === 'approve' ? 'refund' : END), ['refund', END])
    .addEdge('refund', END)
    .compile({ checkpointer: SqliteSaver.fromConnString(database) });
  const at = (id: string) => ({ configurable: { thread_id: id } });
  const app = new Hono()
    .post('/refunds', async (c) => {
      const { message } = await c.req.json<{ message: string }>();
      const id = randomUUID();
      await graph.invoke({ message }, at(id));
      return c.json({ run: id }, 201);
    })
    .get('/runs/:id', async (c) => c.json((await graph.getState(at(c.req.param('id')))).values))
    .post('/runs/:id/answer', (c) =>
      streamSSE(c, async (stream) => {
        const { choice } = await c.req.json<{ choice: string }>();
        const updates = await graph.stream(new Command({ resume: choice }), {
          ...at(c.req.param('id')),
          streamMode: 'updates',
        });
        for await (const update of updates) await stream.writeSSE({ data: JSON.stringify(update) });
      }),
    )
    .delete('/runs/:id', async (c) => {
      const { values } = await graph.getState(at(c.req.param('id')));
      const { receipt, triage } = values as typeof State.State;
      if (receipt !== undefined) await takeBack(triage.order);
      return c.body(null, 204);
    });
  return { app };
}
