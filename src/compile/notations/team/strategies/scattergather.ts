/** `scattergather`: all participants get the same task at the same time, none sees another, and one sums up. */
import type { NodeId } from '../../../../ir/nodes.ts';
import { quote } from '../../../expressions/cel-text.ts';
import { addFork } from './fan-out.ts';
import { lastSaid } from './fan-out-end.ts';
import { addLet } from '../lowering.ts';
import type { Lowering } from '../lowering.ts';
import type { RawScatterGather } from '../schema/phases.ts';
import { BRANCHES, SAID, set, tell } from '../slots.ts';
import { addTeamTurn } from '../turn.ts';

export interface Phases {
  readonly hint: string;
  readonly origin: string;
  /** Where to go when the last phase is over; its message is in `said`. */
  readonly next: NodeId;
}

export function lowerScatterGather(
  l: Lowering,
  { Participants, Synthesizer, MaxConcurrency }: RawScatterGather,
  { hint, origin, next }: Phases,
): NodeId {
  const done = l.builder.end({ state: 'completed', code: 'SUCCESS', output: SAID });
  const heads = Participants.map((agent, index) => ({
    name: agent,
    to: addTeamTurn(l, { agent, hint: `${hint}.${index}`, origin: `${l.prefix}${agent}`, enters: agent, next: done }),
  }));
  const gather = addTeamTurn(l, {
    agent: Synthesizer,
    hint: `${hint}.gather`,
    origin: `${l.prefix}${Synthesizer}`,
    enters: Synthesizer,
    next,
  });
  const told = addLet(
    l,
    `${hint}.gathered`,
    origin,
    [tell('null', Synthesizer, { outputs: BRANCHES, label: quote('[Participant: {name}]') }), set(SAID, lastSaid())],
    gather,
  );
  return addFork(l, `${hint}.scatter`, origin, { heads }, MaxConcurrency, told);
}
