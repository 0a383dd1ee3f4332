/** For every detector a run that has the pathology and one that nearly has it, and the remedies in every notation. */
import { PATHOLOGIES } from '../../src/diagnose/pathologies.ts';
import { diagnose } from '../../src/diagnose/diagnose.ts';
import { trajectoryOf, type Trajectory } from '../../src/diagnose/trajectory.ts';
import { recordOf } from '../../src/journal/record.ts';
import type { ReadRun } from '@sluice-internal/engine/journal';
import { readRun } from '@sluice-internal/engine/journal';
import { compileLoop, drive } from '../../../notations/test/loop/drive.ts';
import { compiled } from '../../../../test/support/harness.ts';
import { office, waitingAt } from '../../../engine/test/people/people.ts';
import { agentFlow, bot, call, loop, staged, steps, stuck, tasks, trusted } from './planted-kit.ts';
import type { Given } from './planted-kit.ts';

type Planted = readonly [planted: Given | (() => Promise<ReadRun>), near: Given | (() => Promise<ReadRun>)];

const asks = {
  ask: { effect: 'read', input: { type: 'object', properties: { q: { type: 'number' } }, required: ['q'] } },
};
const totals = { total: { effect: 'read', output: { type: 'object', required: ['total'] } } };
const pays = { pay: { effect: 'financial' } };
const talkative = agentFlow({ find: { effect: 'read' } }, {}, { boundary: { escalation: { ungrounded: 'tell' } } });
const endless = (more: object) => ({
  ...loop(more),
  loop: { agent: 'bot', criteria: [{ when: "answer == 'yes'", reason: 'not yet' }] },
});
const noAnswer = [{ error: 'timeout', message: 'no answer' }, { result: 1 }];

export const CASES: { readonly [id: string]: Planted } = {
  'runaway-loops': [
    { document: loop(), script: bot([...steps(6, () => call('find')), 'it is 7']) },
    {
      document: loop(),
      script: bot([call('find'), call('find', { n: 2 }), 'it is 7'], { find: [{ result: 1 }, { result: 7 }] }),
    },
  ],
  'tool-spam': [
    { document: loop({ budgets: { tool_calls: 1 } }), script: bot([call('find'), call('find', { n: 2 }), 'it is 7']) },
    { document: loop({ budgets: { tool_calls: 5 } }), script: bot([call('find'), call('find', { n: 2 }), 'it is 7']) },
  ],
  'context-bloat': [
    { document: loop({ budgets: { context_tokens: 50 } }), script: bot([call('find'), 'it is 7']) },
    { document: loop({ budgets: { context_tokens: 50_000 } }), script: bot([call('find'), 'it is 7']) },
  ],
  'memory-poisoning': [
    { document: loop({ loop: { agent: 'bot', memory: true } }), script: bot(['it is 7']) },
    { document: loop({ loop: { agent: 'bot', memory: true } }), script: bot([call('find'), 'it is 7']) },
  ],
  'hallucinated-observation': [
    { document: talkative, script: { agents: { bot: ['The order is ORD-9917.', 'There is none.'] } } },
    {
      document: talkative,
      script: bot([call('find'), 'The order is ORD-9917.'], { find: [{ result: 'ORD-9917' }] }),
    },
  ],
  'over-reflection': [
    { document: endless({}), script: bot(['no']) },
    { document: endless({}), script: bot(['no', 'perhaps', 'yes']) },
  ],
  'redundant-decomposition': [
    { document: staged, script: { agents: { boss: [tasks('price of A', 'price of A')], bot: ['1'] } } },
    { document: staged, script: { agents: { boss: [tasks('price of A', 'price of B')], bot: ['1'] } } },
  ],
  'duplicate-actions': [
    {
      document: loop({}, pays),
      script: bot(
        [call('pay'), call('pay'), 'paid twice'],
        { pay: [{ result: 1 }] },
        { approvals: { pay: 'approve' } },
      ),
    },
    {
      document: loop({}, pays),
      script: bot(
        [call('pay'), call('pay', { n: 2 }), 'paid both'],
        { pay: [{ result: 1 }] },
        { approvals: { pay: 'approve' } },
      ),
    },
  ],
  'budget-blowout': [
    { document: loop({ budgets: { model_calls: 1 } }), script: bot([call('find'), 'it is 7']) },
    { document: loop({ budgets: { model_calls: 9 } }), script: bot([call('find'), 'it is 7']) },
  ],
  'permission-creep': [
    { document: loop({ boundary: { tools: { deny: ['save'] } } }), script: bot([call('save'), 'not saved']) },
    { document: loop({ boundary: { tools: { deny: ['save'] } } }), script: bot([call('find'), 'it is 7']) },
  ],
  'coordination-failure': [
    { document: stuck, script: { agents: { clerk: ['Please decide this case.'], expert: ['I need more about it.'] } } },
    { document: stuck, script: { agents: { clerk: ['Please decide this case.'], expert: ['DONE'] } } },
  ],
  'validator-retry-storm': [
    {
      document: loop({}, asks),
      script: bot([...steps(3, (n) => call('ask', { q: `no ${n}` })), 'it is 7'], { ask: [{ result: 1 }] }),
    },
    {
      document: loop({}, asks),
      script: bot([call('ask', { q: 'no' }), call('ask', { q: 1 }), 'it is 7'], { ask: [{ result: 1 }] }),
    },
  ],
  'human-review-queue-saturation': [() => queued(2), () => queued(9)],
  'observation-parser-drift': [
    { document: loop({}, totals), script: bot([call('total'), 'it failed'], { total: [{ result: { sum: 7 } }] }) },
    { document: loop({}, totals), script: bot([call('total'), 'it is 7'], { total: [{ result: { total: 7 } }] }) },
  ],
  'idempotency-failure': [
    { document: loop(trusted('save')), script: bot([call('save'), call('save'), 'saved'], { save: noAnswer }) },
    {
      document: {
        ...loop(trusted('save')),
        tools: { find: { effect: 'read' }, save: { effect: 'write', idempotent: true } },
      },
      script: bot([call('save'), call('save'), 'saved'], { save: noAnswer }),
    },
  ],
};

/** The third of three questions, in a queue for so many. */
async function queued(open: number): Promise<ReadRun> {
  const here = office();
  const flow = compiled({
    review_queue: { open },
    flow: { id: 'ask', entry: 'gate', nodes: [{ id: 'gate', type: 'approval', message: 'Go?' }] },
  });
  await waitingAt(here, flow);
  await waitingAt(here, flow);
  const { run } = await waitingAt(here, flow);
  const read = (): Promise<ReadRun> => readRun(here.store.journal, run);
  const isNoted = async (): Promise<boolean> => (await read()).events.some(({ type }) => type === 'review.saturated');
  for (let tries = 0; open < 3 && tries < 200 && !(await isNoted()); tries++)
    await new Promise((resolve) => setTimeout(resolve, 10));
  return read();
}

async function readOf(given: Planted[0]): Promise<ReadRun> {
  if (typeof given === 'function') return given();
  const { document, script, ...options } = given;
  return (await drive(compileLoop(document), script, options)).read;
}

export async function findingsOf(given: Planted[0]): Promise<ReturnType<typeof diagnose>> {
  return diagnose(recordOf(await readOf(given)));
}

export interface PlantedRun {
  readonly tools: readonly string[];
  /** The remedy of the pathology, as if the document of the run were in this notation. Empty if nothing is found. */
  remedyIn(notation: string): string;
}

export async function plantedRun(id: string): Promise<PlantedRun> {
  const read = await readOf((CASES[id] as Planted)[0]);
  const run: Trajectory = trajectoryOf(recordOf(read));
  const pathology = PATHOLOGIES.find((each) => each.id === id);
  return {
    tools: Object.keys(read.program.flow.tools),
    remedyIn: (notation) => pathology?.detect?.({ ...run, notation })?.remedy ?? '',
  };
}
