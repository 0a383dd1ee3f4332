/**
 * What prompts and conditions read, as expressions. Slots hold outputs as they came, and a batch as a list of them: joining
 * where it is read keeps the journal from repeating what it already holds.
 */
import type { Expr } from '../../../ir/nodes.ts';
import { isIdentifier, quote } from '../../expressions/cel-text.ts';
import type { Facts, InputKind } from './facts.ts';
import { INPUT } from './model.ts';
import type { Hole, Step } from './model.ts';

export const SEPARATOR = '\n\n---\n\n';
/** The output that is passed on; not there before the first one. */
export const HANDED = '_in';

/** `{{input}}` where it may be any of these kinds. */
export function inputText(kinds: ReadonlySet<InputKind>): Expr {
  const known = kinds.has('list') ? (kinds.has('text') ? oneOrMany(HANDED) : joined(HANDED)) : HANDED;
  if (!kinds.has('start')) return known;
  return kinds.size === 1
    ? 'text(input)'
    : `${HANDED} == null ? text(input) : ${kinds.has('list') ? `(${known})` : known}`;
}

export function promptText(step: Step, facts: Facts): Expr {
  const kinds = step.mode === 'Loop' ? new Set<InputKind>([...facts.input, 'text']) : facts.input;
  const operands: Expr[] = [];
  let plain = '';
  const flush = (): void => {
    if (plain !== '') operands.push(quote(plain));
    plain = '';
  };
  for (const piece of step.prompt) {
    if ('text' in piece) plain += piece.text;
    else if (piece.name !== INPUT && !facts.stored.has(piece.name)) plain += piece.written;
    else {
      flush();
      operands.push(piece.name === INPUT ? inputText(kinds) : variableText(piece, facts));
    }
  }
  flush();
  const [only = '""'] = operands;
  return operands.length > 1 ? `text(${operands.join(', ')})` : only;
}

/** The slot of a variable. Names that are no identifiers are spelt out, under a prefix that the others never have. */
export function slotOf(variable: string): string {
  const plain = `v_${variable}`;
  if (isIdentifier(plain)) return plain;
  return `w_${[...variable].map((char) => (/[A-Za-z0-9]/.test(char) ? char : `_${char.codePointAt(0)?.toString(16) ?? ''}_`)).join('')}`;
}

/** A variable that may not be stored by then stays as it is written. */
function variableText(hole: Hole, { stored, listed }: Facts): Expr {
  const slot = slotOf(hole.name);
  const value = listed.has(hole.name) ? oneOrMany(slot) : slot;
  return stored.get(hole.name) === true
    ? value
    : `${slot} == null ? ${quote(hole.written)} : ${value === slot ? slot : `(${value})`}`;
}

function joined(slot: string): Expr {
  return `join(${slot}, ${quote(SEPARATOR)})`;
}

function oneOrMany(slot: string): Expr {
  return `type(${slot}) == list ? ${joined(slot)} : ${slot}`;
}
