/**
 * Whether a tool's name speaks of something: whole words of it, never parts of words, so that `tag` is in `crm.tag` and
 * `tagTicket` but neither in `stage` nor in `vintage`. A pattern is one word or several in a row; `*` stands for any ending.
 */
export function speaksOf(name: string, patterns: readonly string[]): boolean {
  const words = wordsOf(name);
  return patterns.some((pattern) => {
    const wanted = pattern.split(' ');
    return words.some((_, from) => wanted.every((each, at) => fits(words[from + at], each)));
  });
}

/** Separated by anything that is no letter, and by capitals inside: `HTTPPost`, `sendMail2` and `send_mail` have two each. */
function wordsOf(name: string): readonly string[] {
  return (name.match(/\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|\p{Lo}+/gu) ?? []).map((word) => word.toLowerCase());
}

function fits(word: string | undefined, pattern: string): boolean {
  if (word === undefined) return false;
  return pattern.endsWith('*') ? word.startsWith(pattern.slice(0, -1)) : word === pattern;
}
