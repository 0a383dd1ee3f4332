/**
 * Finds guards that do not depend on any data: they always hold or never do.
 */
import { compileAst } from '../core/expr/evaluate.ts';
import type { Ast } from '../core/expr/parse.ts';
import { readsOf } from './expr-reads.ts';

/** The bool that the expression always gives, or undefined when that depends on data or is no bool. */
export function constantOf(node: Ast): boolean | undefined {
  if (readsOf(node).length === 0) return evaluate(node);
  switch (node.op) {
    case '&&':
    case '||': {
      const settles = node.op === '||';
      const sides = node.args.map(constantOf);
      if (sides.includes(settles)) return settles;
      return sides.every((side) => side === !settles) ? !settles : undefined;
    }
    case '!_': {
      const inner = constantOf(node.args);
      return inner === undefined ? undefined : !inner;
    }
    case '?:': {
      const condition = constantOf(node.args[0]);
      const [yes, no] = [constantOf(node.args[1]), constantOf(node.args[2])];
      return condition === undefined ? (yes === no ? yes : undefined) : condition ? yes : no;
    }
    default:
      return undefined;
  }
}

function evaluate(node: Ast): boolean | undefined {
  try {
    const value = compileAst(node)({});
    return typeof value === 'boolean' ? value : undefined;
  } catch {
    return undefined;
  }
}
