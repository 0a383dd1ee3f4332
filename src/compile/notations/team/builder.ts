/**
 * A team in TypeScript: the document that YAML would give, with its names checked while it is written. A route to an agent
 * that the team does not have is a type error, and so is a transition to a state that the machine does not have.
 */
import type { NamedServers, SharedSections } from '../builder-types/sections.ts';

export interface TeamAgent {
  readonly Name: string;
  readonly Instructions?: string;
  readonly Description?: string;
  readonly Model?: string | { readonly ModelId: string; readonly [field: string]: unknown };
  readonly Plugins?: readonly string[];
  readonly [field: string]: unknown;
}

export interface TeamTermination {
  readonly Type?: 'regex' | 'maxiterations' | 'composite';
  readonly Pattern?: string;
  readonly AgentNames?: readonly string[];
  readonly MaxIterations?: number;
  readonly Strategies?: readonly TeamTermination[];
  readonly [field: string]: unknown;
}

interface Rest {
  readonly [field: string]: unknown;
}
interface GraphOf<Agent extends string, Node extends string> extends Rest {
  readonly EntryNode?: NoInfer<Node>;
  readonly Nodes: readonly ({ readonly Id: Node; readonly Agent?: Agent } & Rest)[];
  readonly Edges: readonly ({ readonly From: NoInfer<Node>; readonly To: NoInfer<Node> } & Rest)[];
}
interface MachineOf<Agent extends string, State extends string> {
  readonly Initial: NoInfer<State>;
  readonly States: {
    readonly [name in State]: {
      readonly Agent: Agent;
      readonly Terminal?: boolean;
      readonly Transitions?: readonly ({
        readonly To: NoInfer<State>;
        readonly Targets?: readonly NoInfer<State>[];
        readonly SourceAgents?: readonly Agent[];
        readonly RecoveryAgent?: Agent;
      } & Rest)[];
    };
  };
}

/** The fields of each strategy. Names of agents are those of the team. */
export type TeamSelection<Agent extends string, Place extends string> =
  | { readonly Type: 'sequential' | 'roundrobin' }
  | {
      readonly Type: 'keyword';
      readonly DefaultAgent?: Agent;
      readonly Routes: readonly ({
        readonly Keyword: string;
        readonly Agent: Agent;
        readonly SourceAgents?: readonly Agent[];
        readonly RecoveryAgent?: Agent;
      } & Rest)[];
    }
  | {
      readonly Type: 'structured';
      readonly DefaultAgent?: Agent;
      readonly StructuredRoutes: readonly {
        readonly Agent: Agent;
        readonly SourceAgents?: readonly Agent[];
        readonly Condition: {
          readonly Field: string;
          readonly Is?: string;
          readonly IsNot?: string;
          readonly Contains?: string;
          readonly Exists?: boolean;
        };
      }[];
    }
  | { readonly Type: 'statemachine'; readonly StateMachine: MachineOf<Agent, Place> }
  | { readonly Type: 'graph'; readonly Graph: GraphOf<Agent, Place> }
  | {
      readonly Type: 'scattergather';
      readonly ScatterGather: {
        readonly Participants: readonly Agent[];
        readonly Synthesizer: Agent;
        readonly MaxConcurrency?: number;
      };
    }
  | {
      readonly Type: 'mapreduce';
      readonly MapReduce: { readonly Splitter: Agent; readonly Mapper: Agent; readonly Reducer: Agent } & Rest;
    }
  | { readonly Type: 'llm'; readonly Model: string | Rest; readonly Prompt?: string }
  | { readonly Type: 'magentic'; readonly Magentic: { readonly Model: string | Rest } & Rest }
  | {
      readonly Type: 'adversarial';
      readonly Adversarial: {
        readonly Stages: readonly { readonly Generator: Agent; readonly Critic: Agent; readonly Label?: string }[];
        readonly Rounds?: number;
        readonly PassKeyword?: string;
      };
    };

export interface TeamInput<Agents extends readonly TeamAgent[], Place extends string> extends Rest {
  readonly Name?: string;
  readonly Agents: Agents;
  readonly Selection?: TeamSelection<NoInfer<Agents[number]['Name']>, Place>;
  readonly Termination?: TeamTermination;
}

export interface TeamSections extends SharedSections {
  readonly tools?: { readonly [name: string]: unknown };
  readonly mcp?: NamedServers;
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
