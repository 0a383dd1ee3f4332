/**
 * The autonomy boundary of an agent: the author's rules, then the rules of the profile, then the defaults. It sorts every tool
 * of the agent into allowed, needs approval, or denied. The result is part of the compiled flow.
 */
import { RISKY, onlyReads } from '@sluice-internal/kernel/ir';
import type { BoundaryDef, Consequence, ToolDef } from '@sluice-internal/kernel/ir';
import { isRecord, present } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { MUTATING, PROFILES, builtinTool, speaksOf } from '@sluice-internal/kernel/catalog';
import type { Effect, Row } from '@sluice-internal/kernel/catalog';
import { matches } from './names.ts';
import { DECISIONS, type Boundary, type BoundaryFields } from './schema/bounds.ts';
import type { Definitions } from './definitions.ts';

export interface Granted {
  readonly def: ToolDef | undefined;
  readonly cost: number;
  /** The tool's definition requires approval, or does without it where only the effect is a reason. */
  readonly approval?: 'always' | 'never';
  /** The tool that undoes a call. */
  readonly undo?: Granted & { readonly name: string };
}

/** The tools with all that decides about their calls. */
export function grantsOf(
  names: readonly string[],
  toolDef: (name: string) => ToolDef | undefined,
  { toolCosts, toolApprovals, toolsUnasked }: Pick<Definitions, 'toolCosts' | 'toolApprovals' | 'toolsUnasked'>,
): { readonly [name: string]: Granted } {
  const granted = (name: string): Granted => ({
    def: toolDef(name),
    cost: toolCosts[name] ?? 0,
    ...(toolApprovals.has(name) ? { approval: 'always' } : toolsUnasked.has(name) ? { approval: 'never' } : {}),
  });
  return Object.fromEntries(
    names.map((name) => {
      const tool = granted(name);
      const undo = tool.def?.compensate ?? null;
      return [name, undo === null ? tool : { ...tool, undo: { ...granted(undo), name: undo } }];
    }),
  );
}

/** `eligible`: tools that change something need approval by default. `granted`: those of a risky class that the document declares. */
export type GateMode = 'eligible' | 'granted';

/** `written`: the boundary of the document, then that of the agent. The stricter one counts. A default counts only if neither sets the field. */
export function boundaryOf(
  written: readonly (Boundary | undefined)[],
  tools: { readonly [name: string]: Granted },
  mode: GateMode,
  version: (content: Json) => string,
): BoundaryDef {
  const levels = written.filter((each) => each !== undefined);
  const innermost = <Field extends keyof BoundaryFields>(field: Field): BoundaryFields[Field] | undefined =>
    levels.findLast((each) => each[field] !== undefined)?.[field];
  const verdicts = Object.entries(tools).map(([name, tool]) => [name, verdictOn(name, tool, levels, mode)] as const);
  const byPermission = (wanted: Permission): readonly string[] =>
    verdicts.flatMap(([name, { permission }]) => (permission === wanted ? [name] : []));
  const content = {
    profile: innermost('profile') ?? null,
    observations: innermost('observations') ?? null,
    stateWrites: innermost('state_writes') ?? null,
    decisions: (innermost('decisions') ?? DECISIONS).filter((right) => levels.every((each) => decides(each, right))),
    tools: { allow: byPermission('allow'), approve: byPermission('approve'), deny: byPermission('deny') },
    rules: Object.fromEntries(verdicts.map(([name, { rule }]) => [name, rule])),
    untrusted:
      levels.map(({ untrusted }) => untrusted).reduce((one, other) => stricter(UNTRUSTED, one, other), undefined) ??
      'ask',
    ...untrustedInput(levels),
    ...consequences(levels, mode),
    approvalTimeoutMs: approvalTimeoutMs(...levels),
    ...(levels.some(({ escalation }) => escalation?.people === false) ? ({ people: false } as const) : {}),
  } as const;
  return { version: innermost('version') ?? version(content as unknown as Json), ...content };
}

/** Null if a question about a call stays open. The shortest time of the boundaries counts. */
export function approvalTimeoutMs(
  ...boundaries: readonly (Pick<Boundary, 'approval_timeout'> | undefined)[]
): number | null {
  const seconds = boundaries.flatMap((each) => each?.approval_timeout ?? []);
  return seconds.length === 0 ? null : Math.ceil(Math.min(...seconds) * 1000);
}

/** Fields of the input that any boundary names. False, or an empty list, is the same as nothing. */
function untrustedInput(levels: Levels): Pick<BoundaryDef, 'untrustedInput'> {
  const given = levels.map((each) => each.untrusted_input ?? false);
  if (given.includes(true)) return { untrustedInput: true };
  const fields = new Set(given.flatMap((each) => (typeof each === 'boolean' ? [] : each)));
  return fields.size > 0 ? { untrustedInput: [...fields] } : {};
}

function consequences(levels: Levels, mode: GateMode): Pick<BoundaryDef, 'escalation' | 'failClosed'> {
  // An agent that the author has granted its tools may correct an invalid call.
  const lenient: { [trouble: string]: Consequence } = mode === 'granted' ? { malformed: 'tell' } : {};
  const profiles = [...new Set(levels.flatMap(({ profile }) => (profile === undefined ? [] : [PROFILES[profile]])))];
  const conditions = profiles.flatMap(({ failClosed }) =>
    failClosed.flatMap((each) => ('when' in each ? [{ what: each.what, when: each.when, code: each.code }] : [])),
  );
  return {
    escalation: { ...lenient, ...levels.map(escalationOf).reduce(strictest, {}) },
    failClosed: [...conditions, ...levels.flatMap((each) => each.fail_closed ?? [])],
  };
}

/** The author's rules come before the profile's. */
export function escalationOf({ profile, escalation = {} }: Boundary): Escalation {
  const { people: _, ...own } = escalation;
  return { ...(profile === undefined ? {} : PROFILES[profile].escalation), ...present(own) };
}

type Levels = readonly Boundary[];

/** From loose to strict. */
export const UNTRUSTED = ['off', 'ask', 'deny'] as const;
export const CONSEQUENCES = ['tell', 'ask', 'fail'] as const;
const PERMISSIONS = ['allow', 'approve', 'deny'] as const;

export function stricter<T>(order: readonly T[], one: T | undefined, other: T | undefined): T | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return order.indexOf(one) > order.indexOf(other) ? one : other;
}

export function stricterConsequence(
  one: Consequence | undefined,
  other: Consequence | undefined,
): Consequence | undefined {
  return stricter(CONSEQUENCES, one, other);
}

function strictest(outer: Escalation, inner: Escalation): Escalation {
  const stricterOnes = Object.entries(inner).map(([trouble, own]) => [
    trouble,
    stricterConsequence(outer[trouble], own) ?? own,
  ]);
  return { ...outer, ...Object.fromEntries(stricterOnes) };
}

type Escalation = { readonly [trouble: string]: Consequence };

type Permission = (typeof PERMISSIONS)[number];

/** The permission of a tool, and the rule that gives it: a key of the document, or the effect of the tool. */
interface Verdict {
  readonly permission: Permission;
  readonly rule: string;
}

/** The strictest permission of the boundaries, otherwise the default of the tool's effect. */
function verdictOn(name: string, tool: Granted, levels: Levels, mode: GateMode): Verdict {
  const own = ownVerdict(name, tool, levels, mode);
  const { undo } = tool;
  // A failed run undoes its calls without asking. So a person decides before a call whose undo is more dangerous.
  const isWorse = undo !== undefined && RISKY.has(effectOf(undo)) && !RISKY.has(effectOf(tool));
  if (own.permission !== 'allow' || !isWorse) return own;
  const ofUndo = ownVerdict(undo.name, undo, levels, mode);
  return ofUndo.permission === 'allow' ? own : { permission: 'approve', rule: `the undo ${undo.name}` };
}

function ownVerdict(name: string, tool: Granted, levels: Levels, mode: GateMode): Verdict {
  const given = levels.map((each) => verdictAt(name, tool, each)).reduce(stricterVerdict, undefined);
  if (tool.approval === 'always' && given?.permission !== 'deny')
    return { permission: 'approve', rule: 'approval: always' };
  if (given !== undefined) return given;
  if (tool.approval === 'never') return { permission: 'allow', rule: 'approval: never' };
  return { permission: byEffect(tool, defaultEffects(name, tool, mode)), rule: `${effectOf(tool)} calls of agents` };
}

function stricterVerdict(one: Verdict | undefined, other: Verdict | undefined): Verdict | undefined {
  return stricter(PERMISSIONS, one?.permission, other?.permission) === one?.permission ? (one ?? other) : other;
}

export function permissionAt(name: string, tool: Granted, level: Boundary): Permission | undefined {
  return verdictAt(name, tool, level)?.permission;
}

/** The first rule that decides. A denial comes before an approval, and the author's rules come before the profile's. */
function verdictAt(name: string, tool: Granted, level: Boundary): Verdict | undefined {
  const effects = level.approve_effects;
  return (
    writtenVerdict(name, tool, level) ??
    stricterVerdict(profileVerdict(name, tool, level), effects && listedVerdict(tool, effects))
  );
}

/** A list of effects decides about the classes that it could have named; a risky class that it leaves out keeps its default. */
function listedVerdict(tool: Granted, effects: readonly Effect[]): Verdict | undefined {
  const permission = byEffect(tool, effects);
  if (permission === 'allow' && RISKY.has(effectOf(tool))) return undefined;
  return { permission, rule: 'boundary.approve_effects' };
}

function writtenVerdict(name: string, tool: Granted, level: Boundary): Verdict | undefined {
  const { allow, approve, deny } = level.tools ?? {};
  const by = (permission: Permission, key: string): Verdict => ({ permission, rule: `boundary.${key}` });
  if (matches(deny, ...namesOf(name, tool))) return by('deny', 'tools.deny');
  if (!decides(level, 'tools')) return by('deny', 'decisions');
  if (isWithheld(name, tool, level)) return by('deny', onlyReads(effectOf(tool)) ? 'observations' : 'state_writes');
  if (isHandover(tool) && !decides(level, 'escalate')) return by('deny', 'decisions');
  if (matches(approve, ...namesOf(name, tool))) return by('approve', 'tools.approve');
  if (!decides(level, 'arguments')) return by('approve', 'decisions');
  return matches(allow, ...grantedNames(name, tool)) ? by('allow', 'tools.allow') : undefined;
}

/** True if the boundary has a list of readable or writable tools, and the tool is not in the list. */
export function isWithheld(name: string, tool: Granted, { observations, state_writes: writes }: Boundary): boolean {
  const names = grantedNames(name, tool);
  if (onlyReads(effectOf(tool))) return observations !== undefined && !matches(observations, ...names);
  return writes !== undefined && (effectOf(tool) === 'write' || writesState(name)) && !matches(writes, ...names);
}

/** The names by which a rule can deny a tool or ask about it. A tool of an MCP server has a name there, too. */
export function namesOf(name: string, { def }: Granted): readonly string[] {
  const { mcp = '' } = serverUse(def);
  const [, server, tool] = /^([^/]+)\/(.+)$/s.exec(mcp) ?? [];
  if (server === undefined || tool === undefined) return [name];
  const full = `${server}.${tool}`;
  // A tool with a name of the author's choice does not go by the bare name of the server.
  return name === full || name === tool ? [name, full, tool] : [name, full];
}

/** The names by which a rule can allow a tool. A server chooses bare names itself, so they count only if the document lists them. */
export function grantedNames(name: string, tool: Granted): readonly string[] {
  const names = namesOf(name, tool);
  return serverUse(tool.def).server?.tools?.includes(names.at(-1) ?? '') === true ? names : [name];
}

function serverUse(def: ToolDef | undefined) {
  const use = isRecord(def?.implementation) ? def.implementation : {};
  return use as { readonly mcp?: string; readonly server?: { readonly tools?: readonly string[] } };
}

function profileVerdict(name: string, tool: Granted, { profile: of }: Boundary): Verdict | undefined {
  if (of === undefined) return undefined;
  const permission = permissionOf(name, tool, of);
  return permission && { permission, rule: `profile ${of}` };
}

function permissionOf(name: string, tool: Granted, of: keyof typeof PROFILES): Permission | undefined {
  const { approval, allowed } = PROFILES[of];
  const fits = (row: Row): boolean => fitsRow(row, name, tool);
  const isNamed = ({ words, paid }: Row): boolean => words !== undefined || paid === true;
  if (approval.some((row) => isNamed(row) && fits(row))) return 'approve';
  if (allowed.some(fits) && isContained(tool)) return 'allow';
  return approval.some(fits) ? 'approve' : undefined;
}

function byEffect(tool: Granted, approved: readonly Effect[]): Permission {
  const effect = effectOf(tool);
  if (isHandover(tool) && effect === 'write') return 'allow';
  return approved.includes(effect) ? 'approve' : 'allow';
}

/** A team's author grants the printed plugins, and the writes of declared tools. */
function defaultEffects(name: string, { def }: Granted, mode: GateMode): readonly Effect[] {
  if (mode === 'eligible') return MUTATING;
  const isPrinted =
    isRecord(def?.implementation) && 'builtin' in def.implementation && def.effect === builtinTool(name)?.effect;
  return isPrinted ? [] : MUTATING.filter((effect) => RISKY.has(effect));
}

function effectOf({ def }: Granted): Effect {
  return def?.effect ?? 'write';
}

/** A profile lets only reads pass, and writes to the run's own files and sandbox or before people for review. */
function isContained(tool: Granted): boolean {
  const effect = effectOf(tool);
  return onlyReads(effect) || (effect === 'write' && CONTAINED.has(tool.def?.category ?? ''));
}
const CONTAINED: ReadonlySet<string> = new Set(['file_system', 'sandbox', 'review']);

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

function decides({ decisions }: Boundary, right: Decision): boolean {
  return decisions?.includes(right) ?? true;
}

export function mayDecide(
  { boundary, agentBoundaries }: Pick<Definitions, 'boundary' | 'agentBoundaries'>,
  agent: string,
  right: Decision,
): boolean {
  const own = Object.hasOwn(agentBoundaries, agent) ? agentBoundaries[agent] : undefined;
  return [boundary, own].every((each) => each === undefined || decides(each, right));
}

/** False if the boundary says that no person is asked about the work of the agent. */
export function hasPeople(
  { boundary, agentBoundaries }: Pick<Definitions, 'boundary' | 'agentBoundaries'>,
  agent: string,
): boolean {
  const own = Object.hasOwn(agentBoundaries, agent) ? agentBoundaries[agent] : undefined;
  return [boundary, own].every((each) => each?.escalation?.people !== false);
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
