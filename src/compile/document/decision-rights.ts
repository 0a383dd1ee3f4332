/**
 * What an agent may decide by itself, over the document's boundary and its own: a right that either of them withholds is not
 * granted. Where nothing is written, all of them are.
 */
import type { DECISIONS } from './autonomy.ts';
import type { Definitions } from './definitions.ts';

export type Decision = (typeof DECISIONS)[number];

export function mayDecide(
  { boundary, agentBoundaries }: Pick<Definitions, 'boundary' | 'agentBoundaries'>,
  agent: string,
  right: Decision,
): boolean {
  const own = Object.hasOwn(agentBoundaries, agent) ? agentBoundaries[agent] : undefined;
  return [boundary, own].every((each) => each?.decisions === undefined || each.decisions.includes(right));
}

/** To put a question before somebody, an agent must be granted both to ask and to hand the matter over. */
export function mayAsk(definitions: Definitions, agent: string): boolean {
  return mayDecide(definitions, agent, 'clarify') && mayDecide(definitions, agent, 'escalate');
}

/** What is said to whoever gives an agent a part that it may not play. */
export function planDenied(agent: string): { readonly message: string; readonly help: string } {
  return {
    message: `\`${agent}\` makes the plan here, and its boundary does not grant the decision \`plan\``,
    help: 'Add `plan` to `decisions` of the boundary, or do without a plan.',
  };
}
