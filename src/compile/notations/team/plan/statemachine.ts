/** The plan of a state machine: its states, and that each terminal one can end. */
import { demandEnding, demandTermination } from '../demand.ts';
import type { Reading, Team } from '../model.ts';
import { START, agentShape, edgeShape } from './plan.ts';
import type { Plan } from './plan.ts';
import { lacking } from './phases.ts';
import { readMachine } from '../read/statemachine.ts';
import { lowerStateMachine } from '../strategies/statemachine.ts';
import type { Machine } from '../strategies/statemachine.ts';
import type { RawState } from '../schema/statemachine.ts';

export function planStateMachine(reading: Reading, team: Team): Plan | null {
  const raw = team.raw.Selection.StateMachine;
  if (raw === undefined) return lacking(reading, 'statemachine', 'StateMachine');
  const machine = readMachine(raw, ['Selection', 'StateMachine'], reading);
  const terminal = [...machine.entered].filter((name) => isTerminal(raw.States[name]));
  for (const name of terminal)
    demandEnding(reading, team, raw.States[name]?.Agent ?? '', machine.path(name), `the terminal state \`${name}\``);
  if (terminal.length === 0)
    demandTermination(
      reading,
      team,
      Object.values(raw.States).map(({ Agent }) => Agent),
    );
  return { turnsMax: null, lower: (l) => lowerStateMachine(l, machine), ...draw(machine) };
}

function isTerminal(state: RawState | undefined): boolean {
  return state === undefined || state.Terminal || state.Transitions.length === 0;
}

function draw({ raw }: Machine): Pick<Plan, 'nodes' | 'edges'> {
  const names = Object.keys(raw.States);
  const nodes = names.map((name) =>
    agentShape(
      name,
      name,
      raw.States[name]?.Agent ?? '',
      null,
      raw.States[name]?.Terminal === true ? 'terminal' : 'agent',
    ),
  );
  const edges = names.flatMap((from) =>
    (raw.States[from]?.Transitions ?? []).flatMap(({ To, Signal = null, Parallel, Targets = [] }) => {
      const back = names.indexOf(To) <= names.indexOf(from);
      if (!Parallel) return [edgeShape(from, To, Signal, back)];
      return Targets.flatMap((target) => [
        edgeShape(from, target, Signal, false, 'branch'),
        edgeShape(target, To, null, false, 'join'),
      ]);
    }),
  );
  return { nodes: [START, ...nodes], edges: [edgeShape(START.id, raw.Initial, null), ...edges] };
}
