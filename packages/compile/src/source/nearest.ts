/** The name that a word in a document was probably meant to be. */
import { misspelt } from '@sluice-internal/kernel/expr';

const COMPARED_MAX = 5000;

/**
 * A name with a similar spelling. Otherwise the shortest name that begins or ends with the word, or has it as one of its words.
 * Otherwise the longest name that the word begins or ends with.
 */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const names = [...candidates];
  // Each wrong name is compared with each: of very many, none is proposed.
  if (names.length > COMPARED_MAX) return undefined;
  const similar = misspelt(word, names);
  return (
    // Two names of one letter have nothing in common.
    (word.length > 1 || similar?.toLowerCase() === word.toLowerCase() ? similar : undefined) ??
    names.filter((name) => name !== word && isPartOf(word, name)).toSorted((a, b) => a.length - b.length)[0] ??
    names.filter((name) => name.length >= NAME_MIN && isPartOf(name, word)).toSorted((a, b) => b.length - a.length)[0]
  );
}

/**
 * The name that the word is surely a slip of: another case or separator, two swapped letters, one letter too many or too few in
 * five, or one wrong letter in six. The first letter is right. `html` and `http` are two names.
 */
export function slipOf(word: string, candidates: Iterable<string>): string | undefined {
  const near = misspelt(word, candidates);
  return near !== undefined && isSlip(word.toLowerCase(), near.toLowerCase()) ? near : undefined;
}

function isSlip(word: string, name: string): boolean {
  const plain = (text: string): string => text.replaceAll(/[^\p{L}\p{N}]/gu, '');
  const [one, other] = [plain(word), plain(name)].sort((a, b) => a.length - b.length) as [string, string];
  if (one === other) return true;
  if (one[0] !== other[0]) return false;
  const at = [...other].findIndex((letter, index) => one[index] !== letter);
  if (one.length < other.length) return other.length >= 5 && one.slice(at) === other.slice(at + 1);
  const isSwap = one[at] === other[at + 1] && one[at + 1] === other[at];
  return one.slice(at + (isSwap ? 2 : 1)) === other.slice(at + (isSwap ? 2 : 1)) && (isSwap || one.length >= 6);
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

/** The help for an unknown name, if few names are known: the nearest one, or all of them. */
export function suggestionOf(word: string, known: readonly string[]): string {
  return suggestion(nearest(word, known), `There are ${quoted(known)}.`);
}

/** Names in backticks, separated by commas. */
export function quoted(names: readonly string[]): string {
  return names.map((each) => `\`${each}\``).join(', ');
}
