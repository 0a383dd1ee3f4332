/** Definitions as values: what is recorded, what is refused, and the documents that they become. */
import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import {
  agent,
  cel,
  code,
  compile,
  createEngine,
  flow,
  jsonSchema,
  loop,
  openMemory,
  team,
  text,
  tool,
  workflow,
} from '../../src/index.ts';
import type { Definition, Ref, StandardSchema } from '../../src/index.ts';

const worker = agent('worker', { instructions: 'Work.' });
const judge = agent('judge', {
  instructions: 'Judge.',
  output: z.object({ ok: z.boolean(), score: z.number(), tags: z.array(z.string()) }),
});
const Input = z.object({ name: z.string(), size: z.number() });
const judged = flow('f', { input: Input }).step(judge, ({ input }) => input.name);

const errorsOf = ({ document }: Definition) =>
  compile(document).diagnostics.filter(({ severity }) => severity === 'error');
const nodesOf = ({ document }: Definition) =>
  (document['flow'] as { nodes: { id: string; routes?: unknown; [field: string]: unknown }[] }).nodes;
const conditionOf = (condition: Parameters<typeof judged.when>[0]) =>
  (nodesOf(judged.when(condition, (f) => f.step(worker)))[0]?.routes as { when: string }[] | undefined)?.[0]?.when;

describe('references become CEL', () => {
  test.each([
    ['eq', () => conditionOf(({ judge: j }) => j.ok.eq(true)), 'judge.output.ok == true'],
    ['quotes', () => conditionOf(({ input }) => input.name.eq("it's")), 'event.payload.name == "it\'s"'],
    [
      'and before or',
      () => conditionOf(({ judge: j }) => j.ok.or(j.score.gt(1).and(j.score.lte(9)))),
      'judge.output.ok || judge.output.score > 1 && judge.output.score <= 9',
    ],
    [
      'or within and',
      () => conditionOf(({ judge: j }) => j.ok.or(j.ok).and(j.ok)),
      '(judge.output.ok || judge.output.ok) && judge.output.ok',
    ],
    ['not', () => conditionOf(({ judge: j }) => j.score.gt(1).not()), '!(judge.output.score > 1)'],
    [
      'minus',
      () => conditionOf(({ judge: j, input }) => j.score.minus(input.size.minus(1)).gt(0)),
      'judge.output.score - (event.payload.size - 1) > 0',
    ],
    ['times', () => conditionOf(({ judge: j }) => j.score.plus(1).times(2).gt(0)), '(judge.output.score + 1) * 2 > 0'],
    [
      'lists',
      () => conditionOf(({ judge: j }) => j.tags.includes('a').and(j.tags.size().gt(0))),
      "'a' in judge.output.tags && size(judge.output.tags) > 0",
    ],
    ['in', () => conditionOf(({ input }) => input.name.in(['a', 'b'])), "event.payload.name in ['a', 'b']"],
    [
      'text',
      () => conditionOf(({ input }) => input.name.startsWith('a').and(input.name.matches('^a+$'))),
      "event.payload.name.startsWith('a') && event.payload.name.matches('^a+$')",
    ],
    ['exists', () => conditionOf(({ judge: j }) => j.tags.at(0).exists()), 'judge.output.tags[0] != null'],
    ['cel', () => conditionOf(({ judge: j }) => cel<boolean>`size(${j.tags}) > ${2}`), 'size(judge.output.tags) > 2'],
  ])('%s', (_, recorded, wanted) => {
    expect(recorded()).toBe(wanted);
  });

  test('braces in plain text are no template', async () => {
    const odd = flow('odd', { input: Input }).output(({ input }) => ({
      a: '{{input.name}} }}',
      b: text`{{x}} ${input.name} {{`,
    }));
    expect(errorsOf(odd)).toEqual([]);
    await using engine = createEngine({ journal: openMemory(), script: {} });
    const run = await engine.run(odd, { name: 'Anna', size: 1 });
    expect((await run.result()).output).toEqual({ a: '{{input.name}} }}', b: '{{x}} Anna {{' });
  });

  test('a field that is named like an operation', () => {
    const sized = flow('f', { input: z.object({ size: z.number(), eq: z.number(), 'two words': z.string() }) });
    const defined = sized.output(({ input }) => ({ a: input.size, e: input.field('eq'), b: input['two words'] }));
    expect(nodesOf(defined)[0]?.['output']).toEqual({
      a: '{{event.payload.size}}',
      e: '{{event.payload.eq}}',
      b: '{{event.payload["two words"]}}',
    });
    expect(errorsOf(defined)).toEqual([]);
  });
});

test('an option that does not exist is an error of the document', () => {
  const other: object = { budget: 5, widht: 2, selecton: {}, timout: 1 };
  const unknown = (defined: Definition): (string | undefined)[] =>
    errorsOf(defined).map(({ message }) => /unknown key `(\w+)`/.exec(message)?.[1]);
  const all = ['budget', 'widht', 'selecton', 'timout'];
  expect(unknown(flow('f', other).step(worker))).toEqual(all);
  const each = judged.map(
    'm',
    ({ judge: j }) => j.tags,
    (f, item) => f.step(worker, () => item),
    other,
  );
  expect(unknown(each)).toEqual(all);
  expect(unknown(judged.parallel('p', [(f) => f.step(worker)], other))).toEqual(expect.arrayContaining(all));
  expect(unknown(team('t', { agents: [worker], selection: { Type: 'sequential' }, ...other }))).toEqual(all);
  expect(unknown(workflow('w', other).step(worker, undefined, other))).toEqual([...all, ...all]);
});

describe('what cannot be recorded throws', () => {
  const uses: readonly [string, (value: never) => unknown][] = [
    ['a plain template', (value) => 'Dear '.concat(value)],
    ['addition', (value) => (value as number) + 1],
    ['JSON', (value) => JSON.stringify({ value })],
    ['a loop', (value) => [...(value as string[])]],
    ['spreading', (value) => ({ ...(value as object) })],
    ['in', (value) => 'a' in (value as object)],
    ['an assignment', (value) => ((value as { a: number }).a = 1)],
  ];
  test.each(uses)('%s', (_, use) => {
    expect(() => judged.step(worker, ({ judge: j }) => use(j.tags as never) as string)).toThrow(
      expect.objectContaining({ code: 'not-recorded' }) as Error,
    );
  });

  test.each([
    ['date', new Date(0)],
    ['map', new Map()],
    ['promise', Promise.resolve()],
  ])('a %s inside a value', (kind, value) => {
    expect(() => judged.set('odd', () => ({ value }))).toThrow(`returned a ${kind}, which cannot be recorded`);
  });

  test('a condition that the function makes and does not use, as `&&` and `?:` do', () => {
    const lost = /^the function of .* makes the condition `'a' in judge.output.tags` and does not use it$/;
    expect(() => conditionOf(({ judge: j }) => j.tags.includes('a') && j.ok)).toThrow(lost);
    expect(() => judged.set('s', ({ judge: j }) => ({ n: j.tags.includes('a') ? 1 : 2 }))).toThrow(lost);
    const criteria = [{ when: ({ goal }: { goal: Ref<string> }) => goal.eq('a') && goal.ne('b'), reason: 'odd' }];
    expect(() => loop('l', { agent: worker, criteria })).toThrow("condition `goal == 'a'` and does not use it");
  });

  test('a result that no earlier step has, with the nearest name', () => {
    expect(() => judged.step(worker, (scope) => (scope as unknown as { judeg: string }).judeg)).toThrow(
      expect.objectContaining({ help: 'Did you mean `judge`?' }) as Error,
    );
  });

  test('a branch does not see its siblings', () => {
    const branch = (scope: unknown): string => (scope as { worker: string }).worker;
    expect(() =>
      judged.parallel('both', [(f) => f.step(worker, () => 'x'), (f) => f.step(agent('other', {}), branch as never)]),
    ).toThrow('no earlier step is called `worker`');
  });

  test('a part that does not return its flow, or has no steps', () => {
    expect(() =>
      judged.when(
        ({ judge: j }) => j.ok,
        () => undefined as never,
      ),
    ).toThrow('must return the flow');
    expect(() =>
      judged.map(
        'each',
        ({ judge: j }) => j.tags,
        (f) => f,
      ),
    ).toThrow('without steps');
  });

  test('names that are taken, reserved or unusable', () => {
    // @ts-expect-error the name is taken
    expect(() => judged.step(judge)).toThrow('there is already a step `judge`');
    // @ts-expect-error the name is reserved
    expect(() => judged.step(worker, () => '', { as: 'input' })).toThrow('cannot be called `input`');
    expect(() => judged.step(tool('a.b-c', {}))).toThrow('`b-c` is not a name');
    const twice = judged.step(tool('a.x', {})).step(tool('a.x', { effect: 'read' }), undefined, { as: 'y' });
    expect(() => twice.document).toThrow('two different tools are called `a.x`');
  });
});

describe('graphs', () => {
  test('a flow that begins with a condition', async () => {
    const sized = flow('sized', { input: Input })
      .when(
        ({ input }) => input.size.gt(10),
        (f) => f.set('size', () => ({ word: 'big' })),
        (f) => f.set('small', () => ({ word: 'small' })),
      )
      .output(({ size, small }) => ({ word: size.word.default('none'), other: small.word.default('none') }));
    expect(errorsOf(sized)).toEqual([]);
    await using engine = createEngine({ journal: openMemory(), script: {} });
    const outputs = await Promise.all(
      [20, 5].map(async (size) => (await (await engine.run(sized, { name: '', size })).result()).output),
    );
    expect(outputs).toEqual([
      { word: 'big', other: 'none' },
      { word: 'none', other: 'small' },
    ]);
  });

  test('two conditions in a row, the first one without an else', async () => {
    const defined = flow('f', { input: Input })
      .set('a', ({ input }) => ({ n: input.size }))
      .when(
        ({ a }) => a.n.gt(10),
        (f) => f.set('b', ({ a }) => ({ n: a.n.plus(1) })),
      )
      .when(
        ({ a }) => a.n.gt(20),
        (f) => f.set('c', () => ({ n: 0 })),
      )
      .output(({ a, b, c }) => ({ list: [a.n, b.n, c.n] }));
    expect(errorsOf(defined)).toEqual([]);
    await using engine = createEngine({ journal: openMemory(), script: {} });
    const outputs = await Promise.all(
      [5, 15, 25].map(async (size) => (await (await engine.run(defined, { name: '', size })).result()).output),
    );
    expect(outputs).toEqual([{ list: [5, null, null] }, { list: [15, 16, null] }, { list: [25, 26, 0] }]);
  });

  test('map, parallel, repeat, code and onError run', async () => {
    const double = code('double', { input: z.object({ n: z.number() }), run: ({ n }) => n * 2 });
    const fails = tool('x.fails', {
      effect: 'read',
      run: () => {
        throw new Error('broken');
      },
    });
    let tries = 0;
    const count = code('count', { run: () => ({ n: (tries += 1) }) });
    const defined = flow('all', { input: z.object({ numbers: z.array(z.number()) }) })
      .map(
        'each',
        ({ input }) => input.numbers,
        (f, item, index) => f.step(double, () => ({ n: item })).output(({ double: d }) => ({ d, index })),
      )
      .parallel('both', [(f) => f.set('one', () => ({ n: 1 })), (f) => f.set('two', () => ({ n: 2 }))])
      .repeat((f) => f.step(count), { until: ({ count: c }) => c.n.gte(3), max: 5 })
      .step(fails, undefined, { onError: (f, error) => f.set('mended', () => ({ why: error.message })) })
      .output(({ each, one, two, count: c, mended }) => ({
        each,
        sum: one.n.plus(two.n),
        tries: c.n,
        why: mended.why.default(''),
      }));
    expect(errorsOf(defined)).toEqual([]);
    await using engine = createEngine({ journal: openMemory() });
    const run = await engine.run(defined, { numbers: [1, 2] });
    const { output } = await run.result();
    expect(output).toEqual({
      each: [
        { d: 2, index: 0 },
        { d: 4, index: 1 },
      ],
      sum: 3,
      tries: 3,
      why: expect.stringContaining('broken') as string,
    });
  });

  test('an approval with choices of its own goes on with each of them', async () => {
    const defined = flow('f', { input: Input })
      .approve('way', () => 'Which way?', { choices: ['left', 'right'] })
      .output(({ way }) => ({ way }));
    await using engine = createEngine({ journal: openMemory() });
    const run = await engine.run(defined, { name: '', size: 1 });
    await run.answer('way', 'right', { by: 'anna' });
    expect((await run.result()).output).toEqual({ way: 'right' });
  });

  test('two flows that begin with the same steps do not disturb each other', () => {
    const one = judged.step(worker);
    const two = judged.step(agent('other', {}));
    expect([nodesOf(one), nodesOf(two), nodesOf(judged)].map((nodes) => nodes.map(({ id }) => id))).toEqual([
      ['judge', 'worker'],
      ['judge', 'other'],
      ['judge'],
    ]);
  });
});

describe('schemas of any library', () => {
  const JSON_SCHEMA = { type: 'object', properties: { kind: { type: 'string' } }, required: ['kind'] };
  const schemas: readonly [string, StandardSchema][] = [
    ['zod', z.object({ kind: z.string() })],
    ['valibot', v.object({ kind: v.string() })],
    ['arktype', type({ kind: 'string' })],
    ['JSON Schema', jsonSchema(JSON_SCHEMA)],
  ];
  test.each(schemas)('%s', (_, schema) => {
    expect(agent('a', { output: schema }).definition['output']).toEqual(JSON_SCHEMA);
  });

  test.each(schemas.slice(0, 3))('%s validates the input of a run and the arguments of a tool', async (_, schema) => {
    const echo = tool('x.echo', { effect: 'read', input: schema, run: (args) => args as { kind: string } });
    const defined = flow('f', { input: schema }).step(echo, ({ input }) => ({ kind: input['kind'] }));
    await using engine = createEngine({ journal: openMemory() });
    const run = await engine.run(defined, { kind: 'a' } as never);
    expect((await run.result()).output).toEqual({ kind: 'a' });
    await expect(engine.run(defined, { kind: 1 } as never)).rejects.toMatchObject({ code: 'bad-start' });
  });

  test('a schema without a JSON Schema is refused by name', () => {
    expect(() => agent('a', { output: z.object({ day: z.date() }) })).toThrow(
      'the schema of the output of `a` has no JSON Schema',
    );
    expect(() => agent('a', { output: {} as StandardSchema })).toThrow('does not follow Standard Schema');
  });
});
