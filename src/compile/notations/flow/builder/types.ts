/** Types that follow a flow from node to node: which ids there are, whom a node may name, where a route may lead. */
import type { BuiltinToolName } from '../../../../catalog/builtin-tools.ts';
import type { LeftBehind } from './left.ts';
import type {
  AgentNode,
  ApprovalNode,
  Branch,
  DecisionNode,
  NodeInput,
  ParallelNode,
  TerminalNode,
  ToolNode,
} from './nodes.ts';
import type { CheckedTemplates } from './templates.ts';
import type { OneOf } from '../../builder-types/verified.ts';

export type IdsOf<Nodes extends readonly NodeInput[]> = Nodes[number]['id'];

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

type CheckedNode<Node, Id extends string, Agent, Tool, Left> = Node extends { readonly type: 'agent' }
  ? AgentNode<Id, Agent, CheckedField<Node, 'input', Left>>
  : Node extends { readonly type: 'tool' }
    ? ToolNode<Id, Tool, CheckedField<Node, 'params', Left>>
    : Node extends { readonly type: 'parallel'; readonly branches: infer Branches }
      ? ParallelNode<Id, AtLeastTwo<Branches, Branch<Id>>>
      : Node extends { readonly type: 'approval' }
        ? CheckedApproval<Node, Id, Left>
        : Node extends { readonly type: 'terminal' }
          ? TerminalNode<Id, CheckedField<Node, 'output', Left>>
          : DecisionNode<Id>;

type CheckedApproval<Node, Id extends string, Left> = Node extends { readonly choices: infer Choices }
  ? ApprovalNode<Id, CheckedField<Node, 'message', Left>, AtLeastTwo<Choices, string>, ItemOf<Choices>>
  : ApprovalNode<Id, CheckedField<Node, 'message', Left>, readonly string[], 'approve' | 'reject'>;

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
