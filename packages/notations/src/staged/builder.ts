/**
 * The typed builder of a staged flow. It returns the same document as YAML. An unknown agent is a type error, and so is work
 * that does not belong to the topology.
 */
import type { FlowSections, Ids, NamedAgent, NamedTools, Needed, Written } from '@sluice-internal/compile/document';
import type { StagedInput, Topology, WORK_KEYS, WorkKey } from './schema.ts';

type Fields<Id, Tool = string> = Written<StagedInput, Id, Tool>;

/** A condition on the result: an expression, a tool that reads, or citations of retrieved documents. */
type Invariant<Tool> =
  | { readonly when: string; readonly reason: string }
  | { readonly tool: Tool; readonly reason?: string | undefined }
  | { readonly cites: number; readonly reason?: string | undefined };

interface Teams<Id> {
  readonly teams: readonly { readonly id: string; readonly staged: StagedFields<Id> & StagedWork<Id> }[];
}
interface Workers<Id> {
  readonly workers: ({ readonly agent: Id } | { readonly agents: readonly Id[] }) &
    Omit<NonNullable<Fields<Id>['workers']>, 'agent' | 'agents'>;
}
type Planned<Id> = Needed<Pick<Fields<Id>, 'plan'>>;

/** The topology and its work. */
export type StagedWork<Id> =
  | ({ readonly topology?: 'supervisor' | undefined } & Planned<Id> & Workers<Id>)
  | ({ readonly topology?: 'hierarchical' | undefined } & Planned<Id> & Teams<Id>)
  | {
      [Name in Exclude<Topology, 'supervisor' | 'hierarchical'>]: { readonly topology?: Name | undefined } & Pick<
        Fields<Id>,
        'plan'
      > &
        Needed<Pick<Fields<Id>, (typeof WORK_KEYS)[Name]>>;
    }[Exclude<Topology, 'supervisor' | 'hierarchical'>];

export type StagedFields<Id, Tool = string> = Omit<Fields<Id>, 'plan' | 'topology' | 'validate' | WorkKey> & {
  readonly validate?:
    | (Omit<NonNullable<Fields<Id>['validate']>, 'invariants'> & {
        readonly invariants?: readonly Invariant<Tool>[] | undefined;
      })
    | undefined;
};

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
