/** Remarks of people to agents, while the run goes on: where an agent hears them, and where they are kept. */
import { quote } from '@sluice-internal/kernel/expr';
import type { Expr, Hears, Write } from '@sluice-internal/kernel/ir';
import { GUIDANCE } from './guidance-slot.ts';
import { append } from './kit.ts';

/** The agent hears remarks here. The words go on to `GUIDANCE`, and where `more` writes them. */
export function hearsAs(agent: string, more: readonly Write[] = []): Hears {
  return { agent, writes: [append(GUIDANCE, { ...REMARK, to: quote(agent) }), ...more] };
}

/** A remark as a message of its person. */
export const REMARK: { readonly [field: string]: Expr } = { role: quote('user'), content: 'it.text', by: 'it.by' };

/** The messages that the agent has heard so far. A later turn begins with them. */
export function heardBy(agent: string): Expr {
  return `(${GUIDANCE} == null ? [] : ${GUIDANCE}.filter(g, g.to == ${quote(agent)}))`;
}

/** The words of all remarks that were heard, as a list of texts. */
export const REMARKS: Expr = `(${GUIDANCE} == null ? [] : ${GUIDANCE}.map(g, g.content))`;
