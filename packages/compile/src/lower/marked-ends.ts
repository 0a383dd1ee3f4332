/**
 * Ends of flows with agents whose answers are marked. A marked answer makes a run that would end SUCCESS a PARTIAL_SUCCESS, in
 * every notation: the ends look at the verdicts, and joins collect them.
 */
import type { EndNode, Expr, Node, NodeId, View, Write } from '@sluice-internal/kernel/ir';
import { reachedFrom, type Draft } from './reached.ts';
import { quote } from '@sluice-internal/kernel/expr';
import { OBSERVATIONS } from './agent-turn/turn.ts';

/** The verdicts on the answers of agents, in order: `{ agent, n, kind, text, message }`. Branches count on from the fork. */
const VERDICTS = '_verdicts';
const VIOLATIONS = '_violations';
/** The reason why the run is a partial success. */
export const REASON = '_reason';

/**
 * A claim counts unless the same agent gave a later answer. A reply that is not a result counts unless any agent gave one later.
 * A reply after calls that all failed counts unless a later call succeeded.
 */
const SETTLED = `v.kind == "calls" ? ${OBSERVATIONS} != null && ${OBSERVATIONS}.exists(o, o.ok == true) : ${VERDICTS}.exists(w, w.n > v.n && (v.kind == "result" ? w.kind == "none" : w.agent == v.agent))`;
const COUNTED = `${VERDICTS}.filter(v, v.kind != "none" && !(${SETTLED}))`;
const MARKED = `${VERDICTS} != null && size(${COUNTED}) > 0`;
const LISTED = `${COUNTED}.map(v, {"kind": v.kind, "text": v.text, "message": v.message})`;

const MARKED_VIEW = { violations: VIOLATIONS, reason: REASON } as const;

/** Adds the verdict in `it` to the verdicts. */
export function recordVerdict(agent: string): Write {
  return appendVerdict(agent, {
    kind: 'it.verdict.kind',
    text: 'it.verdict.text',
    message: 'it.verdict.message',
  });
}

/** Adds the verdict on an answer whose check failed with an error: an answer that could not be checked is marked. */
export function recordUnchecked(agent: string): Write {
  return appendVerdict(agent, {
    kind: quote('claim'),
    text: quote(''),
    message: 'text("the answer could not be checked: ", error.message)',
  });
}

function appendVerdict(agent: string, verdict: { readonly [field in 'kind' | 'text' | 'message']: Expr }): Write {
  const n = `${VERDICTS} == null ? 0 : size(${VERDICTS})`;
  return { slot: VERDICTS, mode: 'append', value: { agent: quote(agent), n, ...verdict } };
}

/** Adds the ends if a node of the flow records verdicts. Returns the view with the slots that hold the marks. */
export function addMarkedEnds(
  draft: Draft,
  fresh: (hint: string) => NodeId,
  view: View | undefined,
): { readonly view?: View } {
  const { nodes } = draft;
  const records = (node: Node): boolean => node.op === 'do' && node.writes.some(({ slot }) => slot === VERDICTS);
  if (![...nodes.values()].some(records)) return {};
  for (const id of mainLine(draft)) {
    const node = nodes.get(id);
    if (node?.op === 'end' && node.state === 'completed' && node.code === 'SUCCESS') splitEnd(nodes, fresh, id, node);
  }
  for (const [id, node] of [...nodes])
    if (node.op === 'fork') nodes.set(id, { ...node, gather: [...node.gather, { slot: VERDICTS, mode: 'concat' }] });
  return { view: withMarks(view) };
}

/** The nodes that the run reaches outside branches. The verdicts of branches are collected at the join. */
export function mainLine(draft: Draft): ReadonlySet<NodeId> {
  return reachedFrom([draft.entry], draft, false);
}

/** The end keeps its id, so that every route to it passes the verdicts. */
function splitEnd(nodes: Map<NodeId, Node>, fresh: (hint: string) => NodeId, id: NodeId, end: EndNode): void {
  const { label } = end;
  const whole = fresh(`${id}.whole`);
  const partial = fresh(`${id}.partial`);
  const marked = fresh(`${id}.marked`);
  nodes.set(whole, end);
  nodes.set(partial, { ...end, code: 'PARTIAL_SUCCESS' });
  nodes.set(marked, {
    op: 'let',
    label,
    writes: [
      { slot: VIOLATIONS, mode: 'set', value: LISTED },
      { slot: REASON, mode: 'set', value: `${COUNTED}[0].message` },
    ],
    next: partial,
  });
  nodes.set(id, { op: 'pick', label, cases: [{ when: MARKED, to: marked }], otherwise: whole });
}

function withMarks(view: View | undefined): View {
  const rejected = view?.judgement?.rejected;
  return { ...view, judgement: { ...(rejected === undefined ? {} : { rejected }), ...MARKED_VIEW } };
}
