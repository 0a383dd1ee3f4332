/** Missing values in the output of a flow in TypeScript. The compiler checks the types of this file. */
import { expect, expectTypeOf, test } from 'vitest';
import * as z from 'zod';
import { createEngine, flow, openMemory } from '../../src/index.ts';
import type { OutputFor } from '../../src/index.ts';
import { refund, triage } from './refunds.ts';

test('a value that exists only on some paths is null in the output, and in its type', async () => {
  const paid = flow('f', { input: z.object({ message: z.string() }) })
    .step(triage, ({ input }) => input.message)
    .when(
      ({ triage: sorted }) => sorted.kind.eq('refund'),
      (f) => f.step(refund, ({ triage: sorted }) => ({ order: sorted.order, amount: sorted.amount })),
    );
  const ended = paid.output(({ refund: maybe, triage: sorted }) => ({ receipt: maybe.receipt, order: sorted.order }));
  const computed = paid.set('sum', ({ refund: maybe }) => ({ receipt: maybe.receipt }));
  expectTypeOf<OutputFor<typeof ended>>().toEqualTypeOf<{
    readonly receipt: string | null;
    readonly order: string;
  }>();
  expectTypeOf<OutputFor<typeof computed>>().toEqualTypeOf<{ readonly receipt: string | null }>();
  const script = { agents: { triage: ['{"kind": "other", "order": "A-1", "amount": 3}'] } };
  await using engine = createEngine({ journal: openMemory(), script });
  const run = async (defined: typeof ended | typeof computed) =>
    (await (await engine.run(defined, { message: 'hi' })).result()).output;
  expect(await run(ended)).toEqual({ receipt: null, order: 'A-1' });
  expect(await run(computed)).toEqual({ receipt: null });
});
