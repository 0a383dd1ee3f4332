/**
 * The seven tiers of autonomy, and a word of warning where a document stands on a higher one than what it does needs. Only
 * what can be told from the document alone is said: nobody can tell what a task needs, but an agent that has nothing to
 * choose from makes no choices.
 */
import type { FlowBody, Node } from '../core/ir.ts';
import type { Lowered } from './builder.ts';
import type { Report } from './diagnostics.ts';
import type { ReadDocument } from './document.ts';

export const LADDER = [
  { tier: 1, name: 'direct response', path: 'fixed', by: 'one model call' },
  { tier: 2, name: 'prompt chain', path: 'fixed, in a line', by: '`workflow` with sequential steps' },
  {
    tier: 3,
    name: 'deterministic workflow',
    path: 'branches by hard logic',
    by: '`flow` with tool and decision nodes',
  },
  { tier: 4, name: 'conditional graph', path: 'branches by what models return', by: '`flow` with routes over outputs' },
  { tier: 5, name: 'supervised loop', path: 'made up as it goes, approved by people', by: '`loop` with approvals' },
  { tier: 6, name: 'bounded loop', path: 'made up as it goes, within budgets', by: '`loop` with budgets' },
  { tier: 7, name: 'open-ended loop', path: 'without bounds', by: 'nothing here: every flow is bounded' },
] as const;
export type Tier = (typeof LADDER)[number]['tier'];

export function warnOfTier({ body, places }: Lowered, document: ReadDocument, report: Report): void {
  for (const { uses, needs, why, node } of excess(body, document)) {
    const at = (node === undefined ? undefined : places.get(node)) ?? document.at;
    report.warning(
      'simpler-tier',
      at,
      `${why}: this is tier ${uses} (${nameOf(uses)}), and tier ${needs} (${nameOf(needs)}) would do`,
      {
        help: `Use ${LADDER[needs - 1]?.by ?? ''}.`,
      },
    );
  }
}

interface Excess {
  readonly uses: Tier;
  readonly needs: Tier;
  readonly why: string;
  readonly node?: string;
}

function excess(body: FlowBody, { notation }: ReadDocument): readonly Excess[] {
  const agents = Object.values(body.agents);
  const idle = agents.every(({ tools }) => tools.length === 0);
  if (notation === 'loop' && idle && agents.length <= 1)
    return [{ uses: 6, needs: 1, why: 'the agent of this loop has no tools to choose from' }];
  if (notation === 'loop' && idle)
    return [{ uses: 6, needs: 2, why: 'no agent of this loop has tools to choose from' }];
  if (notation !== 'flow') return [];
  return Object.entries<Node>(body.nodes).flatMap(([id, node]): Excess[] => {
    if (node.op !== 'fork' || !('each' in node.over)) return [];
    const name = Object.values<Node>(body.nodes).find(
      (each) => each.op === 'do' && each.effect.kind === 'model' && each.origin === node.origin,
    );
    const agent = name?.op === 'do' && name.effect.kind === 'model' ? body.agents[name.effect.agent] : undefined;
    const [only] = agent?.tools ?? [];
    if (agent === undefined || agent.tools.length !== 1 || only === undefined || !takesNothing(body, only)) return [];
    return [
      {
        uses: 6,
        needs: 3,
        why: `the agent \`${agent.id}\` can only call \`${only}\`, which takes no arguments`,
        node: id,
      },
    ];
  });
}

function takesNothing({ tools }: FlowBody, name: string): boolean {
  const input = tools[name]?.input;
  if (input === null || typeof input !== 'object' || Array.isArray(input)) return false;
  return input['additionalProperties'] === false && Object.keys((input['properties'] ?? {}) as object).length === 0;
}

function nameOf(tier: Tier): string {
  return LADDER[tier - 1]?.name ?? '';
}
