/** The nodes of a flow as they are written. The names they may use are parameters, and any text unless told. */

interface RouteInput<To> {
  readonly when?: string | number | boolean;
  readonly to: To;
}
interface ErrorRouteInput<To> {
  readonly match?: string | null;
  readonly default?: boolean;
  readonly to: To;
}
interface CommonInput<Id> {
  readonly id: string;
  readonly description?: string | null;
  readonly routes?: readonly RouteInput<Id | 'end'>[];
  readonly on_error?: readonly ErrorRouteInput<Id | 'end'>[];
}
type Values = { readonly [field: string]: unknown };

export interface AgentNode<Id = string, Agent = string, Input = Values> extends CommonInput<Id> {
  readonly type: 'agent';
  readonly agent: Agent;
  readonly input?: Input;
}
export interface ToolNode<Id = string, Tool = string, Params = Values> extends CommonInput<Id> {
  readonly type: 'tool';
  readonly tool: Tool;
  readonly params?: Params;
}
export interface ParallelNode<Id = string, Branches = readonly Branch<Id>[]> extends CommonInput<Id> {
  readonly type: 'parallel';
  readonly branches: Branches;
  readonly join?: {
    readonly type?: 'all' | 'any' | 'first' | 'count';
    readonly count?: number;
    readonly timeout?: number;
  };
}
export type Branch<Id> = RouteInput<Id>;
export interface ApprovalNode<
  Id = string,
  Message = string,
  Choices = readonly string[],
  Choice = string,
> extends CommonInput<Id> {
  readonly type: 'approval';
  readonly message: Message;
  readonly choices?: Choices;
  readonly timeout?: number;
  readonly on_timeout?: Choice;
}
export interface DecisionNode<Id = string> extends CommonInput<Id> {
  readonly type: 'decision';
  readonly expr: string;
}
export interface TerminalNode<Id = string, Output = unknown> extends CommonInput<Id> {
  readonly type: 'terminal';
  readonly output?: Output;
}

export type NodeInput = AgentNode | ToolNode | ParallelNode | ApprovalNode | DecisionNode | TerminalNode;
