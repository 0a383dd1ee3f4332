/**
 * Finds guards that do not depend on any data: they always hold or never do.
 */
import { compileAst } from '../../expr/evaluate.ts';
import type { Ast } from '../../expr/parse.ts';
import { readsOf } from './reads.ts';

/** The bool that the expression always gives, or undefined when that depends on data or is no bool. `variables` mean no type. */
export function constantOf(node: Ast, variables?: ReadonlySet<string>): boolean | undefined {
  const of = (inner: Ast): boolean | undefined => constantOf(inner, variables);
  if (readsOf(node, variables).length === 0) return evaluate(node);
  switch (node.op) {
    case '&&':
    case '||': {
      const settles = node.op === '||';
      const sides = node.args.map(of);
      if (sides.includes(settles)) return settles;
      return sides.every((side) => side === !settles) ? !settles : undefined;
    }
    case '!_': {
      const inner = of(node.args);
      return inner === undefined ? undefined : !inner;
    }
    case '?:': {
      const condition = of(node.args[0]);
      const [yes, no] = [of(node.args[1]), of(node.args[2])];
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
