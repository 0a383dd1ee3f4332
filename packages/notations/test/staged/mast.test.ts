/** The 14 failure modes of MAST: each is recorded for a failure that a run can have. §flow/failure-mode-taxonomy */
import { expect, test } from 'vitest';
import { MAST } from '../../../kernel/src/catalog/failures.ts';
import type { Report } from '@sluice-internal/library';
import type { Script } from '@sluice-internal/testing';
import { GOOD, NO, ONE, SUPERVISOR, YES, play } from './drive.ts';

interface Failing {
  readonly document: object;
  readonly agents: NonNullable<Script['agents']>;
  readonly tools?: Script['tools'];
}

const supervisor = (changes: object, agents: NonNullable<Script['agents']> = {}): Failing => ({
  document: { staged: { ...SUPERVISOR, tier: 'interactive', ...changes } },
  agents: { ...GOOD, ...agents },
});
const peers = (ann: string, bob: string, more: object = {}): Failing => ({
  document: { ...more, staged: { peers: { agents: ['ann', 'bob'] } } },
  agents: { ann: [ann], bob: [bob] },
});
const to = (peer: string) => `{"handoff": "${peer}"}`;
const call = { text: '', tools: [{ name: 'look', args: {} }] };
const LOOKING = {
  tools: { look: { effect: 'read' } },
  agents: [{ id: 'ann', tools: ['look'] }],
  boundary: { tools: { allow: ['look'] } },
  staged: { sop: [{ id: 's', agent: 'ann' }] },
};

/** A run for each failure mode. */
const FAILURES: { readonly [id: string]: Failing } = {
  'FM-1.1': supervisor({}, { planner: ['no plan'] }),
  'FM-1.2': supervisor({ finalize: { guards: [{ when: 'true', reason: 'unsafe' }] } }),
  'FM-1.3': { document: LOOKING, agents: { ann: [call] }, tools: { look: [{ result: 'nothing' }] } },
  'FM-1.4': supervisor({ finalize: { requires: ['aggregate'] } }, { editor: [''], critic: [YES] }),
  'FM-1.5': peers(to('bob'), to('ann'), { protections: { hops: 1 } }),
  'FM-2.1': {
    document: { staged: { board: { agents: ['ann', 'bob'], rounds: 1 } } },
    agents: { ann: ['{"writes": {"a": 1}, "version": 0}'], bob: ['{"writes": {"a": 2}, "version": 0, "done": true}'] },
  },
  'FM-2.2': {
    document: {
      agents: undefined,
      Orchestration: {
        Agents: [{ Name: 'ann' }, { Name: 'bob' }],
        Selection: { Type: 'roundrobin' },
        Termination: { MaxIterations: 6 },
      },
    },
    agents: { ann: ['I need more information about the order.'], bob: ['One.', 'Two.', 'Three.'] },
  },
  'FM-2.3': supervisor({ validate: { agent: 'critic', confidence: 0.95 } }),
  'FM-2.4': supervisor({}, { worker: [''] }),
  'FM-2.5': peers(to('bob'), to('ann')),
  'FM-2.6': supervisor({ validate: { invariants: [{ cites: 1 }] } }),
  'FM-3.1': supervisor({ validate: {}, oracle: [{ when: 'false', reason: 'not done' }] }),
  'FM-3.2': supervisor({}, { critic: [NO] }),
  'FM-3.3': supervisor({ oracle: [{ when: 'false', reason: 'not done' }] }),
};

const modes = ({ decisions }: Report): readonly (string | null)[] => decisions.map(({ mast }) => mast);

test.each(Object.entries(FAILURES))('%s', async (id, { document, agents, tools = {} }) => {
  const { report } = await play(document, { agents: { planner: [ONE], ...agents }, tools });
  expect(modes(report)).toContain(id);
});

test('every mode has a run', () => {
  expect(Object.keys(FAILURES).sort()).toEqual(Object.keys(MAST).sort());
});
