/** A terminal node: ends the path with an output. */
import type { Expr } from '@sluice-internal/kernel/ir';
import { json } from '@sluice-internal/compile/document';
import { literal, path } from '@sluice-internal/compile/expressions';
import { setField } from '@sluice-internal/compile/lower';
import { nodeSchema } from '../model.ts';
import { nodeType } from '../node-type.ts';
import { guardedRoutes } from '../routes.ts';

const schema = nodeSchema('terminal', () => ({
  output: json().optional().describe('The result of the path. Templates work. Default: `{}`.'),
}));

export const terminalNode = nodeType<typeof schema, Expr>({
  type: 'terminal',
  schema,
  words: true,
  idle: ['retry', 'timeout'],
  shape: 'terminal',
  leaves: false,
  expanded: ({ output }) => output ?? null,
  prepare: (node, { expressions }) => {
    const output = node.value.output ?? {};
    const located = node.located('output');
    return located === undefined ? literal(output) : expressions.template(node.id, located, output);
  },
  routes: (node, _, { expressions, report }) => {
    if (node.value.routes.length > 0) {
      report.warning(
        'unreachable-route',
        node.at('routes', 0),
        `flow node '${node.id}' is a terminal, which ends the path, so its routes are never taken`,
        { help: 'Remove the routes, or make it another type of node.' },
      );
    }
    return guardedRoutes(node, 'routes', node.value.routes, expressions, report);
  },
  lower: (lowering, prepared) => {
    const { kit, slots } = lowering;
    const { id } = prepared.node;
    kit.set(
      lowering.entered(prepared),
      [setField(slots.of(id), ['output'], prepared.parts)],
      lowering.ending(path(slots.of(id), 'output'), id),
      lowering.unevaluated(prepared),
    );
  },
  output: (slots, id) => path(slots.of(id), 'output'),
  readable: () => ({}),
  draw: () => ({ detail: null }),
});
