/** The typed builder gives the flow that YAML gives, byte for byte, and the editors' schema takes the examples. */
import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { compile, staged } from '@sluice-internal/library';
import { stagedSchema } from '../../src/staged/schema.ts';

const AGENTS = [{ id: 'planner' }, { id: 'worker' }, { id: 'critic' }] as const;

test('the same document, and the same hash', () => {
  const built = staged(
    {
      id: 'demo',
      tier: 'regulated',
      plan: { agent: 'planner', critic: 'critic' },
      workers: { agent: 'worker', max: 2, timeout: 30 },
      validate: { agent: 'critic', confidence: 0.5 },
    },
    { agents: AGENTS },
  );
  const text = `
agents: [{ id: planner }, { id: worker }, { id: critic }]
staged: { id: demo, tier: regulated, plan: { agent: planner, critic: critic }, workers: { agent: worker, max: 2, timeout: 30 }, validate: { agent: critic, confidence: 0.5 } }
`;
  const written = compile(text);
  expect(written.flow?.hash).toMatch(/^sha256:/);
  expect(compile(built).flow?.hash).toBe(written.flow?.hash);
});

test('names that do not exist, and work of another topology, are type errors', () => {
  // @ts-expect-error there is no agent of that name
  staged({ plan: { agent: 'planer' }, workers: { agent: 'worker' } }, { agents: AGENTS });
  // @ts-expect-error there is no critic of that name
  staged({ plan: { agent: 'planner', critic: 'critik' }, workers: { agent: 'worker' } }, { agents: AGENTS });
  // @ts-expect-error a debate has no workers
  staged({ topology: 'debate', plan: { agent: 'planner' }, workers: { agent: 'worker' } }, { agents: AGENTS });
  // @ts-expect-error workers need a plan
  staged({ workers: { agent: 'worker' } }, { agents: AGENTS });
  const debate = staged({ debate: { agents: ['worker', 'critic'], judge: 'planner' } }, { agents: AGENTS });
  expect(compile(debate).ok).toBe(true);
});

test('the schema for editors takes the examples', () => {
  const root = new URL('../../../../examples/', import.meta.url);
  const names = readdirSync(root).filter((name) => name.endsWith('.staged.yaml'));
  expect(names).toHaveLength(5);
  for (const name of names) {
    const document = parse(readFileSync(new URL(name, root), 'utf8')) as { staged: object };
    expect(stagedSchema.safeParse(document.staged).success).toBe(true);
  }
});
