/** Types that follow a flow from node to node: which ids there are, whom a node may name, where a route may lead. */

interface RouteInput {
  readonly when?: string | number | boolean;
  readonly to: string;
}
interface ErrorRouteInput {
  readonly match?: string;
  readonly default?: boolean;
  readonly to: string;
}
interface CommonInput {
  readonly id: string;
  readonly description?: string;
  readonly routes?: readonly RouteInput[];
  readonly on_error?: readonly ErrorRouteInput[];
}
type Values = { readonly [field: string]: unknown };

export type NodeInput =
  | (CommonInput & { readonly type: 'agent'; readonly agent: string; readonly input?: Values })
  | (CommonInput & { readonly type: 'tool'; readonly tool: string; readonly params?: Values })
  | (CommonInput & {
      readonly type: 'parallel';
      readonly branches: readonly [RouteInput, RouteInput, ...RouteInput[]];
      readonly join?: {
        readonly type?: 'all' | 'any' | 'first' | 'count';
        readonly count?: number;
        readonly timeout?: number;
      };
    })
  | (CommonInput & {
      readonly type: 'approval';
      readonly message: string;
      readonly choices?: readonly [string, string, ...string[]];
      readonly timeout?: number;
      readonly on_timeout?: string;
    })
  | (CommonInput & { readonly type: 'decision'; readonly expr: string })
  | (CommonInput & { readonly type: 'terminal'; readonly output?: unknown });

export type IdsOf<Nodes extends readonly { readonly id: string }[]> = Nodes[number]['id'];

/** The nodes again, each as it must be among the others. */
export type CheckedNodes<Nodes extends readonly NodeInput[], Agents, Tools> = {
  readonly [Index in keyof Nodes]: Nodes[Index] & Checked<Nodes[Index], IdsOf<Nodes>, Agents, Tools>;
};

type Checked<Node, Ids extends string, Agents, Tools> = CheckedTargets<Node, Ids> &
  CheckedName<Node, 'agent', AgentId<Agents>> &
  CheckedName<Node, 'tool', ToolName<Tools>> &
  CheckedTemplates<Node, Ids> &
  CheckedExpiry<Node>;

type CheckedTargets<Node, Ids extends string> = {
  readonly [Field in keyof Node & ('routes' | 'branches' | 'on_error')]: readonly ((Field extends 'on_error'
    ? ErrorRouteInput
    : RouteInput) & { readonly to: Ids | 'end' })[];
};

type CheckedName<Node, Field extends string, Known> = { readonly [Name in keyof Node & Field]: Known };
type AgentId<Agents> = Agents extends readonly (infer Agent)[]
  ? Agent extends { readonly id: infer Id extends string }
    ? Id
    : Agent extends { readonly name: infer Name extends string }
      ? Name
      : string
  : string;
/** A tool of an MCP server is not in the list, so that with servers any name may be one. */
type ToolName<Tools> = string extends keyof Tools ? string : keyof Tools & string;

type CheckedExpiry<Node> = Node extends { readonly choices: readonly (infer Choice)[]; readonly on_timeout: string }
  ? { readonly on_timeout: Choice }
  : unknown;

/** A template that is nothing but `{{node.output…}}` or `{{node.result…}}` must name a node. */
type CheckedTemplates<Node, Ids extends string> = {
  readonly [Field in keyof Node & ('input' | 'params' | 'output' | 'message')]: CheckedValue<Node[Field], Ids>;
};
type CheckedValue<Value, Ids extends string> = Value extends string
  ? CheckedText<Value, Ids>
  : Value extends object
    ? { readonly [Key in keyof Value]: CheckedValue<Value[Key], Ids> }
    : Value;
type CheckedText<Text extends string, Ids extends string> =
  Stranger<Text, Ids> extends never ? Text : `there is no node ${Stranger<Text, Ids>}`;
type Stranger<
  Text extends string,
  Ids extends string,
  Found extends string = never,
> = Text extends `${string}{{${infer Inner}}}${infer Rest}`
  ? Stranger<Rest, Ids, Found | NodeOf<Trim<Inner>, Ids>>
  : Found;
type NodeOf<Path extends string, Ids extends string> = Path extends `${infer Root}.${'output' | 'result'}${string}`
  ? Root extends Ids | `${string}${' ' | '(' | '"' | "'" | '.'}${string}`
    ? never
    : Root
  : never;
type Trim<Text extends string> = Text extends ` ${infer Rest}`
  ? Trim<Rest>
  : Text extends `${infer Rest} `
    ? Trim<Rest>
    : Text;
