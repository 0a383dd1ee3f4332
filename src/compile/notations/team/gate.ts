/**
 * The gate of a route: checks of evidence in order, then a person. A refused agent gets the reason and another turn. A
 * recovery agent can get one turn in between, once.
 */
import type { Case, Expr, NodeId } from '../../../ir/nodes.ts';
import { OBSERVATIONS } from '../../lower/agent-turn/turn.ts';
import { literal, quote } from '../../expressions/cel-text.ts';
import { HANDOFF } from './agents.ts';
import { addBadTurn, addStuck } from './bad-turn.ts';
import type { Correction, Site } from './bad-turn.ts';

import { set, setField } from '../../lower/kit.ts';
import type { Lowering } from './lowering.ts';
import type { Check } from './model.ts';
import type { FailureType } from './schema/sections.ts';
import { ANSWER, BAD, CONTRACTS, FAILS, FAULT, RECOVERED, SAID, TURN, VERDICT, count, remark, tell } from './slots.ts';
import { addTeamTurn } from './turn.ts';

export interface Gate {
  readonly site: Site;
  /** The key of its refusal counter; unique among the gates. */
  readonly key: string;
  /** The name of the route in messages. */
  readonly what: string;
  readonly checks: readonly Check[];
  /** The question to a person; null if none is asked. */
  readonly approval: { readonly about: string; readonly message: string } | null;
  readonly recovery: string | null;
  readonly pass: NodeId;
  /** The next node after doubtful evidence, before the agent's next turn. */
  readonly audit?: NodeId;
}

export function addGate(l: Lowering, gate: Gate): NodeId {
  const { site, key, checks } = gate;
  let next = gate.approval === null ? gate.pass : addApproval(l, gate, gate.approval);
  if (checks.length === 0) return next;
  const refused = addRefusal(l, gate);
  for (const { name, label, config } of checks.toReversed()) {
    const input = {
      observations: OBSERVATIONS,
      turn: TURN,
      agent: quote(site.witness ?? site.agent),
      message: SAID,
      failures: count(FAILS, key),
      config: literal(config),
    };
    const note = name.startsWith('contract:') ? noteContract(l, site, label) : null;
    const judged = l.kit.pick(
      { hint: `${site.hint}.judged`, origin: site.origin },
      [{ when: `${VERDICT}.ok == true`, to: next }],
      refused,
    );
    next = l.kit.check(
      { hint: `${site.hint}.${key}.${name}`, origin: site.origin },
      {
        check: name,
        input,
        into: VERDICT,
        next: note === null ? judged : note(judged),
        fail: l.builder.failedEnd(SAID),
      },
    );
  }
  return next;
}

/** Keeps the verdict of a contract, for the recap of lossless compaction. */
function noteContract(l: Lowering, site: Site, label: string): ((next: NodeId) => NodeId) | null {
  if (l.team.raw.Compaction?.Mode !== 'lossless') return null;
  const step = { hint: `${site.hint}.note`, origin: site.origin };
  return (next) => l.kit.set(step, [setField(CONTRACTS, [label], VERDICT)], next);
}

function addRefusal(l: Lowering, gate: Gate): NodeId {
  const { site, key, what } = gate;
  const { hint, origin, limit } = site;
  const policies = l.team.raw.FailureHandling;
  const stuck = addStuck(l, site, `${what} was refused`, `text(": ", ${VERDICT}.reason)`);
  const recover = gate.recovery === null ? null : addRecovery(l, gate, gate.recovery);
  const fresh = `${RECOVERED}[${quote(key)}] != true`;
  const cases: Case[] = [];
  for (const failure of FAILURES) {
    const policy = policies[failure];
    if (policy === undefined) continue;
    const is = `${FAULT} == ${quote(failure)}`;
    if (policy.Action === 'EscalateToHuman') cases.push({ when: is, to: addEscalation(l, gate) });
    else if (policy.Action === 'ActivateRecovery' && recover !== null)
      cases.push({ when: `${is} && ${fresh} && ${BAD} < ${limit - 1}`, to: recover });
    else if (policy.Threshold !== undefined)
      cases.push({ when: `${is} && ${count(FAILS, key)} >= ${policy.Threshold}`, to: stuck });
  }
  if (policies.MaxConsecutiveContractFailures > 0)
    cases.push({ when: `${count(FAILS, key)} >= ${policies.MaxConsecutiveContractFailures}`, to: stuck });
  if (recover !== null)
    cases.push({ when: `${count(FAILS, key)} >= 2 && ${fresh} && ${BAD} < ${limit - 1}`, to: recover });
  const bad = addBadTurn(l, site, {
    what: `${what} was refused`,
    reason: `text(": ", ${VERDICT}.reason)`,
    corrections: corrections(gate),
    nextOf: (type) => (type === 'conflicting_evidence' || type === 'no_progress' ? gate.audit : undefined),
  });
  const decide = l.kit.pick({ hint: `${hint}.${key}.policy`, origin }, cases, bad);
  return l.kit.set(
    { hint: `${hint}.${key}.refused`, origin },
    [set(FAULT, classOf(key)), setField(FAILS, [key], `${count(FAILS, key)} + 1`)],
    decide,
  );
}

const FAILURES: readonly FailureType[] = ['NoProgress', 'ConflictingEvidence', 'MissingEvidence', 'InvalidTransition'];

/** A second refusal without a tool call in between is `NoProgress`. */
function classOf(key: string): Expr {
  const idle = `!${OBSERVATIONS}.exists(o, o.turn == ${TURN} && o.tool != ${quote(HANDOFF)})`;
  return `${count(FAILS, key)} > 0 && ${idle} ? "NoProgress" : (${VERDICT}.failure == null ? "InvalidTransition" : ${VERDICT}.failure)`;
}

function corrections({ site, what }: Gate): readonly Correction[] {
  const head = `"RETRY ", ${BAD} + 1, ${quote(`/${site.limit} — `)}`;
  const tail = `${quote(`: ${what} was refused. `)}, ${VERDICT}.reason, ${quote(' Produce the evidence in this turn, then say it again.')}`;
  const say = (type: string, failure: FailureType | null, prefix: string): Correction => ({
    type,
    ...(failure === null ? {} : { when: `${FAULT} == ${quote(failure)}` }),
    text: `text(${head}, ${quote(prefix)}, ${tail})`,
  });
  return [
    say('no_progress', 'NoProgress', 'NO TOOL CALLS'),
    say('conflicting_evidence', 'ConflictingEvidence', 'EVIDENCE INCONSISTENCY'),
    say('missing_evidence', 'MissingEvidence', 'MISSING ARTIFACT'),
    say('invalid_transition', null, 'NOT YET'),
  ];
}

/** One turn of the recovery agent; then the refused agent goes on. */
function addRecovery(l: Lowering, { site, key, what }: Gate, recovery: string): NodeId {
  const { hint, origin, agent, again } = site;
  const resume = l.kit.set(
    { hint: `${hint}.${key}.recovered`, origin: 'recovery:done' },
    [tell(quote(`${recovery} has looked at what blocked ${what}. Go on, and say it again when it is done.`), agent)],
    again,
  );
  const turn = addTeamTurn(l, { agent: recovery, hint: `${hint}.${key}.recovery`, origin, next: resume });
  const diagnosis = `text(${quote(`RECOVERY: ${what} by ${agent} was refused `)}, ${count(FAILS, key)}, ${quote(' times in a row. ')}, ${VERDICT}.reason, " Remove what is in the way.")`;
  return l.kit.set(
    { hint: `${hint}.${key}.recover`, origin: 'recovery:activated' },
    [set(BAD, `${BAD} + 1`), setField(RECOVERED, [key], 'true'), tell(diagnosis, recovery)],
    turn,
  );
}

/** A person decides whether the agent may try again, and may add a remark. */
function addEscalation(l: Lowering, { site, key, what }: Gate): NodeId {
  const { hint, origin, agent, again } = site;
  const retry = l.kit.set(
    { hint: `${hint}.${key}.retry`, origin: 'correction:operator' },
    [set(BAD, '0'), tell(`text("The operator lets you try again.", ${remark()})`, agent)],
    again,
  );
  const decided = l.kit.pick(
    { hint: `${hint}.${key}.escalated`, origin },
    [{ when: `${ANSWER}.choice == "approve"`, to: retry }],
    addStuck(l, site, `${what} was refused`, `text(": ", ${VERDICT}.reason)`),
  );
  const message = `text(${quote(`${agent} cannot go on: ${what} was refused. `)}, ${VERDICT}.reason)`;
  return l.kit.ask(
    { hint: `${hint}.${key}.escalate`, origin },
    {
      about: agent,
      askedBy: agent,
      choices: ['approve', 'reject'],
      onExpiry: 'reject',
      message,
      payload: { fault: FAULT, said: SAID },
      code: 'REVIEW_REQUIRED',
      row: 'low_confidence',
      into: ANSWER,
      next: decided,
      fail: l.builder.failedEnd(SAID),
    },
  );
}

/** A rejected route is not a bad turn. */
function addApproval(
  l: Lowering,
  { site, key, pass }: Gate,
  approval: { readonly about: string; readonly message: string },
): NodeId {
  const { hint, origin, agent, again } = site;
  const text = `text(${quote(`Route to ${approval.about} was blocked by the operator. Continue your work or await further instructions.`)}, ${remark()})`;
  const blocked = l.kit.set(
    { hint: `${hint}.${key}.blocked`, origin: 'correction:route_blocked' },
    [tell(text, agent)],
    again,
  );
  const decided = l.kit.pick(
    { hint: `${hint}.${key}.decided`, origin },
    [{ when: `${ANSWER}.choice == "approve"`, to: pass }],
    blocked,
  );
  return l.kit.ask(
    { hint: `${hint}.${key}.approval`, origin: approval.about },
    {
      about: approval.about,
      askedBy: agent,
      choices: ['approve', 'reject'],
      onExpiry: 'reject',
      message: quote(approval.message),
      payload: { from: quote(agent), to: quote(approval.about), said: SAID },
      code: 'CONFIRM_REQUIRED',
      row: 'high_impact_mutation',
      into: ANSWER,
      next: decided,
      fail: l.builder.failedEnd(SAID),
    },
  );
}
