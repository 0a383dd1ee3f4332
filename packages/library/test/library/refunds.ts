/** The flow of the example, as TypeScript and as YAML. */
import * as z from 'zod';
import { agent, flow, text, tool } from '../../src/index.ts';

export const paid: { order: string; amount: number; key: string }[] = [];
export const reversed: unknown[] = [];

const reverse = tool('payments.reverse', {
  effect: 'financial',
  run: (args) => {
    reversed.push(args);
    return { reversed: true };
  },
});
export const refund = tool('payments.refund', {
  effect: 'financial',
  input: z.object({ order: z.string(), amount: z.number() }),
  compensate: reverse,
  run: ({ order, amount }, { idempotencyKey }) => {
    paid.push({ order, amount, key: idempotencyKey });
    return { receipt: `re_${order}`, paid: amount };
  },
});
export const Triage = z.object({ kind: z.enum(['refund', 'other']), order: z.string(), amount: z.number() });
const Message = z.object({ message: z.string() });
export const triage = agent('triage', {
  model: 'openai/gpt-5-mini',
  instructions: 'Sort the message.',
  output: Triage,
});

export const refunds = flow('refunds', { input: Message, budgets: { modelCalls: 5, costUsd: 0.1 } })
  .step(triage, ({ input }) => input.message)
  .when(
    ({ triage }) => triage.kind.eq('refund'),
    (f) =>
      f
        .approve('gate', ({ triage }) => text`Refund ${triage.amount}?`)
        .step(refund, ({ triage }) => ({ order: triage.order, amount: triage.amount })),
  );

export const YAML = `
agents:
  - id: triage
    model: openai/gpt-5-mini
    instructions: Sort the message.
    output:
      type: object
      properties:
        kind: { type: string, enum: [refund, other] }
        order: { type: string }
        amount: { type: number }
      required: [kind, order, amount]
tools:
  payments.refund:
    effect: financial
    input:
      type: object
      properties: { order: { type: string }, amount: { type: number } }
      required: [order, amount]
    compensate: payments.reverse
  payments.reverse: { effect: financial }
budgets: { model_calls: 5, cost_usd: 0.1 }
flow:
  id: refunds
  entry: triage
  nodes:
    - id: triage
      type: agent
      agent: triage
      input: { task: "{{event.payload.message}}" }
      routes:
        - { when: "triage.output.kind == 'refund'", to: gate }
        - { to: end }
    - id: gate
      type: approval
      message: "Refund {{triage.output.amount}}?"
      routes:
        - { when: "approvals.gate == 'approve'", to: refund }
        - { to: end }
    - id: refund
      type: tool
      tool: payments.refund
      params: { order: "{{triage.output.order}}", amount: "{{triage.output.amount}}" }
`;
