/** What a model says while it says it: the latest of it stands beside the step that asked, until the reply is there. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import picocolors from 'picocolors';
import { expect, test } from 'vitest';
import type { CompiledFlow, Event } from '@sluice-internal/kernel/ir';
import { createCli } from '@sluice-internal/library/documents';
import { compile } from '@sluice-internal/library';
import { follow } from '../../src/session/follow.ts';
import { withSession } from '../../src/session/session.ts';
import { createProgress } from '../../src/view/progress.ts';
import { folder } from './cli.ts';

const flow = {
  entry: 'ask',
  nodes: {
    ask: {
      op: 'do',
      label: { name: 'ask', enters: 'ask' },
      effect: { kind: 'model', agent: 'writer', input: {}, reserve: {} },
    },
  },
  agents: {},
} as unknown as CompiledFlow;
const event = (body: object): Event => ({ seq: 1, at: 1, ...body }) as Event;

test('one line, the newest part of it, and only for a call that is under way', () => {
  const progress = createProgress(flow);
  progress.take(
    event({ type: 'run.started', run: 'r', flow: '', entry: 'ask', input: null, seed: 1, origin: {}, deadline: null }),
  );
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
  expect(progress.steps[0]).toMatchObject({ doing: 'agent writer', text: 'Dear\nMadam, I write to you' });
  progress.hear('0#0', `${'x'.repeat(5000)}end`);
  expect(progress.steps[0]?.text).toMatch(/^x{1997}end$/);
  progress.hear('0#9', 'nobody asked');
  expect(progress.steps).toHaveLength(1);
});

test('on a terminal, what a model says is drawn beside its step', async () => {
  const cwd = folder({
    'w.yaml': 'agents: [{ id: writer }]\nworkflow: { id: w, steps: [{ name: letter, agent: writer }] }\n',
    // Long enough that the view listens before the reply comes.
    's.yaml': 'clock: real\nagents: { writer: [{ delayMs: 400, text: "Dear Madam" }] }\n',
  });
  const drawn: string[] = [];
  const ignore = (): void => undefined;
  const screen = {
    colors: picocolors.createColors(false),
    live: true,
    interactive: false,
    columns: () => 80,
    width: () => Infinity,
  };
  const cli = createCli(
    { db: join(cwd, 'runs.db') },
    {
      ...screen,
      print: ignore,
      printData: ignore,
      note: ignore,
      isClosed: () => false,
      delivered: async () => null,
      draw: (text: string) => void drawn.push(text),
    },
  );
  const compiled = compile(readFileSync(join(cwd, 'w.yaml'), 'utf8')).flow as CompiledFlow;
  const report = await withSession(cli, { script: join(cwd, 's.yaml') }, compiled, async (session) => {
    const run = await session.engine.start(compiled, { input: 'x' });
    return follow(cli, session, run);
  });
  expect([report.code, report.output]).toEqual(['SUCCESS', 'Dear Madam']);
  expect(drawn.join('')).toContain('Dear Madam');
});
