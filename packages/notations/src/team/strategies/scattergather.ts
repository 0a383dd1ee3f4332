/** `scattergather`: all participants get the task at the same time, without seeing each other, and one agent sums up. */
import type * as z from 'zod';
import type { NodeId } from '@sluice-internal/kernel/ir';
import { agentName, fault, int, list, record } from '@sluice-internal/compile/document';
import { quote } from '@sluice-internal/compile/expressions';
import type { Path } from '@sluice-internal/compile/source';
import { END, START, edgeShape } from '@sluice-internal/compile/picture';
import { set } from '@sluice-internal/compile/lower';
import { agentShape } from '../drawing.ts';
import { part, success, type Lowering, type Place } from '../lowering.ts';
import type { Reading } from '../model.ts';
import { BRANCHES, MESSAGE, tell } from '../slots.ts';
import { addTeamTurn } from '../turn.ts';
import { addFork, lastMessage } from './fan-out.ts';
import { lacking, strategy } from './strategy.ts';

export const scatterGatherSchema = record(() => ({
  Participants: list(agentName(), {
    min: 1,
    few: fault('bad-value', 'a scatter needs at least one participant', 'Add one to `Participants`.'),
  }).describe('The agents that get the task.'),
  Synthesizer: agentName().describe('The agent that answers from their outputs.'),
  MaxConcurrency: int({ min: 0 }).default(0).describe('How many run at once; 0 for all.'),
}));
export type RawScatterGather = z.output<typeof scatterGatherSchema>;

/** The place of the phases: at the top, or inside a node of a graph. */
export interface Phases extends Place {
  /** The node after the last phase, whose message is in `message`. */
  readonly next: NodeId;
}

export const scatterGather = strategy({
  type: 'scattergather',
  fields: () => ({ ScatterGather: scatterGatherSchema.optional().describe('Of `scattergather`: its agents.') }),
  endsItself: true,
  read({ ScatterGather: raw }, reading) {
    if (raw === undefined) return lacking(reading, 'scattergather', 'ScatterGather');
    return checkScatterGather(raw, ['Selection', 'ScatterGather'], reading);
  },
  turnsMax: () => 1,
  lower: (l, raw) => lowerScatterGather(l, raw, { hint: 'scattergather', origin: 'scattergather', next: success(l) }),
  draw(raw) {
    const members = raw.Participants.map((agent, index) => agentShape(`participant-${index}`, agent, agent));
    const lead = agentShape('synthesizer', raw.Synthesizer, raw.Synthesizer);
    return {
      nodes: [START, ...members, lead, END],
      edges: [
        ...members.flatMap(({ id }) => [
          edgeShape(START.id, id, null, false, 'branch'),
          edgeShape(id, lead.id, null, false, 'join'),
        ]),
        edgeShape(lead.id, END.id),
      ],
    };
  },
});

export function checkScatterGather(raw: RawScatterGather, path: Path, reading: Reading): RawScatterGather {
  reading.agents(raw.Participants, [...path, 'Participants']);
  reading.agent(raw.Synthesizer, [...path, 'Synthesizer']);
  return raw;
}

export function lowerScatterGather(l: Lowering, raw: RawScatterGather, phases: Phases): NodeId {
  const { Participants, Synthesizer, MaxConcurrency } = raw;
  const { hint, origin, next } = phases;
  const done = l.builder.end({ state: 'completed', code: 'SUCCESS', output: MESSAGE });
  const heads = Participants.map((agent, index) => ({
    name: agent,
    to: addPhaseTurn(l, agent, `${hint}.${index}`, done),
  }));
  const gather = addPhaseTurn(l, Synthesizer, `${hint}.gather`, next);
  const outputs = tell('null', Synthesizer, { outputs: BRANCHES, label: quote('[Participant: {name}]') });
  const gathered = l.kit.set(part(phases, 'gathered'), [outputs, set(MESSAGE, lastMessage())], gather);
  return addFork(l, { hint: `${hint}.scatter`, origin }, { heads }, MaxConcurrency, gathered);
}

/** The turn of an agent that works in one phase. */
export function addPhaseTurn(l: Lowering, agent: string, hint: string, next: NodeId): NodeId {
  return addTeamTurn(l, { agent, hint, origin: `${l.prefix}${agent}`, enters: agent, next });
}
