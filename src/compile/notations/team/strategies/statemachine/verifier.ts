/**
 * The verifier: an agent that gets a turn when evidence is doubtful, or every N turns. Its finding goes into the shared
 * history; the state does not change.
 */
import type { NodeId } from '../../../../../ir/nodes.ts';
import { quote } from '../../../../expressions/cel-text.ts';
import type { Lowering } from '../../lowering.ts';
import { SAID, STATE, TURNS, tell } from '../../slots.ts';
import { addTeamTurn } from '../../turn.ts';

export interface Auditor {
  /** The node that begins a state's turn, after a verifier's turn if one is due. */
  arrive(state: string): NodeId;
  /** The verifier's turn for doubtful evidence; null without one. */
  readonly suspect: NodeId | null;
}

export function auditor(l: Lowering, states: readonly (readonly [name: string, begin: NodeId])[]): Auditor {
  const begins = new Map(states);
  const begin = (state: string): NodeId => begins.get(state) ?? l.builder.failedEnd();
  const verifier = l.team.raw.Verifier;
  if (verifier === undefined) return { arrive: begin, suspect: null };
  const { AgentName, EveryNTurns, FindingsKeyword, TriggerOnSuspiciousTransition } = verifier;
  const origin = AgentName;
  const [last] = states.slice(-1);
  const back = l.kit.pick(
    { hint: 'verifier.back', origin },
    states.slice(0, -1).map(([name, to]) => ({ when: `${STATE} == ${quote(name)}`, to })),
    last?.[1] ?? '',
  );
  const finding = l.kit.set(
    { hint: 'verifier.finding', origin: 'verification:finding' },
    [tell(`text(${quote(`VERIFICATION FINDING [${AgentName}]: `)}, ${SAID})`, null)],
    back,
  );
  const judged = l.kit.pick(
    { hint: 'verifier.judged', origin },
    [{ when: `size(leading(${SAID}, [${quote(FindingsKeyword)}])) > 0`, to: finding }],
    back,
  );
  const audit = addTeamTurn(l, { agent: AgentName, hint: 'verifier', origin, next: judged });
  const due = `size(${TURNS}) > 0 && size(${TURNS}) % ${EveryNTurns} == 0 && ${TURNS}[size(${TURNS}) - 1] != ${quote(AgentName)}`;
  const arrivals = new Map(
    states.map(([name, to]) => [
      name,
      EveryNTurns === 0 ? to : l.kit.pick({ hint: `${name}.arrive`, origin: name }, [{ when: due, to: audit }], to),
    ]),
  );
  return {
    arrive: (state) => arrivals.get(state) ?? begin(state),
    suspect: TriggerOnSuspiciousTransition ? audit : null,
  };
}
