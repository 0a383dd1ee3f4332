/** The graph notation as authors write it: every field of every node, in one definition that also serves editors. */
import { int, name, once, record, text } from '@sluice-internal/compile/document';
import { errorRouteFields, route } from './model.ts';
import { NODE_TYPES, nodeSchemas } from './nodes/registry.ts';

const flowShape = {
  id: name().describe('The name of the flow in runs and reports.'),
  entry: name().describe('The first node.'),
  description: text().nullable().optional().describe('A note for readers.'),
  max_iterations: int({ min: 0 })
    .default(0)
    .describe('The most node visits of one run; 0 for no cap, which only a flow without cycles may have.'),
  nodes: nodeSchemas.describe('The nodes of the graph, at least one.'),
};
export const flowSchema = record(flowShape).describe('A graph of nodes and routes.');

/** The field names of each part of a flow. */
export const FIELDS = {
  flow: once(() => Object.keys(flowShape)),
  node: once(() => [...new Set(NODE_TYPES.flatMap(({ schema }) => Object.keys(schema.shape)))]),
  route: once(() => Object.keys(route.shape)),
  error: once(() => Object.keys(errorRouteFields.shape)),
} as const;
