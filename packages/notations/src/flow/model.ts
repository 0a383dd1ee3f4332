/** A flow after reading: its nodes as values, and the facts about each node type that other parts ask for. */
import * as z from 'zod';
import type { Expr } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import {
  anyNumber,
  bool,
  fault,
  int,
  list,
  name,
  number,
  once,
  record,
  ruled,
  text,
} from '@sluice-internal/compile/document';
import type { Definitions, Names, Places } from '@sluice-internal/compile/document';
import type { ShapeKind } from '@sluice-internal/compile/picture';
import type { Range } from '@sluice-internal/compile/source';
import type { Slots } from './slots.ts';

export const END = 'end';
export const SECONDS_MAX = 31_536_000;

export const RESERVED: { readonly [id: string]: string } = {
  [END]: 'a route to `end` ends the path',
  event: '`event` holds what started the run',
  approvals: '`approvals` holds what people chose',
  error: '`error` holds the last failure',
};

const when = z
  .union([text(), anyNumber().transform(String), bool().transform(String)])
  .optional()
  .describe('An expression; `default`, or nothing, always matches. In a decision, the value to match.');

export const route = record(() => ({
  when,
  default: bool().optional().describe('True is short for `when: default`.'),
  to: name().describe('A node, or `end`.'),
}));

export const errorRouteFields = record(() => ({
  match: text()
    .nullable()
    .optional()
    .describe("A regular expression. The route is taken if it occurs in the error's type or message."),
  default: bool().optional().describe('True: takes every error. Such a route comes last.'),
  to: name().describe('A node, or `end`.'),
}));
const errorRoute = ruled(errorRouteFields, ({ match, default: all }) => {
  if (all === true || (match ?? '') !== '') return null;
  const message = 'this error route has neither `match` nor `default: true`';
  return fault('empty-error-route', message, 'Add `match: PATTERN`, or `default: true` for every error.');
});

const seconds = () => number({ above: 0, max: SECONDS_MAX });

const retry = record(() => ({
  max_attempts: int({ min: 1, max: 100 }).describe('How often the node is tried, the first try included.'),
  backoff_ms: int({ min: 0 })
    .default(500)
    .describe('The longest wait before the second try, in milliseconds. Default: 500.'),
  multiplier: number({ min: 1, max: 10 })
    .default(2)
    .describe('How many times longer each wait may be than the one before. Default: 2.'),
  max_backoff_ms: int({ min: 0 })
    .default(30_000)
    .describe('The longest wait before any try, in milliseconds. Default: 30000.'),
  match: text()
    .optional()
    .describe('A regular expression. Only errors whose type or message contains it are retried. Default: all.'),
}));

const commonFields = once(() => ({
  id: name().describe('The id of the node, unique within the flow.'),
  description: text().nullable().optional().describe('A note for readers.'),
  routes: list(route).default([]).describe('The next nodes. The first route that matches is taken.'),
  on_error: list(errorRoute)
    .default([])
    .describe('The next nodes after a failure. The first route that matches is taken.'),
  timeout: seconds().optional().describe('Seconds that one attempt may take, with all its model and tool calls.'),
  retry: retry.optional().describe('Tries the node again after a failure, before `on_error`.'),
  max_visits: int({ min: 1 }).optional().describe('The most visits of this node in one run.'),
  on_exhausted: name().optional().describe('The node that takes over after `max_visits`. Default: `end`.'),
}));

/** The fields that every node has. */
export type CommonValue = z.output<z.ZodObject<ReturnType<typeof commonFields>>> & { readonly type: string };
export type RouteValue = z.output<typeof route>;

export function nodeSchema<const Type extends string, Fields extends z.ZodRawShape>(type: Type, fields: () => Fields) {
  const schema = record(() => ({
    ...commonFields(),
    type: z.literal(type).describe('The kind of node. The other fields depend on it.'),
    ...fields(),
  }));
  // The union of all nodes finds the type of a node here. Without this it would make the fields of every type.
  schema._zod.propValues = { type: new Set([type]) };
  return schema;
}

/** A field of a node that names other nodes. */
export interface EdgeField {
  readonly field: string;
  readonly kind: EdgeKind;
  /** True if the field holds one name, not a list of routes. */
  readonly single?: true;
  /** True if a node may leave the field out. */
  readonly optional?: true;
}
/** `over`: taken instead of a visit beyond `max_visits`. `late`: taken when a signal did not come in time. */
type EdgeKind = 'route' | 'branch' | 'error' | 'over' | 'late';

/** One edge from an authored node to another, as it was written. */
export interface FlowEdge {
  readonly from: string;
  readonly to: string;
  readonly kind: EdgeKind;
  /** Its number among the node's edges of that kind. */
  readonly index: number;
  /** Its condition or pattern as written; null if it is always taken. */
  readonly label: string | null;
  readonly at: Range;
}

export interface Items {
  readonly head: string;
  /** The list, as written. */
  readonly over: Json;
  /** The name of the item in the branch; its number is `<as>_index`. */
  readonly as: string;
  readonly most: number;
}

/** The text that a node adds to the picture, beside its name. */
interface Drawing {
  readonly detail: string | null;
  /** The text of the join, if the node has branches that are joined. */
  readonly join?: string;
}

/** The facts about a node type that need nothing but the node itself. */
export interface NodeFacts<Value extends CommonValue = CommonValue> {
  readonly type: Value['type'];
  readonly schema: z.ZodObject;
  /** Fields that name other nodes, beside `routes` and `on_error`. */
  readonly edges?: readonly EdgeField[];
  /** Stand-ins for required fields that are missing or faulty. */
  readonly poison?: { readonly [field: string]: Json };
  /** Keys of every node that change nothing here: the node makes no call that could fail or take time. */
  readonly idle?: readonly ('retry' | 'timeout')[];
  /** False if the path ends at the node, so that its routes are never taken. */
  readonly leaves?: false;
  /** The value that a path returns if it ends after the node. */
  output(slots: Slots, id: string): Expr;
  /** The fields that expressions read under the node's id, each with its JSON Schema. */
  readable(node: FlowNode<Value>, flow: Flow, definitions: Definitions): { [field: string]: Json };
  readonly shape: ShapeKind;
  draw(value: Value): Drawing;
  /** The agent whose output bare names read after the node: unchanged if absent, unknown if null. */
  lastAgent?(value: Value): string | null;
  /** Present if the node's branch runs once per item of a list, in a scope of its own. */
  items?(value: Value): Items;
  /** The choices of a question to a person, which expressions read as `approvals.<id>`. */
  choices?(value: Value): readonly string[];
  /** The flow that the node runs: an id of `flows`, or a file. */
  subFlow?(value: Value): string;
  /** The tool that the node calls. */
  tool?(value: Value): string;
}

export interface FlowNode<Value extends CommonValue = CommonValue> extends Places {
  readonly id: string;
  readonly value: Value;
  readonly facts: NodeFacts;
  readonly edges: readonly FlowEdge[];
}

interface FlowValue {
  readonly id: string;
  readonly entry: string;
  readonly description?: string | null | undefined;
  readonly max_iterations: number;
}

export interface Flow extends Places {
  readonly value: FlowValue;
  /** By id, in the order of the document; a second node of the same id is left out. */
  readonly nodes: ReadonlyMap<string, FlowNode>;
  /** Every declared id, also of nodes that are faulty otherwise. */
  readonly declared: Names;
}

/** True for a route that is always taken. */
export function isCatchAll({ when: guard = '', default: always }: Pick<RouteValue, 'when' | 'default'>): boolean {
  if (always === true) return true;
  const trimmed = guard.trim();
  return trimmed === '' || trimmed === 'default';
}
