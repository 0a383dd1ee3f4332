/**
 * `statemachine`: an agent gives a signal, and the machine takes a transition. Only transitions of the current state count, so no text
 * leads to any other state.
 */
import type * as z from 'zod';
import { START, edgeShape } from '@sluice-internal/compile/picture';
import { nearest, suggestion } from '@sluice-internal/compile/source';
import type { DiagnosticCode, Path } from '@sluice-internal/compile/source';
import type { NodeId, Write } from '@sluice-internal/kernel/ir';
import { quote } from '@sluice-internal/compile/expressions';
import { set } from '@sluice-internal/compile/lower';
import { bool, fault, int, list, map, name, phrase, record, some } from '@sluice-internal/compile/document';
import { agentShape, guarded, type Drawing } from '../drawing.ts';
import { gateOf, member, part, type Lowering } from '../lowering.ts';
import { demandEnding, demandTermination, addTermination } from '../termination.ts';
import { readContracts, readRunGate, checkKey } from '../checks.ts';
import { checkSources, injectContext, readSources, sourceOf } from '../context.ts';
import type { Reading, Check } from '../model.ts';
import { addBadTurn, badTurns, silentSite, type Site } from '../bad-turn.ts';
import { choiceOf, matchedPhrases, severalOf, silenceOf } from '../corrections.ts';
import { addGate } from '../gate.ts';
import { addOpenGates, type Way } from '../open-gates.ts';
import { BAD, CONTEXT, MATCHED, PARTIAL, MESSAGE, STATE, TURNS, clean, tell } from '../slots.ts';
import { addTeamTurn, messagesWith } from '../turn.ts';
import { contextSource } from '../schema/agents.ts';
import { runGate, sourceAgents } from '../schema/gates.ts';
import { lacking, strategy } from './strategy.ts';
import { mayTake, warnOfShadows, sameTrigger } from './routing.ts';
import { addFanOut, mergeSchema } from './fan-out.ts';

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

const transition = record(() => ({
  To: name().describe('The state to enter; of a parallel transition, the state after all branches.'),
  Signal: phrase().optional().describe('The signal that takes the transition; without it, every turn takes it.'),
  Contract: name().optional().describe('A contract that must hold.'),
  Contracts: some(name()).describe('Contracts that must all hold.'),
  gate: runGate(),
  SourceAgents: sourceAgents(),
  MaxRevisits: int({ min: 0 }).default(0).describe('How often the transition may be taken; 0 for no limit.'),
  ReviewArtifactPath: name().optional().describe('The file with the objections that are still open.'),
  HandoffContext: list(contextSource)
    .optional()
    .describe('Sources that the next agent gets when the transition is taken.'),
  RecoveryAgent: name().optional().describe('An agent that gets one turn, once, after two refusals in a row.'),
  Parallel: bool().default(false).describe('True: the agents of all Targets run at the same time, one turn each.'),
  Targets: list(name()).optional().describe('The states whose agents run at the same time.'),
  Merge: mergeSchema.optional().describe('How the outputs of the Targets become one. Default: all of them.'),
}));

const state = record(() => ({
  Agent: name().describe('The agent of the state.'),
  Transitions: list(transition).default([]).describe('The ways to other states.'),
  Terminal: bool().default(false).describe('True: the agent continues until a termination ends the session.'),
}));

const machineSchema = record(() => ({
  Initial: name().describe('The first state.'),
  States: map(state)
    .refine((states) => Object.keys(states).length > 0, {
      error: fault('bad-value', 'a state machine needs at least one state', 'Add one to `States`.'),
    })
    .describe('The states, by name.'),
}));

type RawMachine = z.output<typeof machineSchema>;
type RawState = z.output<typeof state>;
export type TransitionFields = z.input<typeof transition>;
type RawTransition = z.output<typeof transition>;

interface Transition {
  readonly raw: RawTransition;
  readonly checks: readonly Check[];
}

interface Machine {
  readonly raw: RawMachine;
  transitions(state: string): readonly Transition[];
  path(state: string): Path;
  /** The states that are entered other than as a branch. */
  readonly entered: ReadonlySet<string>;
}

/** The transitions that the state's own agent may take; of several with the same signal, the first. */
function openIn({ Agent, Transitions, Terminal }: RawState): readonly RawTransition[] {
  if (Terminal) return [];
  const open: RawTransition[] = [];
  for (const each of Transitions)
    if (mayTake(each, Agent) && !open.some(({ Signal }) => sameTrigger(Signal, each.Signal))) open.push(each);
  return open;
}

function isTerminal(state: RawState | undefined): boolean {
  return state === undefined || state.Terminal || state.Transitions.length === 0;
}

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

/** Reads a state machine and checks its states, agents and parallel transitions. */
function readMachine(raw: RawMachine, path: Path, reading: Reading): Machine {
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
  return { raw, checks: [...readContracts(raw, path, reading), ...readRunGate(raw, reading)] };
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
  if (raw.gate !== undefined)
    report.error('bad-parallel', at(...path, 'gate'), 'a parallel transition has no `gate`', {
      help: 'Put it on the transition that leaves the join state.',
    });
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

const REVIEW_CHARS = 8000;

/** Lowers a state machine: one place for each state, one gate for each transition. */
function lowerMachine(session: Lowering, machine: Machine): NodeId {
  const l = { ...session, capped: isCapped(machine) };
  const audit = auditor(
    l,
    [...machine.entered].map((state) => [state, l.builder.idOf(state)]),
  );
  for (const name of machine.entered) addState(l, machine, name, audit);
  const { Initial } = machine.raw;
  return l.kit.set({ hint: 'initial', origin: Initial }, [set(STATE, quote(Initial))], audit.arrive(Initial));
}

function isCapped({ raw }: Machine): boolean {
  return Object.values(raw.States).some(({ Transitions }) => Transitions.some(({ MaxRevisits }) => MaxRevisits > 0));
}

function addState(l: Lowering, machine: Machine, name: string, audit: Auditor): void {
  const state = machine.raw.States[name] as RawState;
  const begin = l.builder.idOf(name);
  const site: Site = { agent: state.Agent, hint: name, origin: name, again: audit.arrive(name), limit: badTurns(l) };
  // The agent of a terminal state has turns until a termination fires.
  const next = isTerminal(state) ? addTermination(l, site, site.again) : addTransitions(l, machine, name, site, audit);
  addTeamTurn(l, {
    agent: state.Agent,
    hint: name,
    origin: name,
    enters: name,
    begin,
    at: l.at(...machine.path(name)),
    entry: 'route',
    words: isTerminal(state) ? [] : openIn(state).flatMap(({ Signal }) => Signal ?? []),
    samples: messagesWith(openIn(state).flatMap(({ Signal }) => Signal ?? [])),
    next,
  });
}

function addTransitions(l: Lowering, machine: Machine, name: string, site: Site, audit: Auditor): NodeId {
  const taken = openIn(machine.raw.States[name] as RawState);
  const open = machine.transitions(name).filter(({ raw }) => taken.includes(raw));
  const words = open.flatMap(({ raw }) => (raw.Signal === undefined ? [] : [raw.Signal]));
  const automatic = open.find(({ raw }) => raw.Signal === undefined);
  const choice = choiceOf('signal', words);
  const cases = open.flatMap((transition) => {
    const word = transition.raw.Signal;
    if (word === undefined) return [];
    const to = addTransition(l, machine, name, site, transition, audit);
    return [{ when: `${MATCHED}[0] == ${quote(word)}`, to }];
  });
  const silent =
    automatic === undefined
      ? addTermination(l, site, addNudge(l, site, choice, open.flatMap(waysOf)))
      : addTransition(l, machine, name, site, automatic, audit);
  if (words.length === 0) return silent;
  const many = addBadTurn(l, site, {
    what: 'several signals in one message',
    corrections: [severalOf('signal', choice)],
  });
  const routed = l.kit.pick(
    part(site, 'route'),
    [{ when: `size(${MATCHED}) == 0`, to: silent }, { when: `size(${MATCHED}) > 1`, to: many }, ...cases],
    silent,
  );
  return l.kit.set(part(site, 'match'), [set(MATCHED, matchedPhrases(words, false))], routed);
}

function waysOf({ raw, checks }: Transition): readonly Way[] {
  return raw.Signal === undefined ? [] : [{ word: raw.Signal, what: `\`${raw.Signal}\``, checks }];
}

function addNudge(l: Lowering, site: Site, choice: string, ways: readonly Way[]): NodeId {
  const strict = silentSite(l, site);
  const generic = {
    type: 'no_signal',
    text: `text("No signal (", ${BAD} + 1, ${quote(`/${strict.limit}). The work stays with ${site.agent}. ${choice}`)})`,
  };
  const silence = silenceOf(member(l, site.agent), generic, { choice, ways });
  return addOpenGates(l, site, ways, addBadTurn(l, strict, { what: 'no signal', ...silence }));
}

function addTransition(
  l: Lowering,
  machine: Machine,
  name: string,
  site: Site,
  transition: Transition,
  audit: Auditor,
): NodeId {
  const { raw, checks } = transition;
  const index = machine.transitions(name).indexOf(transition);
  const hint = `${name}.${index}`;
  const state = (target: string): RawState => machine.raw.States[target] as RawState;
  // `own_history` is a field of the `Context` of an agent.
  const sources = (raw.HandoffContext ?? []).filter(({ Source }) => !Source.startsWith('own_history')).map(sourceOf);
  const onward = audit.arrive(raw.To);
  const handed =
    sources.length === 0
      ? onward
      : injectContext(l, sources, { hint: `${hint}.handover`, origin: name }, state(raw.To).Agent, onward);
  const entered = set(STATE, quote(raw.To));
  const passed = new Set(checks.map(checkKey));
  const meter =
    raw.MaxRevisits === 0
      ? undefined
      : l.kit.visits(
          `revisits:${name}:${index}`,
          raw.MaxRevisits,
          addEscalated(l, site, raw, hint),
          `MaxRevisits of ${name} → ${raw.To}`,
        );
  const charges = meter === undefined ? undefined : [meter];
  const fire = (writes: readonly Write[], next: NodeId): NodeId =>
    l.kit.set({ ...part(site, `fire:${raw.To}`), charges }, [...clean(raw.To !== name), ...writes], next);
  if (raw.Parallel) {
    const branches = (raw.Targets ?? []).map((target) => ({
      name: target,
      agent: state(target).Agent,
      at: l.at(...machine.path(target)),
    }));
    const joined = l.kit.set(part(site, `join:${raw.To}`), [entered], handed);
    const fanned = addFanOut(l, { hint, origin: name, branches, merge: raw.Merge ?? null, next: joined });
    return fire([], addTermination(l, site, fanned));
  }
  return addGate(l, {
    site,
    key: `${name}::${index}`,
    what: raw.Signal === undefined ? `the transition to ${raw.To}` : `\`${raw.Signal}\``,
    checks,
    approval: null,
    recovery: raw.RecoveryAgent ?? null,
    pass: fire([entered], addTermination(l, site, handed, passed)),
    ...(audit.suspect === null ? {} : { audit: audit.suspect }),
  });
}

/**
 * `MaxRevisits` is used up: the transition is not taken, and the agent gets the open objections. From here on the session is
 * a partial success at best.
 */
function addEscalated(l: Lowering, site: Site, raw: RawTransition, hint: string): NodeId {
  const head = `ESCALATION: the way to ${raw.To} was taken ${raw.MaxRevisits} times and is closed.`;
  const advice = 'Settle what is open here, or say what else the work needs.';
  const file = raw.ReviewArtifactPath;
  const objections = `size(${CONTEXT}.sections) == 0 ? "(none could be read)" : ${CONTEXT}.sections[0].text`;
  const text =
    file === undefined
      ? quote(`${head} ${advice}`)
      : `text(${quote(`${head} Outstanding objections:\n`)}, ${objections}, ${quote(`\n${advice}`)})`;
  const corrected = addBadTurn(l, site, {
    what: `the way to ${raw.To} is closed`,
    corrections: [{ type: 'back_edge_escalation', text }],
    writes: [set(PARTIAL, 'true')],
  });
  if (file === undefined) return corrected;
  const source = { source: `file:${file}`, label: file, maxChars: REVIEW_CHARS };
  return readSources(l, [source], { hint: `${hint}.objections`, origin: site.origin }, site.agent, corrected);
}

/** The verifier: an agent that gets a turn when evidence is doubtful, or every N turns. The state does not change. */
interface Auditor {
  /** The node that begins a state's turn, after a verifier's turn if one is due. */
  arrive(state: string): NodeId;
  /** The verifier's turn for doubtful evidence; null without one. */
  readonly suspect: NodeId | null;
}

function auditor(l: Lowering, states: readonly (readonly [name: string, begin: NodeId])[]): Auditor {
  const begins = new Map(states);
  const begin = (state: string): NodeId => begins.get(state) ?? l.builder.failedEnd();
  const verifier = l.team.raw.Verifier;
  if (verifier === undefined) return { arrive: begin, suspect: null };
  const { AgentName, EveryNTurns, FindingsKeyword, TriggerOnSuspiciousTransition } = verifier;
  const place = { hint: 'verifier', origin: AgentName };
  const inState = states.slice(0, -1).map(([name, to]) => ({ when: `${STATE} == ${quote(name)}`, to }));
  const back = l.kit.pick(part(place, 'back'), inState, states.at(-1)?.[1] ?? '');
  const finding = l.kit.set(
    { hint: 'verifier.finding', origin: 'verification:finding' },
    [tell(`text(${quote(`VERIFICATION FINDING [${AgentName}]: `)}, ${MESSAGE})`, null)],
    back,
  );
  const isFound = `size(leading(${MESSAGE}, [${quote(FindingsKeyword)}])) > 0`;
  const judged = l.kit.when(part(place, 'judged'), isFound, finding, back);
  const audit = addTeamTurn(l, { ...place, agent: AgentName, entry: 'none', next: judged });
  const due = `size(${TURNS}) > 0 && size(${TURNS}) % ${EveryNTurns} == 0 && ${TURNS}[size(${TURNS}) - 1] != ${quote(AgentName)}`;
  const arrivals = new Map(
    states.map(([name, to]) => [
      name,
      EveryNTurns === 0 ? to : l.kit.when({ hint: `${name}.arrive`, origin: name }, due, audit, to),
    ]),
  );
  return {
    arrive: (state) => arrivals.get(state) ?? begin(state),
    suspect: TriggerOnSuspiciousTransition ? audit : null,
  };
}
