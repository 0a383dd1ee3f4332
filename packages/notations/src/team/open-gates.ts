/**
 * What the gates of an agent's keywords still need, for its corrections. One check reads the same evidence as the gates and
 * refuses nothing.
 */
import { OPEN_GATES } from '@sluice-internal/kernel/catalog';
import type { Expr, NodeId } from '@sluice-internal/kernel/ir';
import { OBSERVATIONS } from '@sluice-internal/compile/lower';
import { literal, quote } from '@sluice-internal/compile/expressions';
import type { Site } from './bad-turn.ts';
import { part, type Lowering } from './lowering.ts';
import type { Check } from './model.ts';
import { ENTRY, MESSAGE, OPEN, OUTPUT, TURN, VOIDED } from './slots.ts';

/** A way on that a keyword opens. */
export interface Way {
  readonly word: string;
  /** The keyword as messages name it. */
  readonly what: string;
  readonly checks: readonly Check[];
}

/** What a check reads: the calls of the agent since it got the word. */
export function evidenceOf(site: Site): { readonly [field: string]: Expr } {
  return {
    observations: OBSERVATIONS,
    turn: TURN,
    since: ENTRY,
    voided: VOIDED,
    agent: quote(site.witness ?? site.agent),
    message: MESSAGE,
  };
}

/** Afterwards `open` has the gates. `next` itself if no way has a gate. */
export function addOpenGates(l: Lowering, site: Site, ways: readonly Omit<Way, 'word'>[], next: NodeId): NodeId {
  const gated = ways.filter(({ checks }) => checks.length > 0);
  if (gated.length === 0) return next;
  const gates = gated.map(({ what, checks }) => ({
    what,
    checks: checks.map(({ name, config }) => ({ name, config })),
  }));
  return l.kit.check(part(site, 'open'), {
    check: OPEN_GATES,
    input: { ...evidenceOf(site), gates: literal(JSON.parse(JSON.stringify(gates))) },
    into: OPEN,
    next,
    fail: l.builder.failedEnd(OUTPUT),
  });
}

/** A sentence for each gate: what it still needs, or that nothing is missing. */
function openWords(ways: readonly Way[]): Expr {
  if (ways.every(({ checks }) => checks.length === 0)) return '""';
  const missing = `text(" For ", g.what, " you still need: ", join(g.open, " "))`;
  const whole = `(g.whole ? text(" For ", g.what, " nothing else is missing.") : "")`;
  return `(${OPEN}.gates == null ? "" : join(${OPEN}.gates.map(g, size(g.open) > 0 ? ${missing} : ${whole}), ""))`;
}

/** What the corrections of a silent message say about it: the line that nearly was a keyword, and what the gates still need. */
export function hintsOf(ways: readonly Way[]): Expr {
  if (ways.length === 0) return '""';
  const near = `cel.bind(n, nearly(${MESSAGE}, ${literal(ways.map(({ word }) => word))}), size(n) == 0 ? "" : text(" I saw \`", n[0][1], "\`: write \`", n[0][0], "\` on a line of its own, with nothing else on it."))`;
  return `text(${near}, ${openWords(ways)})`;
}

/** What the gate needs besides the reason that is given already. */
export function alsoOpen(reason: Expr): Expr {
  return `(${OPEN}.gates == null ? "" : join(${OPEN}.gates[0].open.filter(r, r != ${reason}).map(r, text(" ", r)), ""))`;
}
