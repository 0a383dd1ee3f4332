/** Finds a value as a word of its own in a text. */

/** `49.5` is no word of `149.5`, `49.50` or `49.5.1`. The place of the word, or -1. */
export function wordIn(text: string, word: string): number {
  if (word === '') return -1;
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    const [before, after] = [text.slice(Math.max(0, at - 2), at), text.slice(at + word.length, at + word.length + 2)];
    if (!/[\p{L}\p{N}]$|[\p{N}][.,]$/u.test(before) && !/^[\p{L}\p{N}]|^[.,]\p{N}/u.test(after)) return at;
  }
  return -1;
}

/** The numbers in a text. `1,250.00` is 1250. */
export function numbersIn(text: string): readonly number[] {
  return (text.match(/\d[\d.,']*/g) ?? []).map((each) =>
    Number(each.replace(/[.,']+$/, '').replaceAll(/[,'](?=\d{3}(?!\d))/g, '')),
  );
}
