/**
 * The gate of a route: checks of evidence in order, then a person. A refused agent gets the reason and another turn. A
 * recovery agent can get one turn in between, once.
 */
import { EVIDENCE_FAILURES } from '@sluice-internal/kernel/catalog';
import type { EvidenceFailure } from '@sluice-internal/kernel/catalog';
import type { Case, Expr, NodeId } from '@sluice-internal/kernel/ir';
import { OBSERVATIONS, set, setField } from '@sluice-internal/compile/lower';
import { literal, quote } from '@sluice-internal/compile/expressions';
import { HANDOFF } from './agents.ts';
import { addBadTurn, addStuck, type Correction, type Site } from './bad-turn.ts';
import { part, type Lowering } from './lowering.ts';
import { addOpenGates, alsoOpen, evidenceOf } from './open-gates.ts';
import type { Check } from './model.ts';
import {
  ANSWER,
  BAD,
  CONTRACTS,
  FAILS,
  FAULT,
  ONE_MORE_BAD,
  OUTPUT,
  PROVEN,
  RECOVERED,
  MESSAGE,
  TURN,
  VERDICT,
  VOIDED,
  count,
  reject,
  remark,
  tell,
} from './slots.ts';
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
    const input = { ...evidenceOf(site), failures: count(FAILS, key), config: literal(config) };
    // A person who approves sees the commands that satisfied the gate.
    const passed =
      gate.approval === null
        ? next
        : l.kit.set(
            part(site, 'proven'),
            [set(PROVEN, `${PROVEN} == null ? ${VERDICT}.evidence : ${PROVEN} + ${VERDICT}.evidence`)],
            next,
          );
    const judged = l.kit.when(part(site, 'judged'), `${VERDICT}.ok == true`, passed, refused);
    const isNoted = name.startsWith('contract:') && l.team.raw.Compaction?.Mode === 'lossless';
    next = l.kit.check(part(site, `${key}.${name}`), {
      check: name,
      input,
      into: VERDICT,
      // The verdict of a contract is kept for the recap of lossless compaction.
      next: isNoted ? l.kit.set(part(site, 'note'), [setField(CONTRACTS, [label], VERDICT)], judged) : judged,
      fail: l.builder.failedEnd(OUTPUT),
    });
  }
  return next;
}

function addRefusal(l: Lowering, gate: Gate): NodeId {
  const { site, key, what } = gate;
  const policies = l.team.raw.FailureHandling;
  const limit = limitOf(l, site);
  const stuck = addStuck(l, site, `${what} was refused`, REFUSED_BY);
  const recover = gate.recovery === null ? null : addRecovery(l, gate, gate.recovery);
  const mayRecover = `${RECOVERED}[${quote(key)}] != true && ${BAD} < ${limit} - 1`;
  const cases: Case[] = [];
  for (const failure of EVIDENCE_FAILURES) {
    const is = `${FAULT} == ${quote(failure)}`;
    const action = policies[failure]?.Action;
    if (action === 'EscalateToHuman') cases.push({ when: is, to: addEscalation(l, gate) });
    if (action === 'ActivateRecovery' && recover !== null) cases.push({ when: `${is} && ${mayRecover}`, to: recover });
  }
  if (policies.MaxConsecutiveContractFailures > 0)
    cases.push({ when: `${count(FAILS, key)} >= ${policies.MaxConsecutiveContractFailures}`, to: stuck });
  if (recover !== null) cases.push({ when: `${count(FAILS, key)} >= 2 && ${mayRecover}`, to: recover });
  const bad = addBadTurn(l, site, {
    what: `${what} was refused`,
    reason: REFUSED_BY,
    limit,
    limitMax: Math.max(...EVIDENCE_FAILURES.map((failure) => policies[failure]?.Threshold ?? 0)),
    corrections: corrections(gate, limit),
    nextOf: (type) => (type === 'conflicting_evidence' || type === 'no_progress' ? gate.audit : undefined),
  });
  const decide = l.kit.pick(part(site, `${key}.policy`), cases, bad);
  const refused = l.kit.set(
    part(site, `${key}.refused`),
    [
      set(FAULT, classOf(key)),
      setField(FAILS, [key], `${count(FAILS, key)} + 1`),
      set(VOIDED, `${VERDICT}.evidence == null ? ${VOIDED} : ${VOIDED} + ${VERDICT}.evidence`),
      reject(`text(${quote(`${what} was refused`)}, ${REFUSED_BY})`),
    ],
    decide,
  );
  // One correction names everything that is missing.
  return gate.checks.length < 2 ? refused : addOpenGates(l, site, [gate], refused);
}

/** The check that refused, and its reason. */
const REFUSED_BY: Expr = `text(${VERDICT}.check == null ? "" : text(" by ", ${VERDICT}.check), ": ", ${VERDICT}.reason)`;

/** The bad turn that stops the session: the threshold of the failure's type, or the site's own limit. */
function limitOf({ team }: Lowering, { limit, fixed = false }: Site): Expr {
  const policies = team.raw.FailureHandling;
  const own = EVIDENCE_FAILURES.filter((failure) => !fixed && policies[failure]?.Threshold !== undefined);
  return own.reduceRight(
    (otherwise: Expr, failure) =>
      `(${FAULT} == ${quote(failure)} ? ${policies[failure]?.Threshold ?? limit} : ${otherwise})`,
    String(limit),
  );
}

/** A second refusal without a tool call in between is `NoProgress`. */
function classOf(key: string): Expr {
  const idle = `!${OBSERVATIONS}.exists(o, o.turn == ${TURN} && o.tool != ${quote(HANDOFF)})`;
  return `${count(FAILS, key)} > 0 && ${idle} ? "NoProgress" : (${VERDICT}.failure == null ? "InvalidTransition" : ${VERDICT}.failure)`;
}

/** The first correction gives only the reason; the later ones say how many are left. */
function corrections({ what, checks }: Gate, limit: Expr): readonly Correction[] {
  const head = `${BAD} == 0 ? "" : text("RETRY ", ${BAD} + 1, "/", ${limit}, " — ")`;
  const others = checks.length < 2 ? '""' : alsoOpen(`${VERDICT}.reason`);
  const tail = `${quote(`: ${what} was refused. `)}, ${VERDICT}.reason, ${others}, ${quote(' Do what is missing, then say it again.')}`;
  const correction = (type: string, failure: EvidenceFailure | null, prefix: string): Correction => ({
    type,
    ...(failure === null ? {} : { when: `${FAULT} == ${quote(failure)}` }),
    text: `text(${head}, ${quote(prefix)}, ${tail})`,
  });
  return [
    correction('no_progress', 'NoProgress', 'NO TOOL CALLS'),
    correction('conflicting_evidence', 'ConflictingEvidence', 'EVIDENCE INCONSISTENCY'),
    correction('missing_evidence', 'MissingEvidence', 'MISSING ARTIFACT'),
    correction('invalid_transition', null, 'NOT YET'),
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
  const turn = addTeamTurn(l, {
    agent: recovery,
    hint: `${hint}.${key}.recovery`,
    origin,
    entry: 'none',
    next: resume,
  });
  const diagnosis = `text(${quote(`RECOVERY: ${what} by ${agent} was refused `)}, ${count(FAILS, key)}, ${quote(' times in a row. ')}, ${VERDICT}.reason, " Remove what is in the way.")`;
  return l.kit.set(
    { hint: `${hint}.${key}.recover`, origin: 'recovery:activated' },
    [set(BAD, ONE_MORE_BAD), setField(RECOVERED, [key], 'true'), tell(diagnosis, recovery)],
    turn,
  );
}

/** A person decides whether the agent may try again, and may add a remark. */
function addEscalation(l: Lowering, { site, key, what }: Gate): NodeId {
  const { hint, agent, again } = site;
  const retry = l.kit.set(
    { hint: `${hint}.${key}.retry`, origin: 'correction:operator' },
    [set(BAD, '0'), tell(`text("The operator lets you try again.", ${remark()})`, agent)],
    again,
  );
  const stuck = addStuck(l, site, `${what} was refused`, REFUSED_BY);
  const decided = l.kit.decide(part(site, `${key}.escalated`), ANSWER, { approve: retry }, stuck);
  const message = `text(${quote(`${agent} cannot go on: ${what} was refused. `)}, ${VERDICT}.reason)`;
  return l.kit.ask(part(site, `${key}.escalate`), {
    ...yesOrNo(l, agent, decided),
    about: agent,
    message,
    payload: { fault: FAULT, reply: MESSAGE },
    code: 'REVIEW_REQUIRED',
    purpose: 'escalation',
    row: 'low_confidence',
  });
}

/** A rejected route is not a bad turn. */
function addApproval(
  l: Lowering,
  { site, key, pass, checks }: Gate,
  approval: { readonly about: string; readonly message: string },
): NodeId {
  const { hint, agent, again } = site;
  const text = `text(${quote(`Route to ${approval.about} was blocked by the operator. Continue your work or await further instructions.`)}, ${remark()})`;
  const blocked = l.kit.set(
    { hint: `${hint}.${key}.blocked`, origin: 'correction:route_blocked' },
    [tell(text, agent), reject(text)],
    again,
  );
  const decided = l.kit.decide(part(site, `${key}.decided`), ANSWER, { approve: pass }, blocked);
  return l.kit.ask(
    { hint: `${hint}.${key}.approval`, origin: approval.about },
    {
      ...yesOrNo(l, agent, decided),
      about: approval.about,
      message: `text(${quote(approval.message)}, ${done(checks)})`,
      payload: {
        from: quote(agent),
        to: quote(approval.about),
        reply: MESSAGE,
        files: FILES_CHANGED,
        command: PROVEN_COMMAND,
        gates: literal(checks.map(({ label }) => label)),
      },
      code: 'CONFIRM_REQUIRED',
      purpose: 'route',
      row: 'high_impact_mutation',
    },
  );
}

const FILES_CHANGED: Expr = `distinct(${OBSERVATIONS}.filter(o, o.ok && o.tool in ["write_file", "patch_file", "delete_file"]).map(o, o.args.path))`;
/** The last command that satisfied a check of the gate; null if none did. */
const PROVEN_COMMAND: Expr = `cel.bind(c, ${OBSERVATIONS}.filter(o, o.tool == "shell_run" && ${PROVEN} != null && o.id in ${PROVEN}), size(c) == 0 ? null : c[size(c) - 1].args.command)`;

/** What was done, as sentences after the question. */
function done(checks: readonly Check[]): Expr {
  const files = `cel.bind(f, ${FILES_CHANGED}, size(f) == 0 ? "" : text(" Files changed: ", join(f, ", "), "."))`;
  const command = `cel.bind(c, ${PROVEN_COMMAND}, c == null ? "" : text(" Command: \`", c, "\` passed."))`;
  const gates = checks.length === 0 ? '""' : quote(` Gates passed: ${checks.map(({ label }) => label).join(', ')}.`);
  return `text(${files}, ${command}, ${gates})`;
}

/** The common fields of a question to approve or reject. Without an answer in time it counts as rejected. */
function yesOrNo(l: Lowering, askedBy: string, next: NodeId) {
  const fail = l.builder.failedEnd(OUTPUT);
  return { askedBy, choices: ['approve', 'reject'], onExpiry: 'reject', into: ANSWER, next, fail };
}
