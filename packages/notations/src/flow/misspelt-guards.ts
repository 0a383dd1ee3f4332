/**
 * Words in a guard that are read as fields of the latest reply although the author means something else: a text without quotation
 * marks, a constant of another language, a name for all other cases, the input of the run. Such a guard never holds.
 */
import { childrenOf, parseExpr } from '@sluice-internal/kernel/expr';
import type { Ast } from '@sluice-internal/kernel/expr';
import type { Problem } from '@sluice-internal/compile/expressions';

const CONSTANTS: ReadonlyMap<string, string> = new Map([
  ...['True', 'TRUE', 'yes', 'Yes', 'YES', 'on', 'On'].map((word) => [word, 'true'] as const),
  ...['False', 'FALSE', 'no', 'No', 'NO', 'off', 'Off'].map((word) => [word, 'false'] as const),
  ...['None', 'Null', 'NULL', 'nil', 'undefined'].map((word) => [word, 'null'] as const),
]);
const ALL_OTHERS: ReadonlySet<string> = new Set(['otherwise', 'default', 'always', 'any', 'fallback', '_']);
const OF_THE_INPUT: ReadonlyMap<string, string> = new Map([
  ['message', 'event.payload.message'],
  ['input', 'event.payload'],
]);

/** `isField`: the name is read as a field of the latest reply, and no schema has it. */
export function misspeltIn(text: string, isField: (name: string) => boolean): readonly Problem[] {
  let ast: Ast;
  try {
    ast = parseExpr(text);
  } catch {
    return [];
  }
  const found: Problem[] = [];
  const add = (node: Ast, name: string, means: string, help: string): void => {
    const message = `\`${name}\` is read as a field of the latest reply${means}`;
    found.push({ code: 'never', start: node.start, end: node.end, message, help });
  };
  const nameOf = (node: Ast | undefined): string | null => (node?.op === 'id' && isField(node.args) ? node.args : null);
  const whole = nameOf(ast);
  if (whole !== null && ALL_OTHERS.has(whole)) {
    add(
      ast,
      whole,
      ', so this condition holds only if the reply has it',
      'Leave `when` out: a route without it takes all other cases.',
    );
    return found;
  }
  visit(ast);
  return found;

  function visit(node: Ast): void {
    const name = nameOf(node);
    const constant = name === null ? undefined : CONSTANTS.get(name);
    const input = name === null ? undefined : OF_THE_INPUT.get(name);
    if (name !== null && constant !== undefined) add(node, name, '', `Write \`${constant}\`.`);
    else if (name !== null && input !== undefined)
      add(node, name, ', not of the input of the run', `Write \`${input}\`.`);
    const text = textMeant(node);
    for (const child of childrenOf(node)) if (child !== text) visit(child);
    if (text !== null) {
      const word = nameOf(text) ?? '';
      add(text, word, `, not as the text \`${word}\``, `Write \`'${word}'\`.`);
    }
  }

  /** The right side of a comparison of two names. */
  function textMeant(node: Ast): Ast | null {
    if (node.op !== '==' && node.op !== '!=') return null;
    const [left, right] = node.args;
    const word = nameOf(right);
    const isCompared = left.op === 'id' || left.op === '.';
    return isCompared && word !== null && !CONSTANTS.has(word) && !OF_THE_INPUT.has(word) ? right : null;
  }
}
