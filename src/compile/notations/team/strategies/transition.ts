/** What happens as a transition is taken, and what happens when it was taken too often. */
import type { NodeId } from '../../../../ir/nodes.ts';
import { quote } from '../../../expressions/cel-text.ts';
import { sourceOf } from '../agents.ts';
import { addBadTurn } from '../bad-turn.ts';
import type { Site } from '../bad-turn.ts';
import { injectContext, readSources } from '../context.ts';
import type { Lowering } from '../lowering.ts';
import type { RawTransition } from '../schema/statemachine.ts';
import { CONTEXT, PARTIAL, set } from '../slots.ts';

const REVIEW_CHARS = 8000;

/** The next agent is handed what the transition names for it. */
export function addOnward(
  l: Lowering,
  hint: string,
  origin: string,
  raw: RawTransition,
  receiver: string,
  next: NodeId,
): NodeId {
  const sources = (raw.HandoffContext ?? []).filter(({ Source }) => !Source.startsWith('own_history'));
  return sources.length === 0
    ? next
    : injectContext(l, sources.map(sourceOf), `${hint}.handover`, origin, receiver, next);
}

/**
 * The transition is not taken any more: whoever signalled it is told which objections are still open. What goes on from here
 * goes on although somebody wanted it to be worked on again.
 */
export function addEscalated(l: Lowering, site: Site, raw: RawTransition, hint: string): NodeId {
  const head = `ESCALATION: the way to ${raw.To} was taken ${raw.MaxRevisits} times and is closed.`;
  const advice = ' Settle what is open here, or say what else the work needs.';
  if (raw.ReviewArtifactPath === undefined) {
    return addBadTurn(l, site, {
      what: `the way to ${raw.To} is closed`,
      corrections: [{ type: 'back_edge_escalation', text: quote(head + advice) }],
      writes: [set(PARTIAL, 'true')],
    });
  }
  const text = `text(${quote(`${head} Outstanding objections:\n`)}, size(${CONTEXT}.sections) == 0 ? "(none could be read)" : ${CONTEXT}.sections[0].text, ${quote(`\n${advice.trim()}`)})`;
  const told = addBadTurn(l, site, {
    what: `the way to ${raw.To} is closed`,
    corrections: [{ type: 'back_edge_escalation', text }],
    writes: [set(PARTIAL, 'true')],
  });
  const source = { source: `file:${raw.ReviewArtifactPath}`, label: raw.ReviewArtifactPath, maxChars: REVIEW_CHARS };
  return readSources(l, [source], `${hint}.objections`, site.origin, site.agent, told);
}
