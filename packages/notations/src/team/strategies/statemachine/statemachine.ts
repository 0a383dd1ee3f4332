/**
 * `statemachine`: an agent gives a signal, and the machine takes a transition. Only transitions of the current state count, so no text
 * leads to any other state.
 */
import { START, edgeShape } from '@sluice-internal/compile/picture';
import { agentShape, guarded, type Drawing } from '../../drawing.ts';
import { gateOf } from '../../lowering.ts';
import { demandEnding, demandTermination } from '../../termination.ts';
import { lacking, strategy } from '../strategy.ts';
import { lowerMachine } from './lower.ts';
import { isTerminal, machineSchema, type Machine } from './model.ts';
import { readMachine } from './read.ts';

export const stateMachine = strategy({
  type: 'statemachine',
  fields: () => ({ StateMachine: machineSchema.optional().describe('Of `statemachine`: its states.') }),
  read({ StateMachine: raw }, reading, team) {
    if (raw === undefined) return lacking(reading, 'statemachine', 'StateMachine');
    const machine = readMachine(raw, ['Selection', 'StateMachine'], reading);
    const terminal = [...machine.entered].filter((name) => isTerminal(raw.States[name]));
    for (const name of terminal)
      demandEnding(reading, team, raw.States[name]?.Agent ?? '', machine.path(name), `the terminal state \`${name}\``);
    const agents = Object.values(raw.States).map(({ Agent }) => Agent);
    if (terminal.length === 0) demandTermination(reading, team, agents);
    return machine;
  },
  gates: ({ raw, entered, transitions }) =>
    [...entered].flatMap((name) =>
      transitions(name).flatMap(({ raw: { Signal }, checks }) =>
        gateOf(Signal, [raw.States[name]?.Agent ?? ''], checks),
      ),
    ),
  lower: lowerMachine,
  draw,
});

function draw({ raw, transitions }: Machine): Drawing {
  const names = Object.keys(raw.States);
  const nodes = names.map((name) => agentShape(name, name, raw.States[name]?.Agent ?? ''));
  const edges = names.flatMap((from) =>
    transitions(from).flatMap(({ raw: { To, Signal = null, Parallel, Targets = [] }, checks }) => {
      const back = names.indexOf(To) <= names.indexOf(from);
      if (!Parallel) return [guarded(edgeShape(from, To, Signal, back), checks)];
      return Targets.flatMap((target) => [
        edgeShape(from, target, Signal, false, 'branch'),
        edgeShape(target, To, null, false, 'join'),
      ]);
    }),
  );
  const last = names.filter((name) => isTerminal(raw.States[name]));
  return { nodes: [START, ...nodes], edges: [edgeShape(START.id, raw.Initial), ...edges], last };
}
