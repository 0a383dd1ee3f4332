/** The graph notation as authors write it: every field of every node, in one definition that also serves editors. */
import * as z from 'zod';
import {
  bool,
  fault,
  int,
  json,
  jsonMap,
  list,
  name,
  number,
  oneOf,
  record,
  ruled,
  text,
} from '../../document/shape/fields.ts';

export const JOIN_TIMEOUT_SECONDS = 60;
export const CHOICES = ['approve', 'reject'];
const SECONDS_MAX = 31_536_000;

const when = z
  .union([text(), number().transform(String), bool().transform(String)])
  .optional()
  .describe('An expression; `default`, or nothing, always matches. In a decision, the value to match.');

const route = record({ when, to: name().describe('A node, or `end`.') });

const errorRouteFields = record({
  match: text()
    .nullable()
    .optional()
    .describe("A regular expression that is looked for in the error's type and message."),
  default: bool().optional().describe('Takes every error; comes last.'),
  to: name().describe('A node, or `end`.'),
});
const errorRoute = ruled(errorRouteFields, (clause, context) => {
  if (clause.default === true || (clause.match ?? '') !== '') return;
  context.addIssue({
    code: 'custom',
    message: fault(
      'empty-error-route',
      'this error route has neither `match` nor `default: true`',
      'Say which errors it takes.',
    ),
  });
});

const common = {
  id: name().describe('Unique within the flow.'),
  description: text().nullable().optional().describe('Shown with the node.'),
  routes: list(route).default([]).describe('Ways on, tried from top to bottom.'),
  on_error: list(errorRoute).default([]).describe('Ways on after a failure, tried from top to bottom.'),
};

const agent = record({
  ...common,
  type: z.literal('agent'),
  agent: name().describe('The id of the agent that takes one turn.'),
  input: jsonMap()
    .default({})
    .describe('What it is told: `task`, else `user_message`, else all of it as JSON. Templates work.'),
});
const tool = record({
  ...common,
  type: z.literal('tool'),
  tool: name().describe('The full name, such as `http.get`.'),
  params: jsonMap().default({}).describe('Arguments. Templates work.'),
});
const join = record({
  type: oneOf(['all', 'any', 'first', 'count']).default('all').describe('What the join waits for.'),
  count: int({ min: 0 }).default(0).describe('How many branches must succeed, where `type` is `count`.'),
  timeout: number({ above: 0, max: SECONDS_MAX }).default(JOIN_TIMEOUT_SECONDS).describe('Seconds.'),
});
const parallel = record({
  ...common,
  type: z.literal('parallel'),
  branches: list(route, {
    min: 2,
    few: fault(
      'too-few-branches',
      '`branches` must have at least two branches',
      'Add a branch, or lead there with a route.',
    ),
  }).describe('Each leads to the first node of a branch.'),
  join: join.optional(),
});
const approval = record({
  ...common,
  type: z.literal('approval'),
  message: name().describe('The question. Templates work.'),
  choices: list(name(), { min: 2 }).default(CHOICES).describe('The answers to choose from.'),
  timeout: number({ above: 0, max: SECONDS_MAX }).optional().describe('Seconds to wait; for ever unless told.'),
  on_timeout: name()
    .optional()
    .describe('The choice that counts when nobody answers in time; the last one unless told.'),
});
const decision = record({
  ...common,
  type: z.literal('decision'),
  expr: name().describe('The expression whose value the routes match.'),
});
const terminal = record({
  ...common,
  type: z.literal('terminal'),
  output: json().optional().describe('What the path returns. Templates work.'),
});

export const NODE_TYPES = ['agent', 'tool', 'parallel', 'approval', 'decision', 'terminal'] as const;

export const flowShape = {
  id: name().describe('What the flow is called.'),
  entry: name().describe('The node to begin at.'),
  description: text().nullable().optional(),
  max_iterations: int({ min: 0 })
    .default(0)
    .describe('The most node visits of one run; 0 for no cap, which only a flow without cycles may have.'),
  nodes: list(z.discriminatedUnion('type', [agent, tool, parallel, approval, decision, terminal]), { min: 1 }),
};
export const flowSchema = record(flowShape);

const NODES = [agent, tool, parallel, approval, decision, terminal];
/** The names that each part of a flow can have values under. */
export const FIELDS = {
  flow: Object.keys(flowShape),
  node: [...new Set(NODES.flatMap(({ shape }) => Object.keys(shape)))],
  routes: Object.keys(route.shape),
  branches: Object.keys(route.shape),
  on_error: Object.keys(errorRouteFields.shape),
  join: Object.keys(join.shape),
} as const;

export type FlowValue = z.output<typeof flowSchema>;
export type NodeValue = FlowValue['nodes'][number];
export type NodeOf<Type extends NodeValue['type']> = Extract<NodeValue, { type: Type }>;
export type RouteValue = NodeValue['routes'][number];
export type ErrorRouteValue = NodeValue['on_error'][number];
