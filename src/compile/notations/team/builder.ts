/**
 * A team in TypeScript: the document that YAML would give, with its names checked while it is written. A route to an agent
 * that the team does not have is a type error, and so is a transition to a state that the machine does not have.
 */
import type * as z from 'zod';
import type { NamedServers, SharedSections, Written } from '../builder-types/sections.ts';
import type { terminationFields } from './schema/sections.ts';
import type { STRATEGIES } from './strategies/registry.ts';
import type { Strategy } from './strategies/strategy.ts';

export interface TeamAgent {
  readonly Name: string;
  readonly Instructions?: string;
  readonly Description?: string;
  readonly Model?: string | { readonly ModelId: string; readonly [field: string]: unknown };
  readonly Plugins?: readonly string[];
  readonly [field: string]: unknown;
}

export type TeamTermination = Written<z.input<z.ZodObject<ReturnType<typeof terminationFields>>>> & {
  readonly Strategies?: readonly TeamTermination[];
};

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
  | { readonly Type: 'statemachine'; readonly StateMachine: MachineOf<Agent, Place> }
  | { readonly Type: 'graph'; readonly Graph: GraphOf<Agent, Place> }
  | SelectionBy<Exclude<(typeof STRATEGIES)[number], { readonly type: 'statemachine' | 'graph' }>, Agent>;

type SelectionBy<Each, Agent> =
  Each extends Strategy<infer Type, infer Fields>
    ? { readonly Type: Type } & ([keyof Fields] extends [never]
        ? unknown
        : Needed<Written<z.input<z.ZodObject<Fields>>, Agent>>)
    : never;

/** The schema of `Selection` has the keys of all strategies, so all are optional there. The chosen strategy needs its own. */
type Needed<Fields> = Required<Omit<Fields, 'DefaultAgent' | 'Prompt'>> &
  Pick<Fields, keyof Fields & ('DefaultAgent' | 'Prompt')>;

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
