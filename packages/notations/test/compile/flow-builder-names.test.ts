/** What `flow()` takes and refuses while it is written agrees with what the compiler says of the same document. */
import { hash } from 'node:crypto';
import { describe, expect, expectTypeOf, test } from 'vitest';
import type * as z from 'zod';
import { flow } from '../../src/flow/builder.ts';
import type { FlowDocument } from '../../src/flow/builder.ts';
import type { CheckedNodes } from '../../src/flow/builder.ts';
import { compile } from '../../src/driver/compile.ts';
import type { flowSchema } from '../../src/flow/schema.ts';

const codesOf = (document: object): readonly string[] =>
  compile(document, { hash: (text) => hash('sha256', text, 'hex') }).diagnostics.map(({ code }) => code);

const CLOSED = {
  agents: [
    {
      id: 'a',
      output: {
        type: 'object',
        properties: {
          n: { type: 'integer' },
          deep: { type: 'object', properties: { x: { type: 'string' } } },
          open: { type: 'object', additionalProperties: true, properties: { x: { type: 'string' } } },
        },
        additionalProperties: false,
      },
    },
  ],
} as const;

describe('flow(): templates', () => {
  test('an expression that only begins like a path, or not at all, is left to the compiler', () => {
    const document = flow(
      {
        id: 'f',
        entry: 's',
        nodes: [
          { id: 's', type: 'agent', agent: 'a', routes: [{ to: 'q' }] },
          {
            id: 'q',
            type: 'terminal',
            output: {
              not: '{{!s.output.done}}',
              minus: '{{-s.output.n}}',
              plus: '{{1+s.output.n}}',
              list: '{{[s.output, s.output]}}',
              has: '{{!has(s.output.k)}}',
              ask: "{{size(s.output) > 1 ? s.output : 'none'}}",
              map: "{{ {'a': s.output} }}",
              macro: '{{s.output.items.map(i, i.output)}}',
              lines: '{{\n  s.output\n}}',
              hidden: '{{ "}} {{nobody.output}}" }}',
              field: '{{outline.outputs}}',
              input: '{{event.payload.output}}',
            },
          },
        ],
      },
      { agents: [{ id: 'a' }] },
    );
    expect(codesOf(document)).toEqual([]);
  });

  test('a path may lead to the fields that a schema lists, and beyond one that is open', () => {
    const document = flow(
      {
        id: 'f',
        entry: 's',
        nodes: [
          { id: 's', type: 'agent', agent: 'a', routes: [{ to: 't' }] },
          { id: 't', type: 'tool', tool: 'web.get', params: { n: '{{s.output.n}}' }, routes: [{ to: 'q' }] },
          {
            id: 'q',
            type: 'terminal',
            output: ['{{s.output.deep.x}} {{t.result.body}}', { any: '{{ s.output.open.whatever }}' }],
          },
        ],
      },
      { ...CLOSED, tools: { 'web.get': { output: { type: 'object', properties: { body: { type: 'string' } } } } } },
    );
    expect(codesOf(document)).toEqual([]);
  });

  test('a field that a closed schema does not list is refused, as by the compiler', () => {
    const field = flow(
      {
        id: 'f',
        entry: 's',
        nodes: [
          { id: 's', type: 'agent', agent: 'a', routes: [{ to: 'q' }] },
          // @ts-expect-error the output has no `m`
          { id: 'q', type: 'terminal', output: { x: '{{s.output.m}}' } },
        ],
      },
      CLOSED,
    );
    const deeper = flow(
      {
        id: 'f',
        entry: 's',
        nodes: [
          { id: 's', type: 'agent', agent: 'a', routes: [{ to: 'q' }] },
          // @ts-expect-error `deep` has no `y`
          { id: 'q', type: 'terminal', output: { x: 'so: {{ s.output.deep.y }}' } },
        ],
      },
      CLOSED,
    );
    const result = flow(
      {
        id: 'f',
        entry: 't',
        nodes: [
          { id: 't', type: 'tool', tool: 'web.get', routes: [{ to: 'q' }] },
          // @ts-expect-error the result has no `bdy`
          { id: 'q', type: 'terminal', output: { x: '{{t.result.bdy}}' } },
        ],
      },
      { tools: { 'web.get': { output: { type: 'object', properties: { body: { type: 'string' } } } } } },
    );
    for (const document of [field, deeper, result]) expect(codesOf(document)).toEqual(['unknown-name']);
  });

  test('what a node of another kind would leave is refused, as by the compiler', () => {
    const kind = flow(
      {
        id: 'f',
        entry: 's',
        nodes: [
          { id: 's', type: 'agent', agent: 'a', routes: [{ to: 'q' }] },
          // @ts-expect-error an agent leaves its output
          { id: 'q', type: 'terminal', output: { x: '{{s.result}}' } },
        ],
      },
      { agents: [{ id: 'a' }] },
    );
    const branch = flow({
      id: 'f',
      entry: 'p',
      nodes: [
        { id: 'p', type: 'parallel', branches: [{ to: 'l' }, { to: 'r' }], routes: [{ to: 'q' }] },
        { id: 'l', type: 'terminal' },
        { id: 'r', type: 'terminal' },
        // @ts-expect-error no branch begins at `q`
        { id: 'q', type: 'terminal', output: { x: '{{p.output.l}} {{p.output.q}}' } },
      ],
    });
    for (const document of [kind, branch]) expect(codesOf(document)).toEqual(['unknown-name']);
  });
});

describe('flow(): names', () => {
  test('built-in tools and those of a server may be named beside the own ones', () => {
    const document = flow(
      {
        id: 'f',
        entry: 'one',
        nodes: [
          { id: 'one', type: 'tool', tool: 'http.get', params: { url: 'https://a.example' }, routes: [{ to: 'two' }] },
          { id: 'two', type: 'tool', tool: 'srv.read', routes: [{ to: 'three' }] },
          { id: 'three', type: 'tool', tool: 'search', routes: [{ to: 'four' }] },
          { id: 'four', type: 'tool', tool: 'own.tool' },
        ],
      },
      {
        tools: { 'own.tool': {} },
        mcp: { srv: { command: 'serve' }, other: { command: 'serve', tools: ['search'] } },
      },
    );
    const builtin = flow(
      {
        id: 'f',
        entry: 's',
        nodes: [{ id: 's', type: 'tool', tool: 'http.get', params: { url: 'https://a.example' } }],
      },
      { tools: { 'own.tool': {} } },
    );
    const stranger = flow(
      {
        id: 'f',
        entry: 's',
        nodes: [
          // @ts-expect-error no server is called `serv`
          { id: 's', type: 'tool', tool: 'serv.read' },
        ],
      },
      { mcp: { srv: { command: 'serve' } } },
    );
    expect(codesOf(document)).toEqual([]);
    expect(codesOf(builtin)).toEqual([]);
    expect(codesOf(stranger)).toEqual(['unknown-tool']);
  });

  test('a wrong name is told which ones there are', () => {
    type Nodes = readonly [
      {
        readonly id: 'one';
        readonly type: 'agent';
        readonly agent: 'bott';
        readonly input: { readonly task: '{{tow.output}}' };
      },
      { readonly id: 'two'; readonly type: 'tool'; readonly tool: 'own.tol' },
    ];
    type Wanted = CheckedNodes<
      Nodes,
      readonly [{ readonly id: 'bot' }, { readonly name: 'cat' }],
      { readonly 'own.tool': object },
      { readonly srv: object }
    >;
    expectTypeOf<Wanted[0]['agent']>().toEqualTypeOf<'bot' | 'cat'>();
    expectTypeOf<NonNullable<Wanted[0]['routes']>[number]['to']>().toEqualTypeOf<'one' | 'two' | 'end'>();
    expectTypeOf<NonNullable<Wanted[0]['input']>['task']>().toEqualTypeOf<
      'there is no node tow: write one' | 'there is no node tow: write two'
    >();
    expectTypeOf<'own.tool' | 'http.get' | `srv.${string}`>().toExtend<Wanted[1]['tool']>();
    expectTypeOf<'own.tol'>().not.toExtend<Wanted[1]['tool']>();
  });

  test('a choice that is not offered and a branch that does not exist are refused, as by the compiler', () => {
    const choice = flow({
      id: 'f',
      entry: 's',
      nodes: [
        // @ts-expect-error the choices are `approve` and `reject`
        { id: 's', type: 'approval', message: 'Well?', on_timeout: 'no', timeout: 1 },
      ],
    });
    const branch = flow({
      id: 'f',
      entry: 's',
      nodes: [
        // @ts-expect-error a branch leads to a node
        { id: 's', type: 'parallel', branches: [{ to: 'q' }, { to: 'end' }] },
        { id: 'q', type: 'terminal' },
      ],
    });
    expect(codesOf(choice)).toEqual(['unknown-choice']);
    expect(codesOf(branch)).toEqual(['branch-to-end']);
  });
});

describe('flow(): fields', () => {
  test('a key that the notation does not have is refused at every depth', () => {
    const node = flow({
      id: 'f',
      entry: 's',
      nodes: [
        // @ts-expect-error nodes have no `extra`
        { id: 's', type: 'terminal', extra: 1 },
      ],
    });
    const route = flow({
      id: 'f',
      entry: 's',
      nodes: [
        // @ts-expect-error routes have no `wehn`
        { id: 's', type: 'decision', expr: 'event.payload.x', routes: [{ wehn: 'a', to: 'end' }] },
      ],
    });
    const join = flow({
      id: 'f',
      entry: 's',
      nodes: [
        // @ts-expect-error joins have no `cuont`
        { id: 's', type: 'parallel', branches: [{ to: 'a' }, { to: 'a' }], join: { cuont: 1 } },
        { id: 'a', type: 'terminal' },
      ],
    });
    for (const document of [node, route, join]) expect(codesOf(document)).toEqual(['unknown-key']);
  });

  test('what is put together at run time is taken as it is', () => {
    const id: string = ['s', ''].join('');
    const nodes = [{ id, type: 'terminal' as const, output: { x: '{{s.output}}' } }];
    const choices = ['yes', 'no'];
    const made: FlowDocument[] = [
      flow({ id: 'f', entry: 's', nodes }),
      flow({
        id: 'f',
        entry: id,
        nodes: [
          { id, type: 'agent', agent: 'a', routes: [{ to: 'q' }] },
          { id: 'q', type: 'approval', message: '{{s.output}}', choices, on_timeout: 'no', timeout: 1 },
        ],
      }),
    ];
    expect(made.map(({ flow: { entry } }) => entry)).toEqual(['s', 's']);
  });

  test('every field of the notation can be written', () => {
    type Written = z.input<typeof flowSchema>;
    type Fields<Node> = Node extends { type: string } ? [Node['type'], keyof Node] : never;
    type Built = FlowDocument['flow'];
    expectTypeOf<keyof Built>().toEqualTypeOf<keyof Written>();
    expectTypeOf<Fields<Built['nodes'][number]>>().toEqualTypeOf<Fields<Written['nodes'][number]>>();
    expectTypeOf<Written>().toExtend<Built>();
  });
});
