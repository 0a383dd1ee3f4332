/** Reads a state machine and checks its states, agents and parallel transitions. */
import { nearest, suggestion } from '@sluice-internal/compile/source';
import type { DiagnosticCode, Path } from '@sluice-internal/compile/source';
import { readContracts } from '../../checks.ts';
import { checkSources } from '../../context.ts';
import type { Reading } from '../../model.ts';
import { mayTake, warnOfShadows } from '../routing.ts';
import { openIn, type Machine, type RawMachine, type RawState, type RawTransition, type Transition } from './model.ts';

export function readMachine(raw: RawMachine, path: Path, reading: Reading): Machine {
  const transitions = new Map<string, readonly Transition[]>();
  const written = reading.body.located(...path, 'States');
  // A state counts as declared even if its value is faulty.
  const states = new Set(written?.kind === 'map' ? written.entries.keys() : []);
  const known = (name: string, at: Path, what: string, code: DiagnosticCode = 'unknown-target'): void => {
    const help = suggestion(nearest(name, states), 'Declare it under `States`.');
    if (!states.has(name)) reading.report.error(code, reading.at(...at), what, { help });
  };
  const initial = `the initial state \`${raw.Initial}\` is not in \`States\``;
  known(raw.Initial, [...path, 'Initial'], initial, 'unknown-entry');
  for (const [name, state] of Object.entries(raw.States)) {
    const at: Path = [...path, 'States', name];
    reading.agent(state.Agent, [...at, 'Agent']);
    checkTerminal(name, state, at, reading);
    transitions.set(
      name,
      state.Transitions.map((each, index) => readTransition(name, each, [...at, 'Transitions', index], known, reading)),
    );
    checkSignals(name, state, at, reading);
  }
  const entered = enteredIn(raw);
  warnOfBranches(raw, entered, path, reading);
  return {
    raw,
    transitions: (state) => transitions.get(state) ?? [],
    path: (state) => [...path, 'States', state, 'Agent'],
    entered,
  };
}

type Known = (name: string, at: Path, what: string) => void;

function readTransition(from: string, raw: RawTransition, path: Path, known: Known, reading: Reading): Transition {
  known(raw.To, [...path, 'To'], `state \`${from}\` has a transition to undefined state \`${raw.To}\``);
  reading.agents(raw.SourceAgents, [...path, 'SourceAgents']);
  if (raw.RecoveryAgent !== undefined) reading.agent(raw.RecoveryAgent, [...path, 'RecoveryAgent']);
  checkSources(raw.HandoffContext ?? [], [...path, 'HandoffContext'], false, reading);
  for (const [index, target] of (raw.Targets ?? []).entries())
    known(target, [...path, 'Targets', index], `state \`${from}\` fans out to undefined state \`${target}\``);
  const without = (key: 'Targets' | 'Merge' | 'ReviewArtifactPath', needed: string, help: string): void => {
    if (raw[key] !== undefined) reading.unused([...path, key], `\`${key}\` has no effect without ${needed}`, help);
  };
  if (raw.Parallel) checkParallel(from, raw, path, reading);
  else
    for (const key of ['Targets', 'Merge'] as const)
      without(key, '`Parallel: true`', 'Leave it out, or set `Parallel: true`.');
  if (raw.MaxRevisits === 0) without('ReviewArtifactPath', '`MaxRevisits`', 'Set `MaxRevisits`, or leave it out.');
  return { raw, checks: readContracts(raw, path, reading) };
}

function checkParallel(from: string, raw: RawTransition, path: Path, reading: Reading): void {
  const { report, at } = reading;
  if ((raw.Targets ?? []).length === 0 && !reading.body.damaged(...path) && !reading.body.damaged(...path, 'Targets'))
    report.error('bad-parallel', at(...path), `the parallel transition of \`${from}\` has no \`Targets\``, {
      help: 'List the states whose agents run at the same time.',
    });
  for (const [index, target] of (raw.Targets ?? []).entries())
    if (target === raw.To)
      report.error(
        'bad-parallel',
        at(...path, 'Targets', index),
        `\`${target}\` is both a branch and the state after the join`,
        { help: 'Let `To` be a state of its own.' },
      );
  if (raw.Merge !== undefined) checkMerge(raw.Merge, path, reading);
  for (const key of ['Contract', 'Contracts', 'RecoveryAgent'] as const)
    if (raw[key] !== undefined)
      reading.unused(
        [...path, key],
        `\`${key}\` has no effect on a parallel transition`,
        'Put it on the transition that leaves the join state.',
      );
}

function checkMerge(merge: NonNullable<RawTransition['Merge']>, path: Path, reading: Reading): void {
  const { Agent, Strategy, ConflictResolution } = merge;
  if (Agent !== undefined) return void reading.agent(Agent, [...path, 'Merge', 'Agent']);
  const judged = [Strategy, ...ConflictResolution].find((each) => each === 'ranked' || each === 'semantic_diff');
  if (judged === undefined || reading.body.damaged(...path, 'Merge')) return;
  reading.report.error('missing-field', reading.at(...path, 'Merge'), `\`${judged}\` needs an \`Agent\` that merges`, {
    help: 'Add `Agent` to `Merge`.',
  });
}

/** Branch states have one turn in a fan-out, and their own transitions are not evaluated there. */
function warnOfBranches(raw: RawMachine, entered: ReadonlySet<string>, path: Path, reading: Reading): void {
  const { body, report } = reading;
  for (const [name, { Transitions }] of Object.entries(raw.States)) {
    const message = `\`Transitions\` of the branch state \`${name}\` never fire: a branch has one turn`;
    if (Transitions.length > 0 && !entered.has(name))
      reading.unused([...path, 'States', name, 'Transitions'], message, 'Put them on the state after the join.');
    for (const [index, { Targets = [], Parallel }] of Transitions.entries())
      for (const [at, target] of Targets.entries())
        if (Parallel && Targets.indexOf(target) < at)
          report.warning(
            'unused-field',
            body.at(...path, 'States', name, 'Transitions', index, 'Targets', at),
            `\`${target}\` is listed twice, so its agent runs twice`,
            { help: 'List each state once.' },
          );
  }
}

function checkTerminal(name: string, state: RawState, path: Path, { body, report }: Reading): void {
  if (!state.Terminal || state.Transitions.length === 0) return;
  report.warning(
    'unreachable-route',
    body.key(...path, 'Transitions'),
    `the terminal state \`${name}\` declares ${state.Transitions.length} transition${state.Transitions.length === 1 ? '' : 's'} that will never fire`,
    { help: 'Leave them out, or remove `Terminal` from the state.' },
  );
}

function checkSignals(name: string, state: RawState, path: Path, reading: Reading): void {
  const { report, at } = reading;
  const { Agent, Transitions, Terminal } = state;
  const open = openIn(state);
  for (const [index, transition] of Transitions.entries()) {
    if (Terminal || open.includes(transition)) continue;
    const why = mayTake(transition, Agent)
      ? 'an earlier one with the same signal always is'
      : `\`${Agent}\`, who speaks in \`${name}\`, is not among its \`SourceAgents\``;
    report.warning(
      'unreachable-route',
      at(...path, 'Transitions', index, 'To'),
      `the transition from \`${name}\` to \`${transition.To}\` is never taken: ${why}`,
      { help: 'Leave it out, or change its signal or its `SourceAgents`.' },
    );
  }
  const words = Transitions.flatMap(({ Signal }, index): [string, Path][] =>
    Signal === undefined ? [] : [[Signal, [...path, 'Transitions', index, 'Signal']]],
  );
  warnOfShadows(words, reading);
}

/** A branch state runs inside a fan-out; it is entered only if another transition leads to it. */
function enteredIn({ Initial, States }: RawMachine): ReadonlySet<string> {
  const transitions = Object.values(States).flatMap(({ Transitions }) => Transitions);
  const targets = new Set(transitions.flatMap(({ Parallel, Targets = [] }) => (Parallel ? Targets : [])));
  const led = new Set([Initial]);
  for (const name of led) {
    const state = Object.hasOwn(States, name) ? States[name] : undefined;
    for (const { To } of state === undefined ? [] : openIn(state)) led.add(To);
  }
  return new Set(Object.keys(States).filter((name) => led.has(name) || !targets.has(name)));
}
