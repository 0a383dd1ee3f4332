/** A decision node: the value of an expression, which the routes name. */
import type { Expr } from '@sluice-internal/kernel/ir';
import { POISON, text } from '@sluice-internal/compile/document';
import { path } from '@sluice-internal/compile/expressions';
import { setField } from '@sluice-internal/compile/lower';
import { nodeSchema, type FlowNode } from '../model.ts';
import { nodeType, type Checking, type Lowering, type Prepared } from '../node-type.ts';
import { decisionRoutes, guarded } from '../routes.ts';
import type * as z from 'zod';

const schema = nodeSchema('decision', () => ({
  expr: text({ min: 1 }).describe('The expression whose value the routes match.'),
}));
type Value = z.output<typeof schema>;

interface Parts {
  readonly source: Expr;
  readonly kind: string;
}

export const decisionNode = nodeType<typeof schema, Parts>({
  type: 'decision',
  schema,
  idle: ['retry', 'timeout'],
  shape: 'decision',
  poison: { expr: POISON },
  check: checkDecision,
  prepare: (node, { expressions }) => {
    const checked = expressions.expression(node.id, node.located('expr'), false);
    return { source: checked?.source ?? 'null', kind: checked?.kind ?? 'any' };
  },
  routes: (node, { kind }, { slots, expressions, report }) =>
    decisionRoutes(node, { slot: path(slots.of(node.id), 'output'), expr: node.value.expr, kind }, expressions, report),
  lower: lowerDecision,
  output: (slots, id) => path(slots.of(id), 'output'),
  readable: () => ({ output: true }),
  draw: ({ expr }) => ({ detail: expr }),
});

function checkDecision(node: FlowNode<Value>, { report }: Checking): void {
  if (node.value.routes.length > 0 || node.poisoned('routes')) return;
  report.warning(
    'no-way-out',
    node.at('id'),
    `flow node '${node.id}' decides between no routes, so the path ends there`,
    { help: 'Give it routes, or make it a `terminal`.' },
  );
}

function lowerDecision(lowering: Lowering, prepared: Prepared<Value, Parts>): void {
  const { kit, slots } = lowering;
  const source = guarded(prepared.parts.source);
  kit.set(
    lowering.entered(prepared),
    [setField(slots.of(prepared.node.id), ['output'], source), ...lowering.out(source, 'set')],
    lowering.routes(prepared),
    lowering.unevaluated(prepared),
  );
}
