/** Reads and checks a `loop` section. Returns null after a mistake that makes lowering pointless. */
import {
  ANSWER_NAMES,
  checkAgent,
  checkVerifier,
  declareIds,
  hasPeople,
  mayDecide,
  planDenied,
  readShape,
  staysInside,
  toolNamed,
} from '@sluice-internal/compile/document';
import type { Definitions, ReadDocument, Shaped } from '@sluice-internal/compile/document';
import type { Path, Report } from '@sluice-internal/compile/source';
import { checkExpression, expressionsIn, reportConditions, reportProblems } from '@sluice-internal/compile/expressions';
import { GOAL_NAMES, loopSchema, type RawLoop } from './schema.ts';
import { breakerOf, isJudgedByExpressions, loosened, resolveDefaults, type Loop, type Roles } from './model.ts';

export function readLoop(document: ReadDocument, given: Definitions, report: Report): Loop | null {
  const body = readShape(loopSchema, document.body, report, { what: '`loop`' });
  if (body === null) return null;
  const section: Section = { body, document, definitions: given, report };
  const roles = rolesOf(section);
  if (body.value.verifier !== undefined || !isJudgedByExpressions(body.value))
    checkVerifier(
      body.value.verifier,
      document.names,
      (...path) => body.at(...(body.value.verifier === undefined ? [] : ['verifier']), ...path),
      report,
    );
  isAgent(section, body.value.escalation?.safer, 'escalation', 'safer');
  checkGoal(section);
  checkExpressions(section);
  checkBreaker(section);
  checkPeople(section);
  checkCriteria(section);
  declareIds(body.located('intents'), report, {
    what: 'intent',
    reserved: { reject: 'it is the answer that takes none of them' },
  });
  if (roles === null || !body.sound || !document.sections.sound || report.failed()) return null;
  checkViolations(roles.executor, section);
  const loop = resolveDefaults(body.value, roles, given);
  checkIdle(loop, section);
  checkSideEffects(loop, section);
  checkMemory(loop, section);
  return loop;
}

interface Section {
  readonly body: Shaped<RawLoop>;
  readonly document: ReadDocument;
  readonly definitions: Definitions;
  readonly report: Report;
}

/** One agent, or a planner and an executor. */
function rolesOf(section: Section): Roles | null {
  const { body, definitions, report } = section;
  const { agent, planner, executor } = body.value;
  const executes = executor ?? agent;
  if (!isComplete(section) || executes === undefined) return null;
  const known = [
    isAgent(section, executes, executor === undefined ? 'agent' : 'executor'),
    isAgent(section, planner, 'planner'),
  ].every(Boolean);
  if (!known) return null;
  const isRead = planner !== undefined && Object.hasOwn(definitions.agents, planner);
  if (isRead && !mayDecide(definitions, planner, 'plan')) {
    const { message, help } = planDenied(planner);
    report.error('not-granted', body.at('planner'), message, { help });
    return null;
  }
  return { executor: executes, planner: planner ?? null };
}

/** The roles that must go together are there. A role that could not be read was reported before. */
function isComplete({ body, report }: Section): boolean {
  const { agent, planner, executor } = body.value;
  const unread = (...roles: readonly (keyof RawLoop)[]): boolean => roles.some((role) => body.poisoned(role));
  if (agent !== undefined && executor !== undefined) {
    const message = 'a loop has an `agent`, or a `planner` and an `executor`, but not both';
    report.error('bad-value', body.key('executor'), message, { help: 'Remove `agent`, or remove `executor`.' });
    return false;
  }
  if (executor !== undefined && planner === undefined) {
    if (!unread('planner'))
      report.error('missing-agent', body.key('executor'), 'an `executor` needs a `planner`, which is missing', {
        help: 'Add `planner: …`, or write `agent: …` for a loop without a plan.',
      });
    return false;
  }
  if (planner !== undefined && executor === undefined && agent === undefined) {
    if (!unread('executor', 'agent'))
      report.error('missing-agent', body.key('planner'), 'a `planner` needs an `executor`, which is missing', {
        help: 'Add `executor: …`.',
      });
    return false;
  }
  if (agent !== undefined || executor !== undefined) return true;
  if (body.sound)
    report.error('missing-agent', body.at(), 'this loop names no agent', {
      help: 'Add `agent: …`, or `planner: …` and `executor: …`.',
    });
  return false;
}

/** True if the agent exists or none is named. An unknown agent is reported. */
function isAgent({ body, document, report }: Section, id: string | undefined, ...path: Path): boolean {
  return checkAgent(document.names.agents, id, path.join('.'), body.at(...path), report);
}

/** The goal may contain values of the input. */
function checkGoal({ body, report }: Section): void {
  const located = body.located('goal');
  if (located?.kind !== 'scalar') return;
  for (const { expr, start } of expressionsIn(report, located)) {
    const checked = checkExpression(expr, { names: ['input'] });
    if (!checked.ok) reportProblems(report, located, checked.problems, start);
  }
}

function checkExpressions({ body, report }: Section): void {
  const check = (
    rules: readonly (string | { readonly when: string })[] | undefined,
    names: readonly string[],
    ...path: Path
  ): void => {
    const conditions = rules?.map((rule) => (typeof rule === 'string' ? {} : rule));
    reportConditions(conditions, (index) => body.located(...path, index, 'when'), names, report);
  };
  const { intents, guards, criteria, memory } = body.value;
  check(intents, GOAL_NAMES, 'intents');
  check(guards, GOAL_NAMES, 'guards');
  check(criteria, ANSWER_NAMES, 'criteria');
  check(typeof memory === 'object' ? memory.validate : [], ANSWER_NAMES, 'memory', 'validate');
}

function checkBreaker({ body, definitions, report }: Section): void {
  const { breaker } = body.value;
  const { loop } = definitions.protections;
  if (breaker !== undefined && loop === null)
    report.error('bad-value', body.key('breaker'), '`breaker` cannot block a call: `protections.loop` is off', {
      help: 'Leave out one of the two.',
    });
  const { identical, window } = breakerOf(breaker, loop);
  if (breaker === undefined || identical <= window) return;
  const field = breaker?.identical === undefined ? 'window' : 'identical';
  const message = `this breaker cannot trip: the last ${window} calls cannot contain ${identical} identical ones`;
  report.error('bad-value', body.at('breaker', field), message, {
    help: `Set \`breaker.identical\` to at most ${window}, or \`breaker.window\` to at least ${identical}.`,
  });
}

function checkViolations(executor: string, { body, definitions, report }: Section): void {
  const { on_violation: given } = body.value.grounding ?? {};
  const written = given === undefined ? undefined : loosened(given, definitions, executor);
  if (written === undefined) return;
  const message = `\`on_violation\` is \`${given}\`, looser than \`ungrounded: ${written}\` of the boundary`;
  report.error('looser-boundary', body.at('grounding', 'on_violation'), message, {
    help: 'Leave out `on_violation`, or change `escalation.ungrounded` of the boundary.',
  });
}

/** Only a verifier can judge a criterion in words. */
function checkCriteria({ body, report }: Section): void {
  const { criteria = [], verifier } = body.value;
  const index = criteria.findIndex((each) => typeof each === 'string');
  if (index < 0 || verifier !== false) return;
  const message = 'nothing can check this criterion, so the run ends UNVERIFIED';
  report.warning('unchecked-criteria', body.at('criteria', index), message, {
    help: 'Leave out `verifier: false`, or write the criterion as `{ when: …, reason: … }`.',
  });
}

/** Warns of a budget without side effects: a tool that acts can never be called, unless a person can grant more. */
function checkSideEffects(loop: Loop, { body, document, report }: Section): void {
  const { definitions, executor, escalation } = loop;
  if (definitions.budgets?.side_effects !== 0 || (escalation.people && escalation.expansions > 0)) return;
  const acts = (definitions.agents[executor]?.tools ?? []).find((name) => {
    const def = toolNamed(name, definitions);
    return def !== undefined && !staysInside(def);
  });
  if (acts === undefined) return;
  const { sections } = document;
  const at = sections.value.boundary?.profile === undefined ? body.at() : sections.at('boundary');
  report.warning('budget-too-small', at, `\`${acts}\` can never be called: the budget allows no side effects`, {
    help: 'Set `budgets.side_effects` to at least 1, or `escalation.expansions`, so that a person can grant more.',
  });
}

/** One agent of a loop remembers: the one that does the work. An entry needs an observation, and without tools it makes none. */
function checkMemory({ memory, executor, definitions }: Loop, { body, document, report }: Section): void {
  const { sections } = document;
  for (const [index, { id, name, memory: own }] of (sections.value.agents ?? []).entries()) {
    if (own === undefined || own === false) continue;
    const at = sections.key('agents', index, 'memory');
    const agent = id ?? name ?? '';
    if (agent !== executor)
      report.error('not-supported', at, `\`${agent}\` cannot remember: in a loop, only \`${executor}\` can`, {
        help: `Write \`memory\` on \`${executor}\`, or leave it out.`,
      });
    else if (body.value.memory !== undefined)
      report.error('bad-value', at, `\`memory\` of \`${agent}\` stands twice: here and in \`loop\``, {
        help: 'Keep one of them.',
      });
  }
  if (memory === null || (definitions.agents[executor]?.tools ?? []).length > 0) return;
  const message = `\`${executor}\` has no tools, so no observation supports what it would remember: every entry is quarantined`;
  report.warning('no-effect', body.at('memory'), message, { help: 'Give the agent a tool, or leave out `memory`.' });
}

/** Declared decisions of people need people. */
function checkPeople({ body, definitions, report }: Section): void {
  const { plan, planner, review, agent, executor } = body.value;
  if (plan?.approve === true && planner === undefined && !body.poisoned('planner'))
    report.error('bad-value', body.at('plan', 'approve'), 'the plan needs approval, but no agent makes a plan', {
      help: 'Add `planner: …`, or leave out `plan.approve`.',
    });
  if (hasPeople(definitions, executor ?? agent ?? '')) return;
  const decisions = [
    [plan?.approve === true && planner !== undefined, ['plan', 'approve'], 'the plan needs approval'],
    [review === true, ['review'], 'every answer needs a review'],
  ] as const;
  for (const [isDue, path, what] of decisions)
    if (isDue)
      report.error('bad-value', body.at(...path), `${what}, and no person can be asked`, {
        help: `Leave out \`${path.join('.')}\`, or set \`boundary.escalation.people\` to true.`,
      });
}

/** Warns of keys that change nothing beside the others. */
function checkIdle(loop: Loop, { body, report }: Section): void {
  const { plan, compression } = body.value;
  const { planner, verifier, escalation } = loop;
  const idle = [
    [plan !== undefined && planner === null, ['plan'], 'without `planner`'],
    [
      escalation.safer !== null && (verifier?.confidence ?? null) === null,
      ['escalation', 'safer'],
      'without `verifier.confidence`',
    ],
    [escalation.expansions > 0 && !escalation.people, ['escalation', 'expansions'], 'where no person can be asked'],
    [escalation.timeoutMs !== null && !escalation.people, ['escalation', 'timeout'], 'where no person can be asked'],
    [
      compression !== undefined && loop.compression.window === null,
      ['compression'],
      'without `window`: the context window of the model is not known',
    ],
  ] as const;
  for (const [isIdle, path, why] of idle)
    if (isIdle)
      report.warning('no-effect', body.key(...path), `\`${path.join('.')}\` has no effect ${why}`, {
        help: 'Remove it.',
      });
}
