/**
 * A team in TypeScript. It becomes the document that YAML would give, and the compiler checks its agents and states while it
 * is written.
 */
import type * as z from 'zod';
import type { NamedServers, Needed, SharedSections, Written } from '@sluice-internal/compile/document';
import type { terminationFields } from './schema/sections.ts';
import type { GraphEdgeFields, GraphNodeFields } from './strategies/graph/model.ts';
import type { mapReduceSchema } from './strategies/mapreduce.ts';
import type { STRATEGIES } from './strategies/registry.ts';
import type { scatterGatherSchema } from './strategies/scattergather.ts';
import type { TransitionFields } from './strategies/statemachine.ts';
import type { Strategy } from './strategies/strategy.ts';

export interface TeamAgent {
  readonly Name: string;
  readonly Instructions?: string | undefined;
  readonly Description?: string | undefined;
  readonly Model?: string | { readonly ModelId: string; readonly [field: string]: unknown } | undefined;
  readonly Plugins?: readonly string[] | undefined;
  readonly [field: string]: unknown;
}

export type TeamTermination = Written<z.input<z.ZodObject<ReturnType<typeof terminationFields>>>> & {
  readonly Strategies?: readonly TeamTermination[] | undefined;
};

interface Rest {
  readonly [field: string]: unknown;
}
type NodeOf<Agent, Node> = Omit<Written<GraphNodeFields>, 'Id' | 'Agent'> & {
  readonly Id: Node;
  readonly Agent?: Agent | undefined;
};
type EdgeOf<Agent, Node> = Omit<Written<GraphEdgeFields>, 'From' | 'To' | 'SourceAgents'> & {
  readonly From: NoInfer<Node>;
  readonly To: NoInfer<Node>;
  readonly SourceAgents?: readonly Agent[] | undefined;
};
interface GraphOf<Agent extends string, Node extends string> {
  readonly EntryNode?: NoInfer<Node> | undefined;
  readonly Nodes: readonly NodeOf<Agent, Node>[];
  readonly Edges: readonly EdgeOf<Agent, Node>[];
  readonly MaxRetries?: number | undefined;
  readonly SubGraphs?: { readonly [id: string]: SubGraphOf<Agent> } | undefined;
}
interface SubGraphOf<Agent extends string> {
  readonly Graph?: GraphOf<Agent, string> | undefined;
  readonly MapReduce?: Written<z.input<typeof mapReduceSchema>, Agent> | undefined;
  readonly ScatterGather?: Written<z.input<typeof scatterGatherSchema>, Agent> | undefined;
}
type TransitionOf<Agent, State> = Omit<
  Written<TransitionFields>,
  'To' | 'Targets' | 'SourceAgents' | 'RecoveryAgent'
> & {
  readonly To: NoInfer<State>;
  readonly Targets?: readonly NoInfer<State>[] | undefined;
  readonly SourceAgents?: readonly Agent[] | undefined;
  readonly RecoveryAgent?: Agent | undefined;
};
interface MachineOf<Agent extends string, State extends string> {
  readonly Initial: NoInfer<State>;
  readonly States: {
    readonly [name in State]: {
      readonly Agent: Agent;
      readonly Terminal?: boolean | undefined;
      readonly Transitions?: readonly TransitionOf<Agent, State>[] | undefined;
    };
  };
}

/** The fields of each strategy. Names of agents are those of the team. */
export type TeamSelection<Agent extends string, Place extends string> =
  | { readonly Type: 'statemachine'; readonly StateMachine: MachineOf<Agent, Place> }
  | { readonly Type: 'graph'; readonly Graph: GraphOf<Agent, Place> }
  | SelectionBy<Exclude<(typeof STRATEGIES)[number], { readonly type: 'statemachine' | 'graph' }>, Agent>;

type SelectionBy<Each, Agent> =
  Each extends Strategy<infer Type, infer Fields>
    ? { readonly Type: Type } & ([keyof Fields] extends [never]
        ? unknown
        : OwnKeys<Written<z.input<z.ZodObject<Fields>>, Agent>>)
    : never;

/** The schema of `Selection` has the keys of all strategies, so all are optional there. The chosen strategy needs its own. */
type OwnKeys<Fields> = Needed<Omit<Fields, 'DefaultAgent' | 'OnNoKeyword' | 'Prompt'>> &
  Pick<Fields, keyof Fields & ('DefaultAgent' | 'OnNoKeyword' | 'Prompt')>;

export interface TeamInput<Agents extends readonly TeamAgent[], Place extends string> extends Rest {
  readonly Name?: string | undefined;
  readonly Agents: Agents;
  readonly Selection?: TeamSelection<NoInfer<Agents[number]['Name']>, Place> | undefined;
  readonly Termination?: TeamTermination | undefined;
}

export interface TeamSections extends SharedSections {
  readonly tools?: { readonly [name: string]: unknown } | undefined;
  readonly mcp?: NamedServers | undefined;
}

export interface TeamDocument extends TeamSections {
  readonly Orchestration: TeamInput<readonly TeamAgent[], string>;
}

export function team<const Agents extends readonly TeamAgent[], const Place extends string = string>(
  definition: TeamInput<Agents, Place>,
  sections: TeamSections = {},
): TeamDocument {
  return { ...sections, Orchestration: definition };
}
