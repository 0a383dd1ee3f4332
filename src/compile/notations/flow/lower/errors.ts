/** Failures that no effect reports: an expression that cannot be evaluated, a call that somebody refused. They take the node's error routes too. */
import type { Expr, NodeId } from '../../../../ir/nodes.ts';
import { literal } from '../../../expressions/cel-text.ts';
import type { Lowering } from './lowering.ts';
import type { Prepared } from '../prepare.ts';

/**
 * Where a node has error routes, expressions that cannot be evaluated take them: a pick tries them first, since a guard
 * that fails does not hold. Without error routes the failure ends the run by itself.
 */
export function evaluated(
  lowering: Lowering,
  prepared: Prepared,
  sources: readonly Expr[],
  build: (at: NodeId, enters: boolean) => NodeId,
): void {
  const { builder } = lowering;
  const { id, value } = prepared.node;
  if (value.on_error.length === 0) {
    build(builder.idOf(id), true);
    return;
  }
  const failed = raise(lowering, prepared, {
    class: 'semantic',
    type: 'ExpressionError',
    message: `an expression of \`${id}\` could not be evaluated`,
    code: 'VALIDATION_FAIL',
  });
  const then = build(builder.fresh(`${id} value`), false);
  const cases = [{ when: `size([${sources.join(', ')}]) == ${sources.length}`, to: then }];
  builder.add(
    builder.idOf(id),
    { op: 'pick', ...entered(lowering, prepared), cases, otherwise: failed },
    prepared.node.at('id'),
  );
}

/** Sets the error as a failed effect would, and takes the node's error routes. */
export function raise(
  lowering: Lowering,
  prepared: Prepared,
  error: { class: string; type: string; message: string; code: string },
): NodeId {
  const { builder } = lowering;
  const { id } = prepared.node;
  const { failed, fail } = lowering.errors(prepared);
  const next =
    failed.length === 0
      ? fail
      : builder.add(builder.fresh(`${id} errors`), { op: 'pick', label: { name: id }, cases: failed, otherwise: fail });
  return builder.add(builder.fresh(`${id} error`), {
    op: 'let',
    label: { name: id },
    writes: [{ slot: 'error', mode: 'set', value: literal({ ...error, node: id }) }],
    next,
  });
}

/** What makes a node the one that counts as entered. */
export function entered({ charges }: Lowering, { node, expects }: Prepared) {
  return {
    label: { name: node.id, enters: node.id },
    ...(expects.length > 0 ? { expects } : {}),
    ...(charges.length > 0 ? { charges } : {}),
  };
}
