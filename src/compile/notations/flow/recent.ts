/** Which agents can be the one that ran last when a node begins or ends: what a bare name can be a field of. */
import type { Flow } from './read.ts';
import type { FlowGraph } from './graph.ts';

/** `open`: it may be one that is not listed. `none`: there may have been no agent yet. */
export interface Recent {
  readonly agents: ReadonlySet<string>;
  readonly open: boolean;
  readonly none: boolean;
}

const LISTED_MAX = 4;

export interface Recents {
  before(id: string): Recent;
  after(id: string): Recent;
}

export function recentAgents(flow: Flow, graph: FlowGraph): Recents {
  const before = new Map<string, Recent>();
  const after = (id: string): Recent => {
    const value = flow.nodes.get(id)?.value;
    if (value?.type === 'agent') return { agents: new Set([value.agent]), open: false, none: false };
    const entering = before.get(id) ?? NOTHING;
    // Which branch wrote last is known only when they have run.
    return value?.type === 'parallel' ? { ...entering, open: true } : entering;
  };
  const { entry } = flow.value;
  before.set(entry, { agents: new Set(), open: false, none: true });
  const waiting = [entry];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    for (const { to, kind } of graph.edges.get(id) ?? []) {
      if (!flow.nodes.has(to)) continue;
      const coming =
        kind === 'branch'
          ? (before.get(id) ?? NOTHING)
          : kind === 'error'
            ? merge(before.get(id), after(id))
            : after(id);
      const known = before.get(to);
      const merged = merge(known, coming);
      if (
        known !== undefined &&
        merged.open === known.open &&
        merged.none === known.none &&
        merged.agents.size === known.agents.size
      )
        continue;
      before.set(to, merged);
      waiting.push(to);
    }
  }
  return { before: (id) => before.get(id) ?? NOTHING, after };
}

const NOTHING: Recent = { agents: new Set(), open: false, none: true };

function merge(a: Recent | undefined, b: Recent): Recent {
  if (a === undefined) return b;
  const agents = new Set([...a.agents, ...b.agents]);
  const many = agents.size > LISTED_MAX;
  return { agents: many ? a.agents : agents, open: a.open || b.open || many, none: a.none && b.none };
}
