/** The name that a word in a document was probably meant to be. */
import { misspelt } from '../../expr/misspelt.ts';

/**
 * A name with a similar spelling. Otherwise the shortest name that begins or ends with the word, or has it as one of its words.
 * Otherwise the longest name that the word begins or ends with.
 */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const names = [...candidates];
  return (
    misspelt(word, names) ??
    names.filter((name) => name !== word && isPartOf(word, name)).toSorted((a, b) => a.length - b.length)[0] ??
    names.filter((name) => name.length >= NAME_MIN && isPartOf(name, word)).toSorted((a, b) => b.length - a.length)[0]
  );
}

/** The help for an unknown name: the name that was probably meant, or the other sentence. */
export function didYouMean<Other extends string | undefined>(
  word: string,
  candidates: Iterable<string>,
  otherwise: Other,
): string | Other {
  return suggestion(nearest(word, candidates), otherwise);
}

/** Shorter parts are in too many names to mean one of them. */
const PART_MIN = 3;
/** Shorter names are in too many words. */
const NAME_MIN = 5;

function isPartOf(word: string, name: string): boolean {
  const [part, whole] = [word.toLowerCase(), name.toLowerCase()];
  if (part.length < PART_MIN) return false;
  return whole.startsWith(part) || whole.endsWith(part) || whole.split(/[_.\- ]/).includes(part);
}

/** As `didYouMean`, for a name that was found already. */
export function suggestion<Other extends string | undefined>(
  near: string | undefined,
  otherwise: Other,
): string | Other {
  return near === undefined ? otherwise : `Did you mean \`${near}\`?`;
}

/** The help for an unknown name out of a few: the one that was probably meant, or all of them. */
export function suggestionOf(word: string, known: readonly string[]): string {
  return suggestion(nearest(word, known), `There are ${quoted(known)}.`);
}

/** Names in backticks, separated by commas. */
export function quoted(names: readonly string[]): string {
  return names.map((each) => `\`${each}\``).join(', ');
}
