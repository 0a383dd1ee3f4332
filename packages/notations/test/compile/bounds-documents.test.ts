/**
 * The certificate of random small authored flows with parallel, map, wait, flow, set, fail, retries and caps on visits, against every
 * way in which such a flow can go: a model of the authored nodes is run with every result of every call.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import { expectedOf } from '../../../../test/differential/authored-model.ts';
import type { Surroundings } from '../../../../test/differential/authored-model.ts';
import { documentPlans } from '../../../../test/differential/document-plan.ts';
import { authoredOf } from '../../../../test/differential/documents.ts';
import type { Authored } from '../../../../test/differential/documents.ts';
import { compileText } from './compile-text.ts';

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const WAYS_MAX = 1000;
/** One result for each way that a document can tell apart: again, guarded, and the two failures. */
const RESULTS = [1, 2, 'odd', 'even'] as const;

test(`the certificate of authored flows holds for every way through them (seed ${seed})`, { timeout: 120_000 }, () => {
  let [tried, exact] = [0, 0];
  fc.assert(
    fc.property(documentPlans(2, 2), (plan) => {
      const authored = authoredOf({ ...plan, sequential: true });
      const worst = authored.free ? worstOf(authored) : null;
      fc.pre(worst !== null);
      const { flow } = compileText(authored.document).bounds ?? {};
      // A reply may need a repair turn, which the model of the authored nodes does not have.
      expect(flow?.modelCalls.most ?? Infinity).toBeGreaterThanOrEqual(worst?.agents ?? 0);
      for (const [bound, most] of [
        [flow?.toolCalls.most, worst?.tools],
        [flow?.steps.most, worst?.steps],
      ] as const) {
        tried += 1;
        expect(bound ?? Infinity).toBeGreaterThanOrEqual(most ?? 0);
        if (bound === most) exact += 1;
      }
    }),
    { seed, numRuns: 60 },
  );
  console.log(`bounds of documents: seed ${seed}, ${exact} of ${tried} exact`);
  expect(exact / tried).toBeGreaterThan(0.7);
});

/** The most calls and steps of any way; null if there are too many ways. */
function worstOf({ document }: Authored): { tools: number; agents: number; steps: number } | null {
  const input = longestLists(document);
  const most = { tools: 0, agents: 0, steps: 0 };
  const asksAgent = agentNodes(document);
  let taken: { choice: number; of: number }[] = [];
  for (let ways = 0; ways < WAYS_MAX; ways++) {
    let at = 0;
    const choose = (of: number): number => {
      taken[at] ??= { choice: 0, of };
      return (taken[at++] as { choice: number }).choice;
    };
    const surroundings: Surroundings = {
      call: () => RESULTS[choose(RESULTS.length)] as number,
      signal: (name) => (choose(2) === 0 ? name : undefined),
    };
    const { calls, path } = expectedOf(document, input, surroundings);
    const agents = calls.filter(({ node }) => asksAgent.has(node.slice(node.lastIndexOf('/') + 1))).length;
    most.agents = Math.max(most.agents, agents);
    most.tools = Math.max(most.tools, calls.length - agents);
    most.steps = Math.max(most.steps, path.length);
    // The next way differs from this one in the last choice that has another result left.
    const last = taken.findLastIndex(({ choice, of }) => choice + 1 < of);
    if (last < 0) return most;
    taken = taken
      .slice(0, last + 1)
      .map((each, index) => (index === last ? { ...each, choice: each.choice + 1 } : each));
  }
  return null;
}

function agentNodes({ flow, flows = {} }: Authored['document']): ReadonlySet<string> {
  const nodes = [flow, ...Object.values(flows)].flatMap((each) => each.nodes);
  return new Set(nodes.filter(({ type }) => type === 'agent').map(({ id }) => id));
}

/** As many items as each map takes. */
function longestLists({ flow, flows = {} }: Authored['document']): Json {
  const maps = [flow, ...Object.values(flows)].flatMap(({ nodes }) => nodes.filter(({ type }) => type === 'map'));
  const listOf = (most: unknown): Json => Array.from({ length: most as number }, (_, index) => index);
  return Object.fromEntries(maps.map(({ id, max_items: most }) => [id, listOf(most)]));
}
