/**
 * The name of a person, as the engine compares it. Two spellings that a reader takes for one name are one person: other case,
 * blanks around it, invisible characters, other forms of a character (NFKC), letters that look alike (UTS 39).
 */
import { CONFUSABLES } from './confusables.ts';

declare const COMPARED: unique symbol;

/** A name in the form that is compared. Only `identitiesOf` makes one. */
export type Identity = string & { readonly [COMPARED]: true };

const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}]/gu;
/** U+2800 is a letter of Braille without dots. */
const OUTER_BLANKS = /^[\s\u2800]+|[\s\u2800]+$/gu;

/**
 * The forms of a name. A capital can look like another letter than the small one does: `Iris` in capital and `lris` in small look
 * alike, and so do `Anna` and `anna` with a Cyrillic letter. So there are two forms.
 */
export function identitiesOf(name: string): readonly [Identity, Identity] {
  const plain = name.normalize('NFKC').replaceAll(INVISIBLE, '').replaceAll(OUTER_BLANKS, '');
  return [folded(skeleton(folded(plain))), folded(skeleton(plain))] as unknown as readonly [Identity, Identity];
}

/** True if a reader takes the two names for one. */
export function samePerson(one: string, other: string): boolean {
  if (one === other) return true;
  const forms = identitiesOf(other);
  return identitiesOf(one).some((form) => forms.includes(form));
}

/** The name of the list that is the same person; undefined without one. */
export function personIn(names: readonly string[], name: string): string | undefined {
  return names.includes(name) ? name : names.find((each) => samePerson(each, name));
}

/** Without the context of a word, in which a letter can have another small form. */
function folded(text: string): string {
  return Array.from(text, (each) => each.toUpperCase().toLowerCase())
    .join('')
    .normalize('NFKC');
}

/** The skeleton of UTS 39: two texts with one skeleton look alike. */
function skeleton(text: string): string {
  table ??= readTable();
  const map = table;
  return Array.from(text.normalize('NFD'), (each) => map.get(each) ?? each)
    .join('')
    .normalize('NFD');
}
let table: ReadonlyMap<string, string> | undefined;

function readTable(): ReadonlyMap<string, string> {
  const read = new Map<string, string>();
  let code = 0;
  for (const entry of CONFUSABLES.trim().split(/\s/)) {
    const [step = '', to = ''] = entry.split(':');
    code += Number.parseInt(step, 36);
    read.set(
      String.fromCodePoint(code),
      String.fromCodePoint(...to.split('+').map((each) => Number.parseInt(each, 36))),
    );
  }
  return read;
}
