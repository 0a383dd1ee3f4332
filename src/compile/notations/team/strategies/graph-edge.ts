/** What an edge of a graph demands before it is taken. */
import type { NodeId } from '../../../../ir/nodes.ts';
import type { Site } from '../bad-turn.ts';
import { addGate } from '../gate.ts';
import type { Way } from './graph-model.ts';
import type { Lowering } from '../lowering.ts';

export function addEdgeGate(l: Lowering, site: Site, { raw, index, checks }: Way, pass: NodeId): NodeId {
  const what = raw.Keyword === undefined ? `the edge to ${raw.To}` : `\`${raw.Keyword}\``;
  return addGate(l, {
    site,
    key: `${l.prefix}edge${index}`,
    what,
    checks,
    approval: raw.RequireHumanApproval
      ? { about: raw.To, message: `${site.agent} at ${site.origin} wants to go on to ${raw.To}.` }
      : null,
    recovery: raw.RecoveryAgent ?? null,
    pass,
  });
}

/** The checks that a turn has passed which takes the edge. */
export function passedOn({ checks }: Way): ReadonlySet<string> {
  return new Set(checks.map(({ name }) => name));
}
