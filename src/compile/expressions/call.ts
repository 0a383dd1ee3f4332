/**
 * Checks a call: that the function exists and takes these arguments, and that a pattern is one that can be searched for.
 */
import type { Ast } from '../../expr/parse.ts';
import { FUNCTIONS, FUNCTION_NAMES, callProblem, isSearch } from '../../expr/functions.ts';
import { patternProblem } from '../../expr/regex.ts';
import { problem } from './problem.ts';
import type { Problem } from './problem.ts';
import { ANY, BOOL, STRING } from './type.ts';
import type { Type } from './type.ts';
import { nearest } from '../diagnose/nearest.ts';

export function inferCall(
  node: Ast & { op: 'call' | 'rcall' },
  typeOf: (arg: Ast) => Type,
): { type: Type; problems: Problem[] } {
  const method = node.op === 'rcall';
  const name = node.args[0];
  const args = method ? [node.args[1], ...node.args[2]] : node.args[1];
  const [first] = args;
  if (name === 'has' && !method && args.length === 1 && first?.op === '.') {
    typeOf(first.args[0]);
    return { type: BOOL, problems: [] };
  }
  const types = args.map(typeOf);
  const wrong = callProblem({ name, method, count: args.length });
  if (wrong !== null) return { type: ANY, problems: [unusable(node, name, wrong)] };
  if (name === 'text') return { type: STRING, problems: [] };
  if (name === 'strict') return { type: types[0] ?? ANY, problems: [] };
  // What other hosts do under this name can take exponential time; one word for the safe search leaves no doubt which it is.
  if (name === 'matches')
    return {
      type: BOOL,
      problems: [
        problem(
          'function',
          node,
          '`matches` is not available',
          'write `re(text, "pattern")`, which searches in linear time',
        ),
      ],
    };
  if (isSearch(name)) return { type: BOOL, problems: checkSearch(name, args as [Ast, Ast], types as [Type, Type]) };
  const fn = FUNCTIONS.get(name);
  const problems = args.flatMap((arg, i) => {
    const kinds = fn?.params[i] ?? ['any'];
    const kind = types[i]?.kind ?? 'any';
    const fits = kind === 'any' || kind === 'null' || kinds.includes('any') || kinds.includes(kind);
    return fits ? [] : [problem('type', arg, `\`${name}\` needs ${kinds.join(' or ')} here, not ${kind}`)];
  });
  return { type: { kind: fn?.returns ?? 'any' }, problems };
}

function unusable(node: Ast & { op: 'call' | 'rcall' }, name: string, message: string): Problem {
  if (FUNCTION_NAMES.includes(name)) return problem('function', node, message);
  if (name === 'not') return problem('function', node, message, 'write `!`');
  const near = nearest(name, FUNCTION_NAMES);
  return problem('function', node, message, near === undefined ? undefined : `did you mean \`${near}\`?`);
}

function checkSearch(name: string, [text, pattern]: readonly [Ast, Ast], [type]: readonly [Type, Type]): Problem[] {
  const problems: Problem[] = [];
  if (!['string', 'any', 'null'].includes(type.kind))
    problems.push(problem('type', text, `\`${name}\` needs string here, not ${type.kind}`));
  if (pattern.op !== 'value' || typeof pattern.args !== 'string') {
    problems.push(problem('pattern', pattern, `the pattern of \`${name}\` must be a string literal`));
  } else {
    const why = patternProblem(pattern.args);
    if (why !== null) problems.push(problem('pattern', pattern, why));
  }
  return problems;
}
