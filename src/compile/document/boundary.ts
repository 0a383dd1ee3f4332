/**
 * The autonomy boundary of an agent, resolved: what the author wrote, over the profile it names, over what holds for
 * everybody. It says of every tool that the agent has whether it may call it, must ask, or must not; all of it is in the flow.
 */
import type { BoundaryDef, Consequence, ToolDef } from '../../ir/nodes.ts';
import type { Json } from '../../expr/json.ts';
import { DECISIONS } from './schema/bounds.ts';
import { MUTATING, PROFILES, speaksOf } from '../../catalog/profiles.ts';
import type { Row } from '../../catalog/profiles.ts';
import type { Boundary, BoundaryFields } from './schema/bounds.ts';
import type { Definitions } from './definitions.ts';

/** What can be refused on the way from a proposal to its result, each with a consequence. */
export const TROUBLES = ['unregistered', 'malformed', 'denied', 'rate', 'rejected', 'unverified'] as const;
export type Trouble = (typeof TROUBLES)[number];

/** Where nothing else is said: high-impact refusals end the run, all others are told to the agent. */
const CONSEQUENCES: { readonly [trouble in Trouble]: Consequence } = {
  unregistered: 'tell',
  malformed: 'fail',
  denied: 'tell',
  rate: 'tell',
  rejected: 'tell',
  unverified: 'tell',
};
const GRAVE: ReadonlySet<string> = new Set(['financial', 'infrastructure']);

export interface Granted {
  readonly def: ToolDef | undefined;
  readonly cost: number;
  /** The tool's own definition demands approval. */
  readonly approval: boolean;
}
/** `granted`: the author has authorised the tools, so nobody is asked before one is called unless something written says so. */
export type GateMode = 'eligible' | 'granted';

export function boundaryOf(
  written: readonly (Boundary | undefined)[],
  tools: { readonly [name: string]: Granted },
  mode: GateMode,
  version: (content: Json) => string,
): BoundaryDef {
  const given = written.reduce<Written>((all, each) => (each === undefined ? all : narrowed(all, each)), {});
  const profile = given.profile === undefined ? null : PROFILES[given.profile];
  const row = (name: string): 'allow' | 'approve' | 'deny' => rowOf(name, tools[name] as Granted, given, mode);
  const names = Object.keys(tools);
  // Whom the author has given the tools is told what is wrong with a call, as often as it takes.
  const lenient: { [trouble: string]: Consequence } = mode === 'granted' ? { malformed: 'tell' } : {};
  const escalation = { ...lenient, ...profile?.escalation, ...clean(given.escalation) };
  const content = {
    profile: given.profile ?? null,
    observations: given.observations ?? null,
    stateWrites: given.state_writes ?? null,
    decisions: given.decisions ?? [...DECISIONS],
    tools: {
      allow: names.filter((name) => row(name) === 'allow'),
      approve: names.filter((name) => row(name) === 'approve'),
      deny: names.filter((name) => row(name) === 'deny'),
    },
    approveEffects: given.approve_effects ?? (mode === 'eligible' ? MUTATING : []),
    untrusted: given.untrusted ?? (mode === 'eligible' ? 'ask' : 'off'),
    escalation,
    failClosed: [
      ...(profile?.failClosed ?? []).flatMap((each) =>
        'when' in each ? [{ what: each.what, when: each.when, code: each.code }] : [],
      ),
      ...(given.fail_closed ?? []),
    ],
    approvalTimeoutMs: given.approval_timeout === undefined ? null : Math.ceil(given.approval_timeout * 1000),
  } as const;
  return { version: given.version ?? version(content as unknown as Json), ...content };
}

/** What follows from a refusal: as the boundary says, else by how grave the effect is. */
export function consequenceOf(
  { escalation }: BoundaryDef,
  trouble: Trouble,
  effect: ToolDef['effect'] | null,
): Consequence {
  const said = Object.hasOwn(escalation, trouble) ? escalation[trouble] : undefined;
  if (said !== undefined) return said;
  if ((trouble === 'denied' || trouble === 'unverified') && effect !== null && GRAVE.has(effect)) return 'fail';
  return CONSEQUENCES[trouble];
}

type Written = Partial<BoundaryFields>;

/** The later one decides, but it cannot take back what the earlier one denies, withholds, asks about or fails closed on. */
function narrowed(outer: Written, inner: Written): Written {
  const both = (row: 'approve' | 'deny'): string[] => [...(outer.tools?.[row] ?? []), ...(inner.tools?.[row] ?? [])];
  const allow = inner.tools?.allow ?? outer.tools?.allow;
  const given = Object.fromEntries(Object.entries(inner).filter(([, value]) => value !== undefined)) as Written;
  return {
    ...outer,
    ...given,
    tools: { approve: both('approve'), deny: both('deny'), ...(allow === undefined ? {} : { allow }) },
    ...(outer.decisions === undefined || inner.decisions === undefined
      ? {}
      : { decisions: inner.decisions.filter((right) => outer.decisions?.includes(right)) }),
    escalation: { ...outer.escalation, ...inner.escalation },
    fail_closed: [...(outer.fail_closed ?? []), ...(inner.fail_closed ?? [])],
  };
}

/** Denied before asked about, asked about before allowed; what the author wrote before what the profile says. */
function rowOf(name: string, tool: Granted, given: Written, mode: GateMode): 'allow' | 'approve' | 'deny' {
  const effect = tool.def?.effect ?? 'write';
  const { allow, approve, deny } = given.tools ?? {};
  const decides = given.decisions ?? DECISIONS;
  if (matches(deny, name) || !decides.includes('tools')) return 'deny';
  if (isHandover(tool) && !decides.includes('escalate')) return 'deny';
  if (given.observations !== undefined && effect === 'read' && !matches(given.observations, name)) return 'deny';
  if (given.state_writes !== undefined && effect !== 'read' && writesState(name) && !matches(given.state_writes, name))
    return 'deny';
  if (tool.approval || matches(approve, name) || !decides.includes('arguments')) return 'approve';
  if (matches(allow, name)) return 'allow';
  const profile = given.profile === undefined ? null : PROFILES[given.profile];
  const fits = (row: Row): boolean => fitsRow(row, name, tool);
  const named = profile?.approval.find((row) => (row.words !== undefined || row.paid === true) && fits(row));
  if (named !== undefined) return 'approve';
  if (profile?.allowed.some(fits) === true) return 'allow';
  if (profile?.approval.some(fits) === true) return 'approve';
  const classes = given.approve_effects ?? (mode === 'eligible' ? MUTATING : []);
  return classes.includes(effect) && !(isHandover(tool) && effect === 'write') ? 'approve' : 'allow';
}

/** Every condition that the row has must hold. */
function fitsRow({ effects, categories, words, paid }: Row, name: string, { def, cost }: Granted): boolean {
  if (effects !== undefined && !effects.includes(def?.effect ?? 'write')) return false;
  if (categories !== undefined && !categories.includes(def?.category ?? '')) return false;
  if (words !== undefined && !speaksOf(name, words)) return false;
  return paid !== true || cost > 0;
}

/** Whether a call hands the matter to somebody else: nobody has to be asked before, but the agent must be free to. */
function isHandover({ def }: Granted): boolean {
  return def?.category === 'review';
}

/** Tools that write what the run or later runs go by. */
function writesState(name: string): boolean {
  return name === 'session_context_write' || /^memory[._]/.test(name);
}

/** `*` stands for any text. */
export function matches(patterns: readonly string[] | undefined, name: string): boolean {
  return (patterns ?? []).some((pattern) => {
    const parts = pattern.toLowerCase().split('*');
    return new RegExp(`^${parts.map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&')).join('.*')}$`).test(
      name.toLowerCase(),
    );
  });
}

function clean(escalation: { readonly [trouble: string]: Consequence | undefined } | undefined): {
  [trouble: string]: Consequence;
} {
  return Object.fromEntries(
    Object.entries(escalation ?? {}).filter((entry): entry is [string, Consequence] => entry[1] !== undefined),
  );
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

/** To put a question before somebody, an agent must be granted both to ask and to hand the matter over. */
export function mayAsk(definitions: Definitions, agent: string): boolean {
  return mayDecide(definitions, agent, 'clarify') && mayDecide(definitions, agent, 'escalate');
}

/** What is said to whoever gives an agent a part that it may not play. */
export function planDenied(agent: string): { readonly message: string; readonly help: string } {
  return {
    message: `\`${agent}\` makes the plan here, and its boundary does not grant the decision \`plan\``,
    help: 'Add `plan` to `decisions` of the boundary, or do without a plan.',
  };
}
