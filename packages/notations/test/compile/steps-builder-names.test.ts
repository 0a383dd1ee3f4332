/** What `workflow()` takes and refuses while it is written agrees with what the compiler says of the same document. */
import { describe, expect, expectTypeOf, test } from 'vitest';
import type * as z from 'zod';
import { workflow } from '../../src/workflow/builder.ts';
import type { WorkflowDocument } from '../../src/workflow/builder.ts';
import type { CheckedSteps } from '../../src/workflow/builder.ts';
import type { workflowSchema } from '../../src/workflow/schema.ts';
import { compileSteps } from './steps-drive.ts';

const codesOf = (document: WorkflowDocument): readonly string[] =>
  compileSteps(document).diagnostics.map(({ code }) => code);

describe('workflow(): names', () => {
  test('an agent that is not in the list is refused in every spelling', () => {
    const agents = [{ id: 'u1', name: 'reader' }] as const;
    const documents = [
      workflow(
        {
          steps: [
            // @ts-expect-error there is no agent `nope`
            { agent: 'nope' },
          ],
        },
        { agents },
      ),
      workflow(
        {
          steps: [
            // @ts-expect-error there is no agent `nope`
            { agent: { ByName: 'nope' } },
          ],
        },
        { agents },
      ),
      workflow(
        {
          steps: [
            // @ts-expect-error `u1` is an id
            { agent: { name: 'u1' } },
          ],
        },
        { agents },
      ),
      workflow(
        {
          steps: [
            // @ts-expect-error `reader` is a name
            { agent: { ById: 'reader' } },
          ],
        },
        { agents },
      ),
      workflow(
        {
          steps: [
            // @ts-expect-error `reader` is a name
            { agent: { id: 'reader' } },
          ],
        },
        { agents },
      ),
      workflow(
        {
          steps: [
            // @ts-expect-error `reader` is a name
            { agent_id: 'reader' },
          ],
        },
        { agents },
      ),
    ];
    for (const document of documents) expect(codesOf(document)).toEqual(['unknown-agent']);
  });

  test('an agent in the list is taken in every spelling', () => {
    const document = workflow(
      {
        steps: [
          { agent: 'a' },
          { agent: 'u2' },
          { agent: { ByName: 'a' } },
          { agent: { ById: 'u2' } },
          { agent: { name: 'a' } },
          { agent: { id: 'u2' } },
          { agent_name: 'a' },
          { agent_id: 'u2' },
        ],
      },
      { agents: [{ name: 'a' }, { id: 'u2', name: 'b' }] },
    );
    expect(codesOf(document)).toEqual([]);
  });

  test('a wrong name is told which ones there are', () => {
    type Steps = readonly [
      { readonly agent_name: 'a'; readonly output_var: 'draft' },
      { readonly agent_name: 'nope'; readonly prompt: '{{ darft }}' },
    ];
    type Wanted = CheckedSteps<Steps, readonly [{ readonly name: 'a'; readonly id: 'u1' }, { readonly name: 'b' }]>[1];
    expectTypeOf<NonNullable<Wanted['agent_name']>>().toEqualTypeOf<'a' | 'b'>();
    expectTypeOf<NonNullable<Wanted['agent_id']>>().toEqualTypeOf<'u1' | 'b'>();
    expectTypeOf<NonNullable<Wanted['prompt']>>().toEqualTypeOf<
      'no earlier step stores {{darft}}: write {{input}}' | 'no earlier step stores {{darft}}: write {{draft}}'
    >();
  });

  test('braces that are no variable are text', () => {
    const document = workflow({
      steps: [{ agent_name: 'a', prompt: 'Answer {{"kind": {"of": "JSON"}}}, or {{}}, about {{\n input\n}}' }],
    });
    expect(codesOf(document)).toEqual([]);
  });
});

describe('workflow(): fields', () => {
  test('every spelling that the notation has can be written', () => {
    const document = workflow(
      {
        id: 'x',
        name: 'n',
        description: null,
        created_at: '2024-05-01T00:00:00Z',
        steps: [
          { agent_name: 'a', mode: 'fanout', output_var: null },
          { agent_name: 'b', mode: 'FanOut', error_mode: { retry: { max_retries: 1 } } },
          { mode: 'Collect' },
          { agent_name: 'a', mode: { loop: { until: 'x' } }, error_mode: { Retry: {} }, max_retries: 2 },
          { agent_name: 'b', mode: { Loop: { max_iterations: 2 } }, until: 'x' },
          { agent_name: 'a', mode: { conditional: { condition: 'x' } } },
          { agent_name: 'b', mode: { Conditional: {} }, condition: 'x', prompt_template: '{{input}}' },
        ],
      },
      { sluice: 1, agents: [{ name: 'a' }, { name: 'b' }], policies: {}, protections: {}, pii: { mode: 'off' } },
    );
    expect(compileSteps(document).diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  });

  test('a variable of a batch in any spelling is known only after it', () => {
    const document = workflow({
      steps: [
        { agent_name: 'a', mode: 'fanout', output_var: 'draft' },
        // @ts-expect-error branches of one batch do not see each other
        { agent_name: 'b', mode: 'fanout', prompt: '{{draft}}' },
        { agent_name: 'c', prompt: '{{draft}}' },
      ],
    });
    expect(codesOf(document)).toEqual(['unknown-variable']);
  });

  test('a key that the notation does not have is refused at every depth', () => {
    const step = workflow({
      steps: [
        // @ts-expect-error it is called `prompt`
        { agent_name: 'a', promt: '{{input}}' },
      ],
    });
    const mode = workflow({
      steps: [
        // @ts-expect-error it is called `max_iterations`
        { agent_name: 'a', mode: { Loop: { until: 'x', iterations: 2 } } },
      ],
    });
    for (const document of [step, mode]) expect(codesOf(document)).toEqual(['unknown-key']);
  });

  test('every field and every word of the notation can be written', () => {
    type Written = z.input<typeof workflowSchema>;
    type Built = WorkflowDocument['workflow'];
    type Words<Value> = Extract<Value, string>;
    type Keys<Value> = Value extends object ? keyof Value : never;
    type Step = Built['steps'][number];
    type WrittenStep = Written['steps'][number];
    expectTypeOf<keyof Built>().toEqualTypeOf<keyof Written>();
    expectTypeOf<keyof Step>().toEqualTypeOf<keyof WrittenStep>();
    expectTypeOf<Words<Step['mode']>>().toEqualTypeOf<Words<WrittenStep['mode']>>();
    expectTypeOf<Keys<Step['mode']>>().toEqualTypeOf<Keys<WrittenStep['mode']>>();
    expectTypeOf<Words<Step['error_mode']>>().toEqualTypeOf<Words<WrittenStep['error_mode']>>();
    expectTypeOf<Keys<Step['error_mode']>>().toEqualTypeOf<Keys<WrittenStep['error_mode']>>();
    expectTypeOf<Keys<Step['agent']>>().toEqualTypeOf<Keys<WrittenStep['agent']>>();
    expectTypeOf<Omit<WrittenStep, 'agent' | 'mode' | 'error_mode'>>().toExtend<Step>();
  });
});
