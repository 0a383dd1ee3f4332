/**
 * A flow in TypeScript. It becomes the document that YAML would give, and the compiler checks its names while it is written:
 * nodes, agents, tools, templates and keys.
 */
import type * as z from 'zod';
import type {
  FlowSections,
  NamedAgent,
  NamedServers,
  NamedTools,
  Verified,
  Blank,
  OneOf,
  Trimmed,
  Written,
} from '@sluice-internal/compile/document';
import type { BuiltinToolName } from '@sluice-internal/kernel/catalog';
import type { flowSchema } from './schema.ts';

export interface FlowInput<Nodes, Entry extends string> {
  readonly id: string;
  readonly entry: Entry;
  readonly description?: string | null | undefined;
  readonly max_iterations?: number | undefined;
  readonly nodes: Nodes;
}

export interface FlowDocument extends FlowSections<readonly NamedAgent[], NamedTools> {
  readonly flow: FlowInput<readonly NodeInput[], string>;
}

export function flow<
  const Nodes extends readonly NodeInput[],
  const Agents extends readonly NamedAgent[] = readonly NamedAgent[],
  const Tools extends NamedTools = {},
  const Servers extends NamedServers = {},
>(
  definition: FlowInput<Verified<Nodes, CheckedNodes<Nodes, Agents, Tools, Servers>>, IdsOf<Nodes>>,
  sections: FlowSections<Agents, Tools, Servers> = {},
): FlowDocument {
  return { ...sections, flow: definition as FlowDocument['flow'] };
}

type IdsOf<Nodes extends readonly NodeInput[]> = Nodes[number]['id'];

/** The nodes again, each as it must be among the others. */
export type CheckedNodes<Nodes extends readonly NodeInput[], Agents, Tools, Servers> = {
  readonly [Index in keyof Nodes]: CheckedNode<
    Nodes[Index],
    IdsOf<Nodes>,
    OneOf<AgentId<Agents>, 'no agent is declared'>,
    ToolName<Tools, Servers>,
    LeftBehind<Nodes[number], Agents, Tools>
  >;
};

type CheckedNode<Node, Id extends string, Agent, Tool, Left> = Node extends {
  readonly type: infer Type extends NodeInput['type'];
}
  ? NodeOf<Type, Id, At<OwnFields<Node, Id, Agent, Tool, Left>, Type>>
  : NodeOf<'decision', Id>;
type At<Fields, Type> = Type extends keyof Fields ? Fields[Type] : unknown;

/** The fields of each type that name other nodes, agents or tools, or that contain templates. */
interface OwnFields<Node, Id extends string, Agent, Tool, Left> {
  readonly agent: { readonly agent: Agent; readonly input?: CheckedField<Node, 'input', Left> | undefined };
  readonly tool: { readonly tool: Tool; readonly params?: CheckedField<Node, 'params', Left> | undefined };
  readonly parallel: { readonly branches: CheckedBranches<Node, Id> };
  readonly approval: { readonly message: CheckedField<Node, 'message', Left> } & CheckedChoices<Node>;
  readonly terminal: { readonly output?: CheckedField<Node, 'output', Left> | undefined };
  readonly map: { readonly over: CheckedField<Node, 'over', Left>; readonly do: Id };
  readonly set: { readonly values: CheckedField<Node, 'values', Left> };
  readonly fail: { readonly message?: CheckedField<Node, 'message', Left> | undefined };
  readonly wait: { readonly on_timeout?: Id | 'end' | undefined };
  readonly flow: { readonly input?: CheckedField<Node, 'input', Left> | undefined };
}

type CheckedBranches<Node, Id> = Node extends { readonly branches: infer Branches }
  ? AtLeastTwo<Branches, RouteInput<Id>>
  : readonly RouteInput<Id>[];

type CheckedChoices<Node> = Node extends { readonly choices: infer Choices }
  ? { readonly choices?: AtLeastTwo<Choices, string> | undefined; readonly on_timeout?: ItemOf<Choices> | undefined }
  : { readonly choices?: readonly string[] | undefined; readonly on_timeout?: 'approve' | 'reject' | undefined };

type CheckedField<Node, Field extends string, Left> = Node extends { readonly [Name in Field]: infer Value }
  ? CheckedTemplates<Value, Left>
  : unknown;

/** Only of a literal is the length known. */
type AtLeastTwo<List, Item> = List extends readonly [] | readonly [unknown]
  ? readonly [Item, Item, ...Item[]]
  : readonly Item[];
type ItemOf<List> = List extends readonly (infer Item)[] ? Item : never;

type AgentId<Agents> = Agents extends readonly (infer Agent)[]
  ? Agent extends { readonly id: infer Id extends string }
    ? Id
    : Agent extends { readonly name: infer Name extends string }
      ? Name
      : string
  : string;

/** Any name where neither tools nor servers are given: they may be added to the document later. */
type ToolName<Tools, Servers> = [keyof Tools | keyof Servers] extends [never]
  ? string
  : (keyof Tools & string) | BuiltinToolName | ServerTool<Servers>;
type ServerTool<Servers> = `${keyof Servers & string}.${string}` | ListedTool<Servers[keyof Servers]>;
type ListedTool<Server> = Server extends { readonly tools: readonly (infer Name extends string)[] } ? Name : never;

type CheckedTemplates<Value, Left> = unknown extends Value
  ? Value
  : Value extends string
    ? OneOf<Fault<Value, Left>, Value>
    : Value extends object
      ? { readonly [Key in keyof Value]: CheckedTemplates<Value[Key], Left> }
      : Value;

/** A sentence for each hole that names nothing. A quote or a brace may hide the end of a hole, so there the reading stops. */
type Fault<Text extends string, Left, Found = never> = Text extends `${string}{{${infer Hole}}}${infer Rest}`
  ? Hole extends `${string}${'"' | "'" | '{'}${string}`
    ? Found | FaultIn<Trimmed<Hole>, Left>
    : Fault<Rest, Left, Found | FaultIn<Trimmed<Hole>, Left>>
  : Found;

type FaultIn<Hole extends string, Left> = Hole extends `${infer Root}.${infer Path}`
  ? Path extends Kept | `${Kept}${'.' | Odd}${string}`
    ? Root extends keyof Left
      ? Path extends `${string}${Odd}${string}`
        ? never
        : NoField<Path, Left[Root], Root>
      : Root extends 'event' | 'approvals' | 'error' | '' | `${string}${Odd}${string}` | `${Digit}${string}`
        ? never
        : `there is no node ${Root}: write ${keyof Left & string}`
    : never
  : never;

type NoField<Path extends string, Value, At extends string> = unknown extends Value
  ? never
  : Path extends `${infer Field}.${infer Rest}`
    ? Field extends keyof Value
      ? NoField<Rest, Value[Field], `${At}.${Field}`>
      : Missing<Field, Value, At>
    : Path extends keyof Value
      ? never
      : Missing<Path, Value, At>;
type Missing<Field extends string, Value, At extends string> = `there is no ${Field} in ${At}${OneOf<
  `: write ${keyof Value & string}`,
  ''
>}`;

type Kept = 'output' | 'result';
/** Characters that no identifier contains. */
type Odd = Blank | CharOf<'!"#$%&\'()*+,-/:;<=>?@[\\]^`{|}~'>;
type Digit = CharOf<'0123456789'>;
type CharOf<Text> = Text extends `${infer Char}${infer Rest}` ? Char | CharOf<Rest> : never;

type LeftBehind<Node extends { readonly id: string }, Agents, Tools> = string extends Node['id']
  ? { readonly [id: string]: unknown }
  : { readonly [Each in Node as Each['id']]: LeftBy<Each, Agents, Tools> };

type LeftBy<Node, Agents, Tools> = Node extends { readonly type: 'agent'; readonly agent: infer Id }
  ? { readonly output: OutputOf<AgentOf<Agents, Id>> }
  : Node extends { readonly type: 'tool'; readonly tool: infer Name }
    ? { readonly result: Name extends keyof Tools ? OutputOf<Tools[Name]> : unknown }
    : Node extends { readonly type: 'parallel'; readonly branches: readonly { readonly to: infer Head }[] }
      ? { readonly output: { readonly [Name in Head & string]: unknown } }
      : Node extends { readonly type: 'decision' }
        ? { readonly output: unknown }
        : Nothing;

/** Approvals and terminals have neither output nor result. */
type Nothing = { readonly [Field in never]: unknown };

type AgentOf<Agents, Id> = Agents extends readonly (infer Agent)[]
  ? Extract<Agent, { readonly id: Id } | { readonly id?: undefined; readonly name: Id }>
  : never;

type OutputOf<Definition> = [Definition] extends [{ readonly output: infer Schema }] ? FieldsOf<Schema> : unknown;

/** As the compiler reads it: an object with listed fields has no others, unless its schema allows more. */
type FieldsOf<Schema> = Schema extends {
  readonly type?: 'object' | undefined;
  readonly properties: infer Fields;
  readonly additionalProperties?: false | undefined;
}
  ? [keyof Schema & Opening] extends [never]
    ? { readonly [Name in keyof Fields]: FieldsOf<Fields[Name]> }
    : unknown
  : unknown;

/** Keywords beside which a list of properties does not say everything. */
type Opening =
  | '$ref'
  | '$dynamicRef'
  | 'allOf'
  | 'anyOf'
  | 'oneOf'
  | 'not'
  | 'if'
  | 'const'
  | 'enum'
  | 'patternProperties';

/** Every node as its schema takes it. A new node type needs no types here. */
type NodeInput = Written<z.input<typeof flowSchema>['nodes'][number]>;

interface RouteInput<To> {
  readonly when?: string | number | boolean | undefined;
  readonly default?: boolean | undefined;
  readonly to: To;
}

/** A node of one type that leads to the given ids, with fields that depend on the rest of the flow. */
type NodeOf<Type extends NodeInput['type'], Id, Own = unknown> = Omit<
  Extract<NodeInput, { readonly type: Type }>,
  'routes' | 'on_error' | 'on_exhausted' | keyof Own
> & {
  readonly routes?: readonly RouteInput<Id | 'end'>[] | undefined;
  readonly on_error?:
    | readonly {
        readonly match?: string | null | undefined;
        readonly default?: boolean | undefined;
        readonly to: Id | 'end';
      }[]
    | undefined;
  readonly on_exhausted?: Id | 'end' | undefined;
} & Own;
