/**
 * The autonomy boundary of an agent: the author's rules, then the rules of the profile, then the defaults. It sorts every tool
 * of the agent into allowed, needs approval, or denied. The result is part of the compiled flow.
 */
import { onlyReads } from '../../ir/effect-classes.ts';
import type { BoundaryDef, Consequence, ToolDef } from '../../ir/nodes.ts';
import type { Json } from '../../expr/json.ts';
import { present } from '../../expr/present.ts';
import { matches } from './names.ts';
import { DECISIONS } from './schema/bounds.ts';
import { MUTATING, PROFILES, speaksOf } from '../../catalog/profiles.ts';
import type { Effect, Row } from '../../catalog/profiles.ts';
import type { Boundary, BoundaryFields } from './schema/bounds.ts';
import type { Definitions } from './definitions.ts';

/** Reasons to refuse a proposed tool call or its result. Each has a consequence. */
export type Trouble = 'unregistered' | 'malformed' | 'denied' | 'rate' | 'rejected' | 'unverified';

const GRAVE: ReadonlySet<string> = new Set(['financial', 'infrastructure']);

export interface Granted {
  readonly def: ToolDef | undefined;
  readonly cost: number;
  /** The tool's definition requires approval. */
  readonly approval: boolean;
}
/** `eligible`: tools that change something need approval by default. `granted`: only where the author's rules require it. */
export type GateMode = 'eligible' | 'granted';

export function boundaryOf(
  written: readonly (Boundary | undefined)[],
  tools: { readonly [name: string]: Granted },
  mode: GateMode,
  version: (content: Json) => string,
): BoundaryDef {
  const given = written.reduce<Written>((all, each) => (each === undefined ? all : narrowed(all, each)), {});
  const byPermission = (wanted: Permission): readonly string[] =>
    Object.entries(tools).flatMap(([name, tool]) => (permissionOf(name, tool, given, mode) === wanted ? [name] : []));
  const content = {
    profile: given.profile ?? null,
    observations: given.observations ?? null,
    stateWrites: given.state_writes ?? null,
    decisions: given.decisions ?? [...DECISIONS],
    tools: { allow: byPermission('allow'), approve: byPermission('approve'), deny: byPermission('deny') },
    approveEffects: approvedEffects(given, mode),
    untrusted: given.untrusted ?? 'ask',
    ...untrustedInput(given),
    ...consequences(given, mode),
    approvalTimeoutMs: approvalTimeoutMs(given),
  } as const;
  return { version: given.version ?? version(content as unknown as Json), ...content };
}

/** Null if a question about a call stays open. The shortest time of the boundaries counts. */
export function approvalTimeoutMs(
  ...boundaries: readonly (Pick<Boundary, 'approval_timeout'> | undefined)[]
): number | null {
  const seconds = boundaries.map((each) => each?.approval_timeout).reduce(least);
  return seconds === undefined ? null : Math.ceil(seconds * 1000);
}

/** False, or an empty list, is the same as nothing. */
function untrustedInput({ untrusted_input: given }: Written): Pick<BoundaryDef, 'untrustedInput'> {
  if (given === undefined || given === false) return {};
  return given === true || given.length > 0 ? { untrustedInput: given } : {};
}

function consequences(given: Written, mode: GateMode): Pick<BoundaryDef, 'escalation' | 'failClosed'> {
  const profile = given.profile === undefined ? null : PROFILES[given.profile];
  // An agent that the author has granted its tools may correct an invalid call.
  const lenient: { [trouble: string]: Consequence } = mode === 'granted' ? { malformed: 'tell' } : {};
  const conditions = (profile?.failClosed ?? []).flatMap((each) =>
    'when' in each ? [{ what: each.what, when: each.when, code: each.code }] : [],
  );
  return {
    escalation: { ...lenient, ...profile?.escalation, ...present(given.escalation ?? {}) },
    failClosed: [...conditions, ...(given.fail_closed ?? [])],
  };
}

/** The consequence of a refusal: from the boundary, else `fail` (the run ends) for grave ones, else `tell` (the agent). */
export function consequenceOf(
  { escalation }: BoundaryDef,
  trouble: Trouble,
  effect: ToolDef['effect'] | null,
): Consequence {
  const written = Object.hasOwn(escalation, trouble) ? escalation[trouble] : undefined;
  if (written !== undefined) return written;
  const isGrave = (trouble === 'denied' || trouble === 'unverified') && effect !== null && GRAVE.has(effect);
  return isGrave || trouble === 'malformed' ? 'fail' : 'tell';
}

interface Written extends Partial<BoundaryFields> {
  /** The boundary around this one. Its lists of what may be read and written hold too. */
  readonly outer?: Written;
}

/** The inner boundary overrides the outer one, but cannot loosen what the outer one denies, asks about or fails closed on. */
function narrowed(outer: Written, inner: Written): Written {
  const both = (row: 'approve' | 'deny'): string[] => [...(outer.tools?.[row] ?? []), ...(inner.tools?.[row] ?? [])];
  const allow = inner.tools?.allow ?? outer.tools?.allow;
  return {
    ...outer,
    ...(present(inner) as Written),
    tools: { approve: both('approve'), deny: both('deny'), ...(allow === undefined ? {} : { allow }) },
    ...(outer.decisions === undefined || inner.decisions === undefined
      ? {}
      : { decisions: inner.decisions.filter((right) => outer.decisions?.includes(right)) }),
    ...present({
      untrusted: stricter(UNTRUSTED, outer.untrusted, inner.untrusted),
      approve_effects: union(outer.approve_effects, inner.approve_effects),
      approval_timeout: least(outer.approval_timeout, inner.approval_timeout),
    }),
    escalation: strictest(outer.escalation ?? {}, inner.escalation ?? {}),
    fail_closed: [...(outer.fail_closed ?? []), ...(inner.fail_closed ?? [])],
    outer,
  };
}

/** From loose to strict. */
const UNTRUSTED = ['off', 'ask', 'deny'] as const;
const CONSEQUENCES = ['tell', 'ask', 'fail'] as const;

function stricter<T>(order: readonly T[], one: T | undefined, other: T | undefined): T | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return order.indexOf(one) > order.indexOf(other) ? one : other;
}

function strictest(outer: Escalation, inner: Escalation): Escalation {
  const troubles = Object.keys({ ...outer, ...inner }) as (keyof Escalation)[];
  return Object.fromEntries(troubles.map((each) => [each, stricter(CONSEQUENCES, outer[each], inner[each])]));
}

type Escalation = NonNullable<BoundaryFields['escalation']>;

function union<T>(one: readonly T[] | undefined, other: readonly T[] | undefined): T[] | undefined {
  return one === undefined && other === undefined ? undefined : [...new Set([...(one ?? []), ...(other ?? [])])];
}

function least(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

type Permission = 'allow' | 'approve' | 'deny';

/** The first rule that decides. A denial comes before an approval, and the author's rules come before the profile's. */
function permissionOf(name: string, tool: Granted, given: Written, mode: GateMode): Permission {
  return writtenPermission(name, tool, given) ?? profilePermission(name, tool, given) ?? byEffect(tool, given, mode);
}

function writtenPermission(name: string, tool: Granted, given: Written): Permission | null {
  const { allow, approve, deny } = given.tools ?? {};
  const decides = given.decisions ?? DECISIONS;
  if (matches(deny, name) || !decides.includes('tools') || isWithheld(name, tool, given)) return 'deny';
  if (isHandover(tool) && !decides.includes('escalate')) return 'deny';
  if (tool.approval || matches(approve, name) || !decides.includes('arguments')) return 'approve';
  return matches(allow, name) ? 'allow' : null;
}

/** True where the boundary lists what the agent may read or write, and the tool is not in the list. */
function isWithheld(name: string, tool: Granted, given: Written): boolean {
  const { observations, state_writes: writes, outer } = given;
  if (outer !== undefined && isWithheld(name, tool, outer)) return true;
  if (onlyReads(effectOf(tool))) return observations !== undefined && !matches(observations, name);
  return writes !== undefined && (effectOf(tool) === 'write' || writesState(name)) && !matches(writes, name);
}

function profilePermission(name: string, tool: Granted, given: Written): Permission | null {
  const profile = given.profile === undefined ? null : PROFILES[given.profile];
  if (profile === null) return null;
  const fits = (row: Row): boolean => fitsRow(row, name, tool);
  const isNamed = ({ words, paid }: Row): boolean => words !== undefined || paid === true;
  if (profile.approval.some((row) => isNamed(row) && fits(row))) return 'approve';
  if (profile.allowed.some(fits)) return 'allow';
  return profile.approval.some(fits) ? 'approve' : null;
}

function byEffect(tool: Granted, given: Written, mode: GateMode): Permission {
  const effect = effectOf(tool);
  if (isHandover(tool) && effect === 'write') return 'allow';
  return approvedEffects(given, mode).includes(effect) ? 'approve' : 'allow';
}

function approvedEffects(given: Written, mode: GateMode): readonly Effect[] {
  return given.approve_effects ?? (mode === 'eligible' ? MUTATING : []);
}

function effectOf({ def }: Granted): Effect {
  return def?.effect ?? 'write';
}

/** True where every condition of the row holds. */
function fitsRow({ effects, categories, words, paid }: Row, name: string, { def, cost }: Granted): boolean {
  if (effects !== undefined && !effects.includes(def?.effect ?? 'write')) return false;
  if (categories !== undefined && !categories.includes(def?.category ?? '')) return false;
  if (words !== undefined && !speaksOf(name, words)) return false;
  return paid !== true || cost > 0;
}

/** True for tools that pass the task to a person. They need no approval, but the agent must have the right to escalate. */
function isHandover({ def }: Granted): boolean {
  return def?.category === 'review';
}

/** True for tools that write the state of this run or of later runs. */
function writesState(name: string): boolean {
  return name === 'session_context_write' || /^memory[._]/.test(name);
}

type Decision = (typeof DECISIONS)[number];

export function mayDecide(
  { boundary, agentBoundaries }: Pick<Definitions, 'boundary' | 'agentBoundaries'>,
  agent: string,
  right: Decision,
): boolean {
  const own = Object.hasOwn(agentBoundaries, agent) ? agentBoundaries[agent] : undefined;
  return [boundary, own].every((each) => each?.decisions === undefined || each.decisions.includes(right));
}

/** An agent may ask a person only if it has both the right to clarify and the right to escalate. */
export function mayAsk(definitions: Definitions, agent: string): boolean {
  return mayDecide(definitions, agent, 'clarify') && mayDecide(definitions, agent, 'escalate');
}

/** The error for an agent that should plan without the right to. */
export function planDenied(agent: string): { readonly message: string; readonly help: string } {
  return {
    message: `\`${agent}\` makes the plan here, and its boundary does not grant the decision \`plan\``,
    help: 'Add `plan` to `decisions` of the boundary, or do without a plan.',
  };
}
