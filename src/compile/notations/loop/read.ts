/** Reads a loop strictly, with every default settled; null where a mistake makes the rest pointless. */
import { mayDecide, planDenied } from '../../document/boundary.ts';
import type { Definitions } from '../../document/definitions.ts';
import { OUTPUT_TOKENS_DEFAULT } from '../../document/definitions.ts';
import type { Report } from '../../diagnose/diagnostics.ts';
import type { ReadDocument } from '../../document/document.ts';
import { reportProblems } from '../../expressions/problem.ts';
import { checkExpression } from '../../expressions/expression.ts';
import { withInputFields } from '../../expressions/reads.ts';
import type { Path } from '../../source/located.ts';
import { nearest } from '../../diagnose/nearest.ts';
import type { Budgets } from '../../document/schema/bounds.ts';
import { readShape } from '../../document/shape/shape.ts';
import type { Shaped } from '../../document/shape/shape.ts';
import type { OnViolation } from '../../lower/agent-turn/grounding-check.ts';
import { checkIntents, checkNumbers, checkPeople } from './check.ts';
import type { Loop } from './model.ts';
import { PROFILES } from '../../../catalog/profiles.ts';
import { GRAVE, ON_VIOLATION, RETRIES_DEFAULT, STEPS_DEFAULT, breakerOf, presetOf } from './presets.ts';
import type { LoopProfile } from './presets.ts';
import { loopSchema } from './schema.ts';
import type { RawLoop } from './schema.ts';

export interface ReadLoop {
  readonly loop: Loop;
  readonly body: Shaped<RawLoop>;
}

export function readLoop(document: ReadDocument, given: Definitions, report: Report): ReadLoop | null {
  const body = readShape(loopSchema, document.body, report, { what: '`loop`' });
  if (body === null) return null;
  const raw = body.value;
  const isAgent: IsAgent = (id, path) => agentAt(body, given, document, report, id, path);
  const who = rolesOf(body, given, report, isAgent);
  isAgent(raw.verifier, ['verifier']);
  isAgent(raw.escalation?.safer, ['escalation', 'safer']);
  checkExpressions(body, report);
  checkNumbers(body, report);
  checkIntents(body, report);
  checkPeople(body, report);
  if (who === null || !body.sound || !document.sections.sound || report.failed()) return null;
  const definitions = withTimeout(withBudgets(given, raw.profile ?? null), raw.escalation?.timeout);
  return { loop: settle(raw, who, definitions, given.budgets?.retries), body };
}

/** Whether the agent that is named there exists, or none is named. What is not is reported. */
type IsAgent = (id: string | undefined, path: Path) => boolean;

interface Roles {
  readonly executor: string;
  readonly planner: string | null;
}

/** One agent, or a planner and an executor. */
function rolesOf(body: Shaped<RawLoop>, definitions: Definitions, report: Report, isAgent: IsAgent): Roles | null {
  const { agent, planner, executor } = body.value;
  const tried = (...roles: readonly (keyof RawLoop)[]): boolean => roles.some((role) => body.poisoned(role));
  if (agent !== undefined && executor !== undefined) {
    report.error(
      'bad-value',
      body.key('executor'),
      'a loop has an `agent`, or a `planner` and an `executor`, but not both',
    );
    return null;
  }
  if (planner !== undefined && executor === undefined && agent === undefined) {
    if (tried('executor', 'agent')) return null;
    report.error('missing-agent', body.key('planner'), 'a `planner` plans for somebody, but there is no `executor`', {
      help: 'Add `executor: …`.',
    });
    return null;
  }
  if (executor !== undefined && planner === undefined) {
    if (tried('planner')) return null;
    report.error('missing-agent', body.key('executor'), 'an `executor` carries out a plan, but there is no `planner`', {
      help: 'Add `planner: …`, or write `agent: …` where nobody plans.',
    });
    return null;
  }
  const does = executor ?? agent;
  if (does === undefined) {
    if (body.sound)
      report.error('missing-agent', body.at(), 'this loop names nobody who does the work', {
        help: 'Add `agent: …`, or `planner: …` and `executor: …`.',
      });
    return null;
  }
  const known = [isAgent(does, [executor === undefined ? 'agent' : 'executor']), isAgent(planner, ['planner'])];
  if (planner !== undefined && known.every(Boolean) && !mayDecide(definitions, planner, 'plan')) {
    const { message, help } = planDenied(planner);
    report.error('not-granted', body.at('planner'), message, { help });
    return null;
  }
  return known.every(Boolean) ? { executor: does, planner: planner ?? null } : null;
}

function agentAt(
  body: Shaped<RawLoop>,
  definitions: Definitions,
  { names }: ReadDocument,
  report: Report,
  id: string | undefined,
  path: Path,
): boolean {
  if (id === undefined || Object.hasOwn(definitions.agents, id)) return true;
  if (names.agents.poisoned) return false;
  const near = nearest(id, Object.keys(definitions.agents));
  report.error('unknown-agent', body.at(...path), `unknown agent \`${id}\` on \`${path.join('.')}\``, {
    help: near === undefined ? 'Declare it under `agents`.' : `Did you mean \`${near}\`?`,
  });
  return false;
}

const OVER_GOAL = ['goal', 'input'];
const OVER_ANSWER = ['answer', 'goal', 'input', 'observations'];

function checkExpressions(body: Shaped<RawLoop>, report: Report): void {
  const check = (source: string | undefined, names: readonly string[], ...path: Path): void => {
    const located = body.located(...path);
    if (source === undefined || located?.kind !== 'scalar') return;
    const checked = checkExpression(source, { names });
    if (!checked.ok) reportProblems(report, located, checked.problems);
  };
  const { intents = [], guards = [], validate = [], conflict } = body.value;
  for (const [index, each] of intents.entries()) check(each.when, OVER_GOAL, 'intents', index, 'when');
  for (const [index, each] of guards.entries()) check(each.when, OVER_GOAL, 'guards', index, 'when');
  for (const [index, each] of validate.entries()) check(each.when, OVER_ANSWER, 'validate', index, 'when');
  check(conflict, OVER_ANSWER, 'conflict');
}

/** What the document limits itself counts; the profile fills in the rest. */
function withBudgets(given: Definitions, profile: LoopProfile | null): Definitions {
  const preset = presetOf(profile) ?? { steps: STEPS_DEFAULT };
  const budgets: Budgets = { ...preset, ...given.budgets };
  const limited = budgets.output_tokens !== undefined || budgets.cost_usd !== undefined;
  const bounded = Object.entries(given.agents).map(
    ([id, agent]) =>
      [
        id,
        limited && agent.maxOutputTokens === null ? { ...agent, maxOutputTokens: OUTPUT_TOKENS_DEFAULT } : agent,
      ] as const,
  );
  const seconds = budgets.wall_clock_seconds;
  // The profile is also that of the boundary, unless the document's own names another: to write down a limit loosens none.
  const boundary = profile === null ? given.boundary : { profile, ...given.boundary };
  return {
    ...given,
    boundary,
    budgets,
    agents: Object.fromEntries(bounded),
    deadlineMs: seconds === undefined ? null : Math.ceil(seconds * 1000),
  };
}

/** How long a question waits holds for those about calls too, unless the boundary says otherwise. */
function withTimeout(given: Definitions, seconds: number | undefined): Definitions {
  return seconds === undefined ? given : { ...given, boundary: { approval_timeout: seconds, ...given.boundary } };
}

function settle(raw: RawLoop, who: Roles, definitions: Definitions, retries: number | undefined): Loop {
  const profile = raw.profile ?? null;
  const { plan = {}, reflection = {}, grounding = {}, escalation = {}, breaker = {}, compression = {}, rates } = raw;
  const executor = definitions.agents[who.executor];
  const limits = definitions.models.find(executor?.model ?? null)?.['limits'] as
    | { readonly context_tokens?: number }
    | undefined;
  const window = limits?.context_tokens ?? definitions.budgets?.context_tokens ?? null;
  return {
    id: raw.id ?? 'loop',
    description: raw.description ?? null,
    ...who,
    goal: raw.goal ?? null,
    criteria: raw.criteria ?? [],
    profile,
    requires: raw.requires ?? [],
    intents: (raw.intents ?? []).map(({ id, when, description }) => ({
      id,
      when: withInputFields(when),
      description: description ?? id,
    })),
    guards: (raw.guards ?? []).map(({ when, code, reason }) => ({
      when: withInputFields(when),
      code: code ?? 'UNSAFE_DETECTION',
      reason,
    })),
    plan: { stepsMax: plan.max_steps ?? 12, repairs: plan.repairs ?? 2, approve: plan.approve ?? false },
    validate: (raw.validate ?? []).map(({ when, reason }) => ({ when: withInputFields(when), reason })),
    verifier: raw.verifier ?? null,
    confidence: raw.confidence ?? null,
    conflict: raw.conflict === undefined ? null : withInputFields(raw.conflict),
    review: raw.review ?? false,
    reflection: {
      repairs: reflection.repairs ?? 2,
      confidence: reflection.confidence ?? 1,
      conflict: reflection.conflict ?? 1,
    },
    grounding: {
      cite: grounding.cite === 'required',
      claims: grounding.claims ?? true,
      values: grounding.values ?? 'names',
      onViolation: grounding.on_violation ?? byRisk(definitions, who.executor),
    },
    compression: { at: compression.at ?? 0.8, window: compression.window ?? window },
    escalation: {
      people: escalation.people ?? true,
      timeoutMs: escalation.timeout === undefined ? null : Math.ceil(escalation.timeout * 1000),
      safer: escalation.safer ?? null,
      expansions: escalation.expansions ?? 0,
    },
    breaker: breakerOf(breaker),
    memory: raw.memory ?? false,
    // A profile counts the attempts of a call, the first included; a budget what is repeated.
    retries: retries ?? (presetOf(profile)?.retries ?? RETRIES_DEFAULT + 1) - 1,
    rounds: definitions.budgets?.steps ?? STEPS_DEFAULT,
    rates: { toolCall: rates?.tool_call ?? 0, externalCall: rates?.external_call ?? 0, review: rates?.review ?? 0 },
    definitions,
  };
}

/** What follows from a false claim: as the boundary or its profile has it, else by the gravest thing that the agent can do. */
function byRisk({ agents, agentBoundaries, tools, boundary }: Definitions, executor: string): OnViolation {
  const given = [agentBoundaries[executor], boundary];
  const profile = given.find((each) => each?.profile !== undefined)?.profile;
  const said =
    given.find((each) => each?.escalation?.ungrounded !== undefined)?.escalation?.ungrounded ??
    (profile === undefined ? undefined : PROFILES[profile].escalation['ungrounded']);
  if (said !== undefined) return ON_VIOLATION[said];
  return (agents[executor]?.tools ?? []).some((name) => GRAVE.has(tools[name]?.effect ?? '')) ? 'escalate' : 'repair';
}
