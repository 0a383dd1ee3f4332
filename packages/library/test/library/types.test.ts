/** Types of definitions: what is inferred, and each kind of mistake. The compiler checks this file. */
import { describe, expect, expectTypeOf, test } from 'vitest';
import * as z from 'zod';
import { agent, code, compile, flow, jsonSchema, loop, team, text, tool, workflow } from '../../src/index.ts';
import type { Engine, InputFor, OutputFor, QuestionsFor, Ref, Reply } from '../../src/index.ts';
import type { Triage } from './refunds.ts';
import { refund, refunds, triage } from './refunds.ts';

type Triaged = z.infer<typeof Triage>;
const anyInput = flow('f', { input: z.object({ message: z.string(), count: z.number().default(1) }) });

describe('inference', () => {
  test('of input, output and questions of a flow', () => {
    expectTypeOf<InputFor<typeof refunds>>().toEqualTypeOf<{ message: string }>();
    expectTypeOf<OutputFor<typeof refunds>>().toEqualTypeOf<Triaged | 'reject' | { receipt: string; paid: number }>();
    expectTypeOf<QuestionsFor<typeof refunds>['gate']>().toEqualTypeOf<'approve' | 'reject'>();
    expect(refunds.id).toBe('refunds');
  });

  test('of the state from step to step, and of values that exist only on some paths', () => {
    anyInput
      .step(triage, ({ input }) => {
        expectTypeOf(input.message).toEqualTypeOf<Ref<string>>();
        // A default is applied before the flow begins.
        expectTypeOf(input.count).toEqualTypeOf<Ref<number>>();
        return input.message;
      })
      .when(
        ({ triage: sorted }) => {
          expectTypeOf(sorted.kind).toEqualTypeOf<Ref<'refund' | 'other'>>();
          return sorted.kind.eq('refund');
        },
        (f) => f.step(refund, ({ triage: sorted }) => ({ order: sorted.order, amount: sorted.amount })),
      )
      .output(({ refund: maybe }) => {
        expectTypeOf(maybe.receipt).toEqualTypeOf<Ref<string | undefined>>();
        return { receipt: maybe.receipt.default('none') };
      });
  });

  test('of the input before its defaults', () => {
    const defined = anyInput.step(triage, ({ input }) => input.message);
    expectTypeOf<InputFor<typeof defined>>().toEqualTypeOf<{ message: string; count?: number | undefined }>();
  });

  test('of the result of a function, of code, and of an output schema', () => {
    const total = code('total', { input: z.object({ items: z.array(z.number()) }), run: ({ items }) => items.length });
    const summed = flow('sum', { input: z.object({ items: z.array(z.number()) }) })
      .step(total, ({ input }) => ({ items: input.items }))
      .output(({ total: sum }) => ({ sum, twice: sum.times(2), label: text`${sum} items`, fixed: 1 }));
    expectTypeOf<OutputFor<typeof summed>>().toEqualTypeOf<{
      readonly sum: number;
      readonly twice: number;
      readonly label: string;
      readonly fixed: 1;
    }>();
    expect(compile(summed.document).diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  });

  test('of lists, of branches and of repeated steps', () => {
    const worker = agent('worker', { instructions: 'Work.', output: z.object({ found: z.string() }) });
    const critic = agent('critic', { instructions: 'Judge.', output: z.object({ ok: z.boolean() }) });
    const defined = flow('many', { input: z.object({ tasks: z.array(z.object({ brief: z.string() })) }) })
      .map(
        'each',
        ({ input }) => input.tasks,
        (f, task) => f.step(worker, () => text`Find ${task.brief}`),
      )
      .repeat((f) => f.step(critic, ({ each }) => text`${each}`), {
        until: ({ critic: verdict }) => verdict.ok,
        max: 3,
      })
      .output(({ each, critic: verdict }) => {
        expectTypeOf(each).toEqualTypeOf<Ref<readonly { found: string }[]>>();
        return { all: each, ok: verdict.ok };
      });
    expectTypeOf<OutputFor<typeof defined>>().toEqualTypeOf<{
      readonly all: readonly { found: string }[];
      readonly ok: boolean;
    }>();
    expect(compile(defined.document).diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  });

  test('of results that an error or a missing branch can replace', () => {
    const worker = agent('worker', { output: z.object({ found: z.string() }) });
    const other = agent('other', { output: z.object({ more: z.string() }) });
    const begun = flow('many', { input: z.object({ tasks: z.array(z.string()) }) });
    const mapped = <const OnError extends 'fail' | 'skip' | 'collect'>(onItemError: OnError) =>
      begun.map(
        'each',
        ({ input }) => input.tasks,
        (f, task) => f.step(worker, () => task),
        { onItemError },
      );
    type Found = { found: string };
    type Failed = { readonly error: { readonly type: string; readonly message: string } };
    const skipped = mapped('skip');
    const collected = mapped('collect');
    expectTypeOf<OutputFor<typeof skipped>>().toEqualTypeOf<readonly Found[]>();
    expectTypeOf<OutputFor<typeof collected>>().toEqualTypeOf<readonly (Found | Failed)[]>();
    begun.parallel('all', [(f) => f.step(worker), (f) => f.step(other)]).output(({ worker: found }) => {
      expectTypeOf(found.found).toEqualTypeOf<Ref<string>>();
      return { found };
    });
    for (const join of ['any', 1] as const)
      begun.parallel('some', [(f) => f.step(worker), (f) => f.step(other)], { join }).output(({ worker: found }) => {
        expectTypeOf(found.found).toEqualTypeOf<Ref<string | undefined>>();
        return { found: found.found.default('nothing') };
      });
  });

  test('of lists that later steps take', () => {
    const priced = code('priced', { input: z.object({ n: z.number() }), run: ({ n }) => ({ net: n, tags: ['a'] }) });
    const Nets = z.array(z.object({ net: z.number(), tags: z.array(z.string()) }));
    const sum = code('sum', {
      input: z.object({ nets: Nets, first: z.object({ all: Nets }) }),
      run: ({ nets }) => nets.length,
    });
    const defined = flow('sum', { input: z.object({ items: z.array(z.number()) }) })
      .map(
        'nets',
        ({ input }) => input.items,
        (f, n) => f.step(priced, () => ({ n })),
      )
      .set('kept', ({ nets }) => ({ all: nets }))
      .step(sum, ({ nets, kept }) => ({ nets, first: kept }));
    expectTypeOf<OutputFor<typeof defined>>().toEqualTypeOf<number>();
    expect(compile(defined.document).diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  });

  test('of loops, teams and workflows', () => {
    const answer = agent('answer', { instructions: 'Answer.', output: z.object({ text: z.string() }) });
    const free = agent('free', { instructions: 'Answer.' });
    const typed = loop('typed', {
      agent: answer,
      criteria: [{ when: ({ receipts }) => receipts.size().gt(0), reason: 'no call' }],
    });
    expectTypeOf<OutputFor<typeof typed>>().toEqualTypeOf<{ text: string }>();
    const untyped = loop('untyped', { agent: free });
    expectTypeOf<OutputFor<typeof untyped>>().toEqualTypeOf<Reply>();
    const pair = team('pair', {
      agents: [free, agent('other', {})],
      selection: { Type: 'keyword', Routes: [{ Keyword: 'GO', Agent: 'other' }] },
      termination: { Type: 'maxiterations', MaxIterations: 3 },
    });
    expectTypeOf<OutputFor<typeof pair>>().toEqualTypeOf<string>();
    const steps = workflow('steps')
      .step(free)
      .step(agent('last', {}), ({ input, free: first }) => text`${input} ${first}`);
    expectTypeOf<InputFor<typeof steps>>().toEqualTypeOf<string>();
    for (const { document } of [typed, untyped, pair, steps])
      expect(compile(document).diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  });
});

describe('the result of a function', () => {
  const Kind = z.object({ kind: z.enum(['a', 'b']), n: z.number().default(1) });
  const read = { effect: 'read' } as const;

  test('keeps the literals of an output schema', () => {
    interface Row {
      id: string;
      tags: string[];
      at?: string;
    }
    const load = async (id: string): Promise<Row[]> => [{ id, tags: [] }];
    const rows = z.array(z.object({ id: z.string(), tags: z.array(z.string()), at: z.string().optional() }));
    const either = z.discriminatedUnion('t', [
      z.object({ t: z.literal('p'), v: z.number() }),
      z.object({ t: z.literal('q') }),
    ]);
    const tools = [
      tool('x.literal', { ...read, output: Kind, run: () => ({ kind: 'a' }) }),
      tool('x.async', {
        input: z.object({ q: z.string() }),
        output: Kind,
        run: async ({ q }) => ({ kind: q === 'a' ? 'a' : 'b', n: 2 }),
      }),
      tool('x.elsewhere', { input: z.object({ id: z.string() }), output: rows, run: ({ id }) => load(id) }),
      tool('x.lists', {
        output: z.object({ list: z.array(z.number()), pair: z.tuple([z.string(), z.number()]) }),
        run: () => ({ list: [1, 2], pair: ['a', 1] }),
      }),
      tool('x.union', { output: either, run: (_, { attempt }) => (attempt > 1 ? { t: 'p', v: 1 } : { t: 'q' }) }),
      tool('x.json', { output: z.json(), run: () => ({ a: [1, { b: null }] }) }),
      tool('x.any', { output: z.any(), run: () => 3 }),
      tool('x.parsed', { output: Kind, run: () => JSON.parse('{}') as z.infer<typeof Kind> }),
      tool('x.scripted', { ...read, output: Kind }),
      tool('x.nothing', { run: () => undefined }),
    ];
    expect(tools.filter(({ definition }) => 'output' in definition)).toHaveLength(9);
    const twice = code('twice', {
      input: z.object({ a: z.number() }),
      output: z.object({ twice: z.number(), kind: z.enum(['x', 'y']) }),
      run: ({ a }) => ({ twice: a * 2, kind: 'x' }),
    });
    const doubled = flow('f', { input: z.object({ a: z.number() }) }).step(twice, ({ input }) => ({ a: input.a }));
    expectTypeOf<OutputFor<typeof doubled>>().toEqualTypeOf<{ twice: number; kind: 'x' | 'y' }>();
  });

  test('must fit the output schema', () => {
    const Count = z.object({ n: z.number() });
    const wrong = [
      // @ts-expect-error the schema has no such kind
      tool('x.kind', { ...read, output: Kind, run: () => ({ kind: 'c' }) }),
      // @ts-expect-error text instead of a number
      tool('x.text', { output: Count, run: async () => ({ n: 'x' }) }),
      // @ts-expect-error a list of text instead of numbers
      tool('x.list', { output: z.object({ list: z.array(z.number()) }), run: () => ({ list: ['a'] }) }),
      // @ts-expect-error a field is missing
      code('missing', { output: Count, run: () => ({}) }),
      // @ts-expect-error nothing is returned
      code('nothing', { output: Count, run: () => {} }),
    ];
    expect(wrong).toHaveLength(5);
  });
});

describe('mistakes are type errors', () => {
  test('in arguments of a tool', () => {
    const sorted = anyInput.step(triage, ({ input }) => input.message);
    // @ts-expect-error amount is a number
    sorted.step(refund, ({ triage: t }) => ({ order: t.order, amount: t.order }));
    // @ts-expect-error amount is missing
    sorted.step(refund, ({ triage: t }) => ({ order: t.order }));
    // @ts-expect-error a tool with required arguments needs a function
    sorted.step(refund);
    // @ts-expect-error text instead of arguments
    expect(() => sorted.step(refund, ({ triage: t }) => t.order)).toThrow('must be an object');
    expect(sorted.id).toBe('f');
  });

  test('in references', () => {
    // @ts-expect-error the input has no field `mesage`
    anyInput.step(triage, ({ input }) => input.mesage);
    const later = (): unknown =>
      anyInput
        // @ts-expect-error `triage` comes later
        .step(refund, ({ triage: t }) => ({ order: t, amount: 1 }))
        .step(triage);
    expect(later).toThrow('no earlier step is called `triage`');
  });

  test('in values that exist only on some paths', () => {
    const maybe = anyInput.step(triage).when(
      ({ triage: t }) => t.amount.gt(5),
      (f) => f.step(refund, ({ triage: t }) => ({ order: t.order, amount: t.amount })),
    );
    // @ts-expect-error the receipt may not exist: `.default(…)` is missing
    maybe.step(refund, ({ refund: r }) => ({ order: r.receipt, amount: 1 }), { as: 'again' });
    maybe.step(refund, ({ refund: r }) => ({ order: r.receipt.default(''), amount: 1 }), { as: 'again' });
    expect(maybe.id).toBe('f');
  });

  test('in conditions', () => {
    const sorted = anyInput.step(triage);
    type Condition = Parameters<typeof sorted.when>[0];
    const build = (condition: Condition) => () => sorted.when(condition, (f) => f);
    // @ts-expect-error no such kind
    const unknownKind: Condition = ({ triage: t }) => t.kind.eq('refnud');
    // @ts-expect-error text has no `gt`
    const noOperation: Condition = ({ triage: t }) => t.kind.gt(3);
    // @ts-expect-error a comparison in JavaScript is not recorded
    const compared: Condition = ({ triage: t }) => t.kind === 'refund';
    // @ts-expect-error neither is a comparison of numbers
    const ordered: Condition = ({ triage: t }) => t.amount > 5;
    // @ts-expect-error a text is not a condition
    const notBoolean: Condition = ({ triage: t }) => t.order;
    // @ts-expect-error a promise cannot be recorded
    const promised: Condition = async ({ triage: t }) => t.kind.eq('refund');
    // @ts-expect-error nothing is returned
    const nothing: Condition = () => undefined;
    expect(build(unknownKind)).not.toThrow();
    expect(build(noOperation)).not.toThrow();
    expect(build(notBoolean)).not.toThrow();
    expect(build(compared)).toThrow('returned a boolean, which cannot be recorded');
    expect(build(ordered)).toThrow('so `>`, `+` and `${…}` cannot be recorded');
    expect(build(promised)).toThrow('returned a promise, which cannot be recorded');
    expect(build(nothing)).toThrow('returned undefined, which cannot be recorded');
  });

  test('in budgets, effects and answers', () => {
    // @ts-expect-error no such budget
    flow('f', { budgets: { modelCall: 5 } });
    // @ts-expect-error no such effect
    tool('a.b', { effect: 'finacial' });
    // @ts-expect-error `run` does not take this argument
    tool('a.b', { input: z.object({ n: z.number() }), run: ({ m }) => m as string });
    tool('web.get', { effect: 'egress', confidential: true, run: () => 'text' });
    // @ts-expect-error not an agent of the team
    team('t', { agents: [agent('a', {})], selection: { Type: 'keyword', Routes: [{ Keyword: 'x', Agent: 'b' }] } });
    // @ts-expect-error no earlier step is called so
    expect(() => workflow('w').step(agent('a', {}), ({ nobody }) => text`${nobody}`)).toThrow();
    const use = async (engine: Engine): Promise<void> => {
      const run = await engine.run(refunds, { message: '' });
      // @ts-expect-error not a choice
      await run.answer('gate', 'aprove', { by: 'anna' });
      // @ts-expect-error not a question
      await run.answer('gaet', 'approve', { by: 'anna' });
      // @ts-expect-error an answer needs a person
      await run.answer('gate', 'approve');
      // @ts-expect-error the input has a message
      await engine.run(refunds, { text: '' });
    };
    expect(use).toBeTypeOf('function');
  });

  test('in the names of steps', () => {
    const sorted = anyInput.step(triage);
    const other = agent('other', {});
    const gate = sorted.approve('gate', () => 'Go on?');
    const both = sorted.map(
      'each',
      () => [1],
      (f) => f.step(other),
    );
    const taken = [
      // @ts-expect-error `triage` is a step already
      () => sorted.step(triage),
      // @ts-expect-error also under a name that is given
      () => sorted.step(other, undefined, { as: 'triage' }),
      // @ts-expect-error a question is a step
      () => gate.approve('gate', () => 'Again?'),
      // @ts-expect-error so are values
      () => gate.set('gate', () => ({ n: 1 })),
      () =>
        // @ts-expect-error and lists
        gate.map(
          'gate',
          () => [1],
          (f) => f.step(other),
        ),
      // @ts-expect-error and branches
      () => gate.parallel('gate', [(f) => f.step(other), (f) => f.step(other, undefined, { as: 'second' })]),
      // @ts-expect-error the steps of a list are steps of the flow
      () => both.step(other),
      () =>
        sorted.when(
          ({ triage: t }) => t.amount.gt(5),
          (f) => f.step(other),
          // @ts-expect-error both ways of a condition are in one flow
          (f) => f.step(other),
        ),
      () =>
        // @ts-expect-error a step of one way is still there after it
        sorted
          .when(
            ({ triage: t }) => t.amount.gt(5),
            (f) => f.step(other),
          )
          .step(other),
      // @ts-expect-error two branches have the step
      () => sorted.parallel('both', [(f) => f.step(other), (f) => f.step(other)]),
      // @ts-expect-error a branch has a step of the name of all
      () => sorted.parallel('other', [(f) => f.step(other), (f) => f.step(triage, undefined, { as: 'more' })]),
      // @ts-expect-error a repeated step is there already
      () => sorted.repeat((f) => f.step(other), { until: ({ triage: t }) => t.amount.gt(5), max: 2 }).step(other),
      // @ts-expect-error so is one that handles an error
      () => sorted.step(refund, () => ({ order: 'x', amount: 1 }), { onError: (f) => f.step(other) }).step(other),
      // @ts-expect-error the name of an end
      () => sorted.output(() => 1, { as: 'triage' }),
      // @ts-expect-error the name of a failure
      () => sorted.fail('VALIDATION_FAIL', 'no', { as: 'triage' }),
      // @ts-expect-error a workflow has each name once
      () => workflow('w').step(other).step(other),
      // @ts-expect-error also in a loop
      () => workflow('w').step(other).repeat(other, { until: 'DONE' }),
      // @ts-expect-error also after a condition
      () => workflow('w').step(other).when('GO', other),
      // @ts-expect-error also side by side
      () => workflow('w').step(other).gather([other]),
    ];
    for (const build of taken) expect(build).toThrow('there is already a step');
    // @ts-expect-error `input` is the input
    expect(() => sorted.step(other, undefined, { as: 'input' })).toThrow('cannot be called `input`');
    // @ts-expect-error the steps that handle an error are not returned
    expect(() => sorted.step(other, undefined, { onError: () => undefined })).toThrow('must return the flow');
    expect(sorted.step(triage, undefined, { as: 'again' }).step(other).id).toBe('f');
    // A name that the types do not know is checked only at run time.
    const named: string = 'triage';
    expect(() => sorted.step(other, undefined, { as: named })).toThrow('there is already a step `triage`');
  });

  test('after an output nothing follows', () => {
    const done = anyInput.output(({ input }) => ({ said: input.message }));
    // @ts-expect-error the flow has ended
    expect(done.step).toBeTypeOf('function');
    expectTypeOf<OutputFor<typeof done>>().toEqualTypeOf<{ readonly said: string }>();
  });

  test('a schema with a type of your own', () => {
    const own = agent('own', {
      output: jsonSchema<{ n: number }>({ type: 'object', properties: { n: { type: 'number' } } }),
    });
    const defined = flow('own').step(own);
    expectTypeOf<OutputFor<typeof defined>>().toEqualTypeOf<{ n: number }>();
    expect(compile(defined.document).ok).toBe(true);
  });
});
