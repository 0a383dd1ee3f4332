/**
 * The typed builder of a staged flow. It returns the same document as YAML. An unknown agent is a type error, and so is work
 * that does not belong to the topology.
 */
import type { FlowSections } from '../flow/builder/builder.ts';
import type { Ids, NamedAgent, NamedTools } from '../builder-types/sections.ts';

type Fields = { readonly [field: string]: unknown };
interface Rule {
  readonly when: string;
  readonly reason: string;
}

/** A condition on the result: an expression, a tool that reads, or citations of retrieved documents. */
type Invariant<Tool> =
  | Rule
  | { readonly tool: Tool; readonly reason?: string }
  | { readonly cites: number; readonly reason?: string };

/** The keys of every stage. */
interface StageFields {
  readonly input?: Fields;
  readonly output?: Fields;
  readonly budget?: { readonly [dimension: string]: number };
  readonly timeout?: number;
  readonly requires?: readonly string[];
  readonly guards?: readonly Rule[];
  readonly safe_fallback?: string;
  readonly protections?: Fields;
  readonly approvers?: Fields;
}

type PlanFields<Id> = { readonly agent: Id; readonly critic?: Id } & StageFields;

interface Supervisor<Id> {
  readonly topology?: 'supervisor';
  readonly plan: PlanFields<Id>;
  readonly workers: ({ readonly agent: Id } | { readonly agents: readonly Id[] }) & {
    readonly max?: number;
  } & StageFields;
}
interface Hierarchical<Id> {
  readonly topology?: 'hierarchical';
  readonly plan: PlanFields<Id>;
  readonly teams: readonly { readonly id: string; readonly staged: StagedFields<Id> & StagedWork<Id> }[];
}
interface Planned<Id> {
  readonly plan?: PlanFields<Id>;
}
interface Handoff<Id> extends Planned<Id> {
  readonly topology?: 'handoff';
  readonly peers: { readonly agents: readonly Id[]; readonly start?: Id } & StageFields;
}
interface Debate<Id> extends Planned<Id> {
  readonly topology?: 'debate';
  readonly debate: { readonly agents: readonly Id[]; readonly rounds?: number; readonly judge?: Id } & StageFields;
}
interface Sop<Id> extends Planned<Id> {
  readonly topology?: 'sop';
  readonly sop: readonly ({ readonly id: string; readonly agent: Id } & StageFields)[];
}
interface Blackboard<Id> extends Planned<Id> {
  readonly topology?: 'blackboard';
  readonly board: { readonly agents: readonly Id[]; readonly rounds?: number } & StageFields;
}
interface Swarm<Id> extends Planned<Id> {
  readonly topology?: 'swarm';
  readonly swarm: { readonly agent: Id; readonly depth?: number; readonly max?: number } & StageFields;
}

/** The topology and its work. */
export type StagedWork<Id> =
  | Supervisor<Id>
  | Hierarchical<Id>
  | Handoff<Id>
  | Debate<Id>
  | Sop<Id>
  | Blackboard<Id>
  | Swarm<Id>;

export interface StagedFields<Id, Tool = string> {
  readonly id?: string;
  readonly description?: string;
  readonly tier?: 'interactive' | 'batch' | 'regulated';
  readonly aggregate?: { readonly agent?: Id } & StageFields;
  readonly validate?: {
    readonly agent?: Id;
    readonly confidence?: number;
    readonly invariants?: readonly Invariant<Tool>[];
    readonly review?: boolean;
  } & StageFields;
  readonly finalize?: { readonly agent?: Id } & StageFields;
  readonly replans?: number;
  readonly oracle?: readonly Rule[];
}

export interface StagedDocument extends FlowSections<readonly NamedAgent[], NamedTools> {
  readonly staged: StagedFields<string> & StagedWork<string>;
}

/**
 * @example
 * staged(
 *   { plan: { agent: 'planner' }, workers: { agent: 'researcher' }, validate: { agent: 'critic' } },
 *   { agents: [{ id: 'planner' }, { id: 'researcher' }, { id: 'critic' }] },
 * )
 */
export function staged<const Agents extends readonly NamedAgent[], const Given extends NamedTools = NamedTools>(
  definition: StagedFields<Ids<Agents>> & StagedWork<Ids<Agents>>,
  sections: FlowSections<Agents, Given> = {},
): StagedDocument {
  return { ...sections, staged: definition };
}
