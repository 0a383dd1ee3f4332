/** An expression that cannot be evaluated is a semantic failure of its node; a broken invariant is nobody's to handle. */
import { codeOfFailure } from '../ir/codes.ts';
import type { Node } from '../ir/nodes.ts';
import type { ErrorRecord } from '../ir/events.ts';

export function expressionError(node: Node, cause: unknown): ErrorRecord {
  const message = messageOf(cause);
  if (message.startsWith('invariant:')) throw cause;
  const code = codeOfFailure('semantic', 1);
  return { class: 'semantic', type: 'ExpressionError', message, node: authorOf(node), code };
}

/** The authored name that people know a node by. */
export function authorOf({ label }: Node): string {
  return label.authored ?? label.name;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
