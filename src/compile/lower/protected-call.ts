/**
 * A model call under the protections of the document: what happens while its circuit breaker is open, and what happens when the
 * run spends too fast. The meters and the ways are data; the core has no rule about either.
 */
import type {
  AskEffect,
  Decision,
  DoNode,
  Expr,
  LetNode,
  Meter,
  MeterId,
  Node,
  NodeId,
  PickNode,
} from '../../ir/nodes.ts';
import { decisionOf } from '../../catalog/failures.ts';
import type { Protections, VelocityRules } from '../document/protections.ts';
import { quote } from '../expressions/cel-text.ts';

/** Adds further nodes and meters of the flow. */
export interface Place {
  fresh(hint: string): NodeId;
  add(id: NodeId, node: Node): NodeId;
  meter(id: MeterId, meter: Meter): MeterId;
  /** The end of a run that spends too fast. */
  stopped(): NodeId;
}

/** How often a person may let one call go on. */
const ANSWERS_MAX = 10;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const ANSWER = '_protection';

/** Completes a model call. Other nodes stay as they are. */
export function protectCall(id: NodeId, given: Node, protections: Protections, place: Place): Node {
  if (given.op !== 'do' || given.effect.kind !== 'model') return given;
  return withVelocity(id, withBreaker(id, given, protections, place), protections.velocity, place);
}

function withBreaker(id: NodeId, node: DoNode, { breaker }: Protections, place: Place): DoNode {
  const { fallback = null } = (node.shared?.breaker === undefined ? breaker : node.shared.breaker) ?? {};
  if (fallback === null || 'answer' in fallback) return node;
  if ('model' in fallback) return { ...node, retry: { ...node.retry, whileOpen: fallback.model } };
  const asked = addQuestion(id, node, place, {
    about: 'breaker',
    decision: decisionOf('provider_error', 'escalate'),
    message: 'error.message',
    choices: ['retry', 'stop'],
    stop: node.fail,
  });
  return { ...node, failed: [{ when: 'error.type == "BreakerOpenError"', to: asked }, ...node.failed] };
}

/** The call charges a meter for each limit. When one trips, the call is made by a cheaper model, or not at all. */
function withVelocity(id: NodeId, node: DoNode, rules: VelocityRules | null, place: Place): DoNode {
  if (rules === null) return node;
  const meters = velocityMeters(rules, place);
  const charged: DoNode = { ...node, charges: [...(node.charges ?? []), ...meters] };
  switch (rules.onTrip) {
    case 'stop':
      return charged;
    case 'cheaper':
      return rules.fallback === null
        ? charged
        : { ...charged, onVelocity: addCheaper(id, node, rules.fallback, place) };
    case 'escalate': {
      const asked = addQuestion(id, node, place, {
        about: 'velocity',
        decision: decisionOf('cost_overrun', 'escalate'),
        message: quote(`${node.label.authored ?? node.label.name} spends faster than ${limitsOf(rules)}`),
        choices: ['continue', 'stop'],
        stop: place.stopped(),
        grant: Object.fromEntries(meters.map((meter) => [meter, grantOf(meter, rules)])),
      });
      return { ...charged, onVelocity: asked };
    }
  }
}

function velocityMeters({ usdPerHour, tokensPerMinute }: VelocityRules, place: Place): readonly MeterId[] {
  const over = place.stopped();
  const limits = [
    { id: MONEY, unit: 'costMicros', max: microsOf(usdPerHour), perMs: HOUR_MS, key: 'usd_per_hour' },
    { id: TOKENS, unit: 'tokens', max: tokensPerMinute, perMs: MINUTE_MS, key: 'tokens_per_minute' },
  ] as const;
  return limits.flatMap(({ id, unit, max, perMs, key }) =>
    max === null ? [] : [place.meter(id, { unit, max, perMs, over, label: `protections.velocity.${key}` })],
  );
}
const MONEY: MeterId = 'velocity.cost';
const TOKENS: MeterId = 'velocity.tokens';

/** A person who lets the run go on adds the limit once more. */
function grantOf(meter: MeterId, { usdPerHour, tokensPerMinute }: VelocityRules): Expr {
  const max = meter === MONEY ? microsOf(usdPerHour) : tokensPerMinute;
  return `it.choice == "continue" ? ${max ?? 0} : 0`;
}

function microsOf(usd: number | null): number | null {
  return usd === null ? null : Math.round(usd * 1_000_000);
}

function limitsOf({ usdPerHour, tokensPerMinute }: VelocityRules): string {
  return [
    ...(usdPerHour === null ? [] : [`$${usdPerHour} an hour`]),
    ...(tokensPerMinute === null ? [] : [`${tokensPerMinute} tokens a minute`]),
  ].join(' or ');
}

/** The same call by another model. It does not charge the velocity, so that the run goes on. */
function addCheaper(id: NodeId, node: DoNode, { model }: { readonly model: string }, place: Place): NodeId {
  const { enters: _, ...label } = node.label;
  return place.add(place.fresh(`${id}.cheaper`), {
    ...node,
    label: { ...label, decision: decisionOf('cost_overrun', 'fallback') },
    effect: { ...node.effect, target: model } as DoNode['effect'],
  });
}

interface Question {
  readonly about: 'breaker' | 'velocity' | 'deadlock';
  readonly decision: Decision;
  readonly message: Expr;
  /** The first one makes the call again. */
  readonly choices: readonly [string, string];
  readonly stop: NodeId;
  readonly grant?: DoNode['grant'];
}

export function addQuestion(id: NodeId, node: DoNode, place: Place, question: Question): NodeId {
  const { about, decision, message, choices, stop, grant } = question;
  const { name, authored = name } = node.label;
  const label = { name, authored };
  const meter = place.meter(`${about}:${id}`, {
    unit: 'visits',
    max: ANSWERS_MAX,
    over: stop,
    label: `answers about ${about} at ${name}`,
  });
  const again: LetNode = {
    op: 'let',
    label,
    charges: [meter],
    writes: [{ slot: 'error', mode: 'set', value: 'null' }],
    next: id,
  };
  const decided: PickNode = {
    op: 'pick',
    label,
    cases: [
      { when: `${ANSWER}.choice == ${quote(choices[0])}`, to: place.add(place.fresh(`${id}.${about}.again`), again) },
    ],
    otherwise: stop,
  };
  const effect: AskEffect = {
    kind: 'ask',
    about,
    choices: choices.map((choice) => ({ name: choice })),
    onExpiry: choices[1],
    code: 'REVIEW_REQUIRED',
    askedBy: node.effect.kind === 'model' ? node.effect.agent : name,
    input: { message },
    reserve: {},
  };
  return place.add(place.fresh(`${id}.${about}`), {
    op: 'do',
    label: { ...label, decision },
    effect,
    writes: [{ slot: ANSWER, mode: 'set', value: 'it' }],
    ...(grant === undefined ? {} : { grant }),
    timeoutMs: null,
    retry: { max: 0, baseMs: 0, capMs: 0, on: [] },
    next: place.add(place.fresh(`${id}.${about}.decided`), decided),
    failed: [],
    fail: stop,
  });
}
