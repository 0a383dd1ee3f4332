/** What the document states of a tool's calls: the amount, the recipients and the payee, as expressions over `args`. */
import { reasonOf } from '../expr/error.ts';
import { childrenOf, pathOfAst } from '../expr/ast.ts';
import { compileExpr } from '../expr/evaluate.ts';
import { isRecord } from '../expr/json.ts';
import type { Json } from '../expr/json.ts';
import { parseExpr } from '../expr/parse.ts';
import type { ToolDef } from './nodes.ts';

export const STATED = ['amount', 'recipients', 'payee'] as const;

export interface Stated {
  readonly amount: Json;
  readonly recipients: readonly Json[];
  readonly payee: Json;
  /** Why a part has no value: an expression that fails, or that gives nothing. */
  readonly problems: readonly string[];
}

export function statesOfCalls(tool: ToolDef | undefined): boolean {
  return tool !== undefined && STATED.some((part) => tool[part] !== undefined);
}

export function statedOf(tool: ToolDef, args: Json): Stated {
  const problems: string[] = [];
  const read = (part: (typeof STATED)[number]): Json => {
    const source = tool[part];
    if (source === undefined) return null;
    try {
      const value = compileExpr(source)({ args });
      if (hasValue(value)) return value;
      problems.push(`its ${part} (\`${source}\`) has no value`);
    } catch (error) {
      problems.push(`its ${part} (\`${source}\`) cannot be computed: ${lackOf(source, args) ?? reasonOf(error)}`);
    }
    return null;
  };
  const [amount, recipients, payee] = [read('amount'), read('recipients'), read('payee')];
  return { amount, recipients: listOf(recipients), payee, problems };
}

/** The arguments that the expression reads and the call does not have. */
function lackOf(source: string, args: Json): string | null {
  const lacking = new Set<string>();
  const open = [parseExpr(source)];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    const [root, name] = pathOfAst(node) ?? [];
    if (root === 'args' && name !== undefined && (!isRecord(args) || !hasValue(args[name] ?? null))) lacking.add(name);
    open.push(...childrenOf(node));
  }
  const names = [...lacking].toReversed().map((name) => `\`${name}\``);
  return names.length === 0 ? null : `the call has no ${names.join(' and no ')}`;
}

function hasValue(value: Json): boolean {
  if (value === null || value === '') return false;
  return !Array.isArray(value) || (value.length > 0 && value.every(hasValue));
}

function listOf(value: Json): readonly Json[] {
  return value === null ? [] : Array.isArray(value) ? value : [value];
}
