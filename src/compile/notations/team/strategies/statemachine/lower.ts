/** Lowers a state machine: one place for each state, one gate for each transition. */
import type { NodeId, Write } from '../../../../../ir/nodes.ts';
import { quote } from '../../../../expressions/cel-text.ts';
import { badTurns, addBadTurn, silentSite } from '../../bad-turn.ts';
import type { Site } from '../../bad-turn.ts';
import { injectContext, readSources, sourceOf } from '../../context.ts';
import { choiceOf, heard, silenceOf } from '../../corrections.ts';
import { addGate } from '../../gate.ts';
import { member } from '../../lowering.ts';
import type { Lowering } from '../../lowering.ts';
import { set } from '../../../../lower/kit.ts';
import { BAD, CONTEXT, HEARD, PARTIAL, STATE, clean } from '../../slots.ts';
import { addTermination } from '../../termination.ts';
import { addTeamTurn } from '../../turn.ts';
import { addFanOut } from '../fan-out.ts';
import { isTerminal, openIn } from './model.ts';
import type { Machine, RawState, RawTransition, Transition } from './model.ts';
import { auditor } from './verifier.ts';
import type { Auditor } from './verifier.ts';

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
  const next = isTerminal(state) ? addTermination(l, site, site.again) : addListening(l, machine, name, site, audit);
  addTeamTurn(l, {
    agent: state.Agent,
    hint: name,
    origin: name,
    enters: name,
    begin,
    at: l.at(...machine.path(name)),
    next,
  });
}

function addListening(l: Lowering, machine: Machine, name: string, site: Site, audit: Auditor): NodeId {
  const taken = openIn(machine.raw.States[name] as RawState);
  const open = machine.transitions(name).filter(({ raw }) => taken.includes(raw));
  const words = open.flatMap(({ raw }) => (raw.Signal === undefined ? [] : [raw.Signal]));
  const automatic = open.find(({ raw }) => raw.Signal === undefined);
  const choice = choiceOf('signal', words);
  const cases = open.flatMap((transition) => {
    const word = transition.raw.Signal;
    if (word === undefined) return [];
    const to = addTransition(l, machine, name, site, transition, audit);
    return [{ when: `${HEARD}[0] == ${quote(word)}`, to }];
  });
  const silent =
    automatic === undefined
      ? addTermination(l, site, addNudge(l, site, choice))
      : addTransition(l, machine, name, site, automatic, audit);
  if (words.length === 0) return silent;
  const many = addBadTurn(l, site, {
    what: 'several signals in one message',
    corrections: [
      {
        type: 'multi_signal',
        text: `text("MULTI-SIGNAL: you said ", join(${HEARD}, " and "), ${quote(`. Say exactly one. ${choice}`)})`,
      },
    ],
  });
  const routed = l.kit.pick(
    { hint: `${name}.route`, origin: name },
    [{ when: `size(${HEARD}) == 0`, to: silent }, { when: `size(${HEARD}) > 1`, to: many }, ...cases],
    silent,
  );
  return l.kit.set({ hint: `${name}.listen`, origin: name }, [set(HEARD, heard(words, false))], routed);
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
  const handed = addOnward(l, hint, name, raw, state(raw.To).Agent, audit.arrive(raw.To));
  const entered = set(STATE, quote(raw.To));
  const passed = new Set(checks.map(({ name: check }) => check));
  const meter =
    raw.MaxRevisits === 0
      ? undefined
      : l.builder.meter(`revisits:${name}:${index}`, {
          unit: 'visits',
          max: raw.MaxRevisits,
          over: addEscalated(l, site, raw, hint),
          label: `MaxRevisits of ${name} → ${raw.To}`,
        });
  const fire = (writes: readonly Write[], next: NodeId): NodeId =>
    l.kit.set(
      { hint: `${name}.fire:${raw.To}`, origin: name, charges: meter === undefined ? undefined : [meter] },
      [...clean(), ...writes],
      next,
    );
  if (raw.Parallel) {
    const branches = (raw.Targets ?? []).map((target) => ({
      name: target,
      agent: state(target).Agent,
      at: l.at(...machine.path(target)),
    }));
    const joined = l.kit.set({ hint: `${name}.join:${raw.To}`, origin: name }, [entered], handed);
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

/** Adds the sources of `HandoffContext` to the history. */
function addOnward(
  l: Lowering,
  hint: string,
  origin: string,
  raw: RawTransition,
  receiver: string,
  next: NodeId,
): NodeId {
  const sources = (raw.HandoffContext ?? []).filter(({ Source }) => !Source.startsWith('own_history'));
  return sources.length === 0
    ? next
    : injectContext(l, sources.map(sourceOf), `${hint}.handover`, origin, receiver, next);
}

/**
 * `MaxRevisits` is used up: the transition is not taken, and the agent gets the open objections. From here on the session is
 * a partial success at best.
 */
function addEscalated(l: Lowering, site: Site, raw: RawTransition, hint: string): NodeId {
  const head = `ESCALATION: the way to ${raw.To} was taken ${raw.MaxRevisits} times and is closed.`;
  const advice = ' Settle what is open here, or say what else the work needs.';
  if (raw.ReviewArtifactPath === undefined) {
    return addBadTurn(l, site, {
      what: `the way to ${raw.To} is closed`,
      corrections: [{ type: 'back_edge_escalation', text: quote(head + advice) }],
      writes: [set(PARTIAL, 'true')],
    });
  }
  const text = `text(${quote(`${head} Outstanding objections:\n`)}, size(${CONTEXT}.sections) == 0 ? "(none could be read)" : ${CONTEXT}.sections[0].text, ${quote(`\n${advice.trim()}`)})`;
  const told = addBadTurn(l, site, {
    what: `the way to ${raw.To} is closed`,
    corrections: [{ type: 'back_edge_escalation', text }],
    writes: [set(PARTIAL, 'true')],
  });
  const source = { source: `file:${raw.ReviewArtifactPath}`, label: raw.ReviewArtifactPath, maxChars: REVIEW_CHARS };
  return readSources(l, [source], `${hint}.objections`, site.origin, site.agent, told);
}
