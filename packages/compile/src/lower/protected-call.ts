/**
 * A model call under the protections of the document: the call that replaces it while its circuit breaker is open, and the
 * action if the run spends too fast. Both are data in the graph; the core has no rule for them.
 */
import type { Decision, DoNode, Expr, MeterId, Node, NodeId } from '@sluice-internal/kernel/ir';
import { decisionOf } from '@sluice-internal/kernel/catalog';
import type { EscalationId } from '@sluice-internal/kernel/catalog';
import type { Protections, VelocityRules } from '../document/protections.ts';
import { quote } from '@sluice-internal/kernel/expr';
import { set, type Kit, type Step } from './kit.ts';

/** Adds the further nodes of a protected call. */
export interface Protecting {
  readonly kit: Kit;
  /** The end of a run that spends too fast. The error names the node, if it is given. */
  stopped(node?: string): NodeId;
}

/** The number of times that a person may let one call continue. */
const ANSWERS_MAX = 10;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const ANSWER = '_protection';

/** Protections of the stage that a call belongs to, where they differ from those of the document. */
export interface StageProtections {
  readonly stage: string;
  readonly protections: Protections;
}

/** Completes a model call. Other nodes stay as they are. */
export function protectCall(
  id: NodeId,
  given: Node,
  protections: Protections,
  place: Protecting,
  own: StageProtections | null = null,
): Node {
  if (given.op !== 'do' || given.effect.kind !== 'model') return given;
  const shared = own === null ? given : { ...given, ...sharedOf(given, own.protections) };
  return withVelocity(id, withBreaker(id, shared, protections, place), { protections, own, place });
}

/** The breaker and the retry budget of the stage replace those of the flow. */
function sharedOf(node: DoNode, { declared, breaker, retryBudget }: Protections): Pick<DoNode, 'shared'> {
  const shared = {
    ...node.shared,
    ...(declared.has('breaker') ? { breaker } : {}),
    ...(declared.has('retry_budget') ? { retryBudget } : {}),
  };
  return Object.keys(shared).length === 0 ? {} : { shared };
}

function withBreaker(id: NodeId, node: DoNode, { breaker }: Protections, { kit }: Protecting): DoNode {
  const { fallback = null } = (node.shared?.breaker === undefined ? breaker : node.shared.breaker) ?? {};
  if (fallback === null || 'answer' in fallback) return node;
  if ('model' in fallback) return { ...node, retry: { ...node.retry, whileOpen: fallback.model } };
  const asked = addQuestion(id, node, kit, {
    about: 'breaker',
    row: 'provider_outage',
    decision: decisionOf('provider_error', 'escalate'),
    message: 'error.message',
    choices: ['retry', 'stop'],
    stop: node.fail,
  });
  return { ...node, failed: [{ when: 'error.type == "BreakerOpenError"', to: asked }, ...node.failed] };
}

interface Velocities {
  readonly protections: Protections;
  readonly own: StageProtections | null;
  readonly place: Protecting;
}

/** The call charges a meter for each limit. When one trips, the call is made by a cheaper model, or not at all. */
function withVelocity(id: NodeId, node: DoNode, velocities: Velocities): DoNode {
  const { protections, place } = velocities;
  const stage = stageVelocity(velocities);
  const rules = stage === null ? protections.velocity : stage.rules;
  if (rules === null) return node;
  const agent = node.effect.kind === 'model' ? node.effect.agent : '';
  const limits = [
    ...allLimits(protections.velocity, agent, '', 'protections.velocity'),
    ...(stage === null ? [] : allLimits(rules, agent, `@stage:${stage.name}`, `${stage.name}.protections.velocity`)),
  ];
  if (limits.length === 0) return node;
  const over = place.stopped();
  for (const { id: meter, words: _, ...limit } of limits) place.kit.builder.meter(meter, { ...limit, over });
  const charged: DoNode = { ...node, charges: [...(node.charges ?? []), ...limits.map((each) => each.id)] };
  if (rules.on_trip === 'escalate') return { ...charged, onVelocity: addSlower(id, node, limits, place) };
  if (rules.on_trip === 'stop' || rules.fallback === undefined)
    return { ...charged, onVelocity: place.stopped(node.label.authored ?? node.label.name) };
  return { ...charged, onVelocity: addCheaper(id, node, rules.fallback, place) };
}

/** The velocity of the stage, if it has its own; its rules are null if it is switched off. */
function stageVelocity({ own }: Velocities): { readonly name: string; readonly rules: VelocityRules | null } | null {
  if (own === null || !own.protections.declared.has('velocity')) return null;
  return { name: own.stage, rules: own.protections.velocity };
}

/** A person decides. `continue` adds each limit once more. */
function addSlower(id: NodeId, node: DoNode, limits: readonly Limit[], place: Protecting): NodeId {
  const words = limits.map((limit) => limit.words).join(' or ');
  return addQuestion(id, node, place.kit, {
    about: 'velocity',
    row: 'budget_reached',
    decision: decisionOf('cost_overrun', 'escalate'),
    message: quote(`${node.label.authored ?? node.label.name} spends faster than ${words}`),
    choices: ['continue', 'stop'],
    stop: place.stopped(node.label.authored ?? node.label.name),
    grant: Object.fromEntries(limits.map((limit) => [limit.id, `it.choice == "continue" ? ${limit.max} : 0`])),
  });
}

interface Limit {
  readonly id: MeterId;
  readonly unit: 'costMicros' | 'tokens';
  readonly max: number;
  readonly perMs: number;
  readonly label: string;
  readonly words: string;
}

type Velocity = Pick<VelocityRules, 'usd_per_hour' | 'tokens_per_minute'>;

function limitsOf({ usd_per_hour: usd, tokens_per_minute: perMinute }: Velocity, scope: string, label: string) {
  const cost = usd !== undefined && {
    id: `velocity.cost${scope}`,
    unit: 'costMicros' as const,
    max: Math.round(usd * 1_000_000),
    perMs: HOUR_MS,
    label: `${label}.usd_per_hour`,
    words: `$${usd} an hour`,
  };
  const tokens = perMinute !== undefined && {
    id: `velocity.tokens${scope}`,
    unit: 'tokens' as const,
    max: perMinute,
    perMs: MINUTE_MS,
    label: `${label}.tokens_per_minute`,
    words: `${perMinute} tokens a minute`,
  };
  return [cost, tokens].filter((limit) => limit !== false);
}

/** The limits of the rules, and those of the agent. */
function allLimits(rules: VelocityRules | null, agent: string, scope: string, label: string): readonly Limit[] {
  if (rules === null) return [];
  const { agents = {} } = rules;
  const own = Object.hasOwn(agents, agent) ? agents[agent] : undefined;
  const named = own === undefined ? [] : limitsOf(own, `${scope}@agent:${agent}`, `${label}.agents.${agent}`);
  return [
    ...limitsOf(rules, scope, label),
    ...named.map((limit) => ({ ...limit, words: `${limit.words} for ${agent}` })),
  ];
}

/** The same call by another model. It does not charge the velocity, so that the run goes on. */
function addCheaper(id: NodeId, node: DoNode, { model }: { readonly model: string }, { kit }: Protecting): NodeId {
  return kit.builder.add(kit.builder.fresh(`${id}.cheaper`), {
    ...node,
    label: { ...node.label, decision: decisionOf('cost_overrun', 'fallback') },
    effect: { ...node.effect, target: model } as DoNode['effect'],
  });
}

interface Question {
  readonly about: 'breaker' | 'velocity' | 'deadlock';
  readonly row: EscalationId;
  readonly decision: Decision;
  readonly message: Expr;
  readonly choices: readonly [string, string];
  readonly stop: NodeId;
  readonly grant?: DoNode['grant'];
}

/** Asks about a call that is not made. The first choice makes it after all. */
export function addQuestion(id: NodeId, node: DoNode, kit: Kit, question: Question): NodeId {
  const { about, decision, stop, ...asked } = question;
  const [again, onExpiry] = asked.choices;
  const { name, authored = name } = node.label;
  const askedBy = node.effect.kind === 'model' ? node.effect.agent : name;
  const step = (what: string): Step => ({ hint: `${id}.${about}${what}`, origin: name, authored });
  const meter = kit.visits(`${about}:${id}`, ANSWERS_MAX, stop, `answers about ${about} at ${name}`);
  const repeated = kit.set({ ...step('.again'), charges: [meter] }, [set('error', 'null')], id);
  return kit.ask(
    { ...step(''), decision },
    {
      ...asked,
      payload: { problem: asked.message },
      about,
      onExpiry,
      code: 'REVIEW_REQUIRED',
      purpose: about === 'velocity' ? 'budget' : 'escalation',
      askedBy,
      into: ANSWER,
      next: kit.decide(step('.decided'), ANSWER, { [again]: repeated }, stop),
      fail: stop,
    },
  );
}
