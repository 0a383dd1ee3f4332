/** What a model says while it says it: the latest of it stands beside the step that asked, until the reply is there. */
import { expect, test } from 'vitest';
import type { CompiledFlow } from '../../src/core/ir.ts';
import type { Event } from '../../src/core/run.ts';
import { createProgress } from '../../src/surfaces/cli/view/progress.ts';

const flow = {
  entry: 'ask',
  nodes: {
    ask: { op: 'do', origin: 'ask', enters: 'ask', effect: { kind: 'model', agent: 'writer', input: {}, reserve: {} } },
  },
  agents: {},
} as unknown as CompiledFlow;
const event = (body: object): Event => ({ seq: 1, at: 1, ...body }) as Event;

test('one line, the newest part of it, and only for a call that is under way', () => {
  const progress = createProgress(flow);
  progress.take(
    event({
      type: 'effect.requested',
      thread: '0',
      key: '0#0',
      node: 'ask',
      kind: 'model',
      name: 'writer',
      input: 'x',
      deadline: null,
    }),
  );
  expect(progress.steps[0]?.doing).toBe('agent writer');
  progress.hear('0#0', 'Dear\nMadam, ');
  progress.hear('0#0', 'I write to you');
  expect(progress.steps[0]?.doing).toBe('Dear Madam, I write to you');
  progress.hear('0#0', `${'x'.repeat(200)}end`);
  expect(progress.steps[0]?.doing).toMatch(/^x{57}end$/);
  progress.hear('0#9', 'nobody asked');
  expect(progress.steps).toHaveLength(1);
});
