/** Lowers a state machine: one place for each state, one gate for each transition. */
import type { NodeId, Write } from '@sluice-internal/kernel/ir';
import { quote } from '@sluice-internal/compile/expressions';
import { set } from '@sluice-internal/compile/lower';
import { addBadTurn, badTurns, silentSite, type Site } from '../../bad-turn.ts';
import { checkKey } from '../../checks.ts';
import { injectContext, readSources, sourceOf } from '../../context.ts';
import { choiceOf, matchedPhrases, severalOf, silenceOf } from '../../corrections.ts';
import { addGate } from '../../gate.ts';
import { member, part, type Lowering } from '../../lowering.ts';
import { BAD, CONTEXT, MATCHED, PARTIAL, MESSAGE, STATE, TURNS, clean, tell } from '../../slots.ts';
import { addTermination } from '../../termination.ts';
import { addTeamTurn, messagesWith } from '../../turn.ts';
import { addFanOut } from '../fan-out.ts';
import { isTerminal, openIn, type Machine, type RawState, type RawTransition, type Transition } from './model.ts';

const REVIEW_CHARS = 8000;

export function lowerMachine(session: Lowering, machine: Machine): NodeId {
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
      ? addTermination(l, site, addNudge(l, site, choice))
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

function addNudge(l: Lowering, site: Site, choice: string): NodeId {
  const strict = silentSite(l, site);
  const generic = {
    type: 'no_signal',
    text: `text("No signal (", ${BAD} + 1, ${quote(`/${strict.limit}). The work stays with ${site.agent}. ${choice}`)})`,
  };
  return addBadTurn(l, strict, { what: 'no signal', ...silenceOf(member(l, site.agent), generic, choice) });
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
    l.kit.set({ ...part(site, `fire:${raw.To}`), charges }, [...clean(), ...writes], next);
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
  const audit = addTeamTurn(l, { ...place, agent: AgentName, next: judged });
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
