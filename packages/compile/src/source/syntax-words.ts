/** Plain words for the errors of the YAML library: the mistake, the correction, and the place to show. */
import type { YAMLError } from 'yaml';
import type { Range } from './range.ts';

interface Syntax {
  readonly message: string;
  readonly help: string;
  readonly at: Range;
}

export function explainSyntax(error: YAMLError, text: string): Syntax {
  const at = { start: error.pos[0], end: Math.max(error.pos[0] + 1, error.pos[1]) };
  for (const [pattern, message, help] of WORDS) {
    const found = pattern.exec(error.message);
    if (found === null) continue;
    const fill = (words: string): string => words.replaceAll('$1', found[1] ?? '').replaceAll('$2', found[2] ?? '');
    return {
      message: fill(message),
      help: fill(help),
      at: QUOTE.test(error.message) ? opening(text, at, found[1]) : at,
    };
  }
  const message = error.message.charAt(0).toLowerCase() + error.message.slice(1);
  return { message, help: 'Check the indentation, brackets and quotes of this line and the one before.', at };
}

/** A text that is never closed goes on to the end of the document, so its opening quote is the last one. */
function opening(text: string, at: Range, quote = '"'): Range {
  const start = text.lastIndexOf(quote, at.start - 1);
  return start < 0 ? at : { start, end: start + 1 };
}

const QUOTE = /^Missing closing (["'])quote/;
const CLOSE = 'Close it. Indent each of its lines deeper than the key before it.';
const LINE_UP = 'Indent this line like the other lines of the same list or map.';

/** A pattern of the library's message, our message and our help. `$1` and `$2` are the groups of the pattern. */
const WORDS: readonly (readonly [RegExp, string, string])[] = [
  [/^Tabs are not allowed/, 'a tab is used as indentation', 'Indent with spaces; YAML does not allow tabs there.'],
  [
    /^(?:Nested mappings|A block sequence may not|Block collections are not allowed)/,
    'a second `key: value` starts here, in the middle of a value',
    'Put text that contains `: ` in quotes, or check the indentation of this line and the next.',
  ],
  [
    /need to be on a single line/,
    'a `:` is missing after this key, or the key has a line break',
    'Write `key: value` on one line.',
  ],
  [QUOTE, 'this `$1` opens a text that is never closed', 'Close the text with `$1`.'],
  [/^Flow map.* end with a (.)/, 'a map in braces has no closing `$1` before this place', CLOSE],
  [/^Flow sequence.* end with a (.)/, 'a list in brackets has no closing `$1` before this place', CLOSE],
  [
    /^Sequence item without - indicator/,
    'this line is neither a new item of the list nor a key of the item above it',
    'Start it with `- `, or indent it like the keys of the item above.',
  ],
  [/must start at the same column/, 'this line is not indented like the lines before it', LINE_UP],
  [/^Missing , between/, 'a `,` is missing before this place', 'Separate the items with commas.'],
  [/^Missing , or : between/, 'a `,` or `:` is missing before this place', 'Write `{ key: value, other: value }`.'],
  [/^Missing space after :/, 'a space is missing after `:`', 'Write `key: value`.'],
  [
    /^Implicit map keys need to be followed/,
    'this line has no `:`, so it is not a key with a value',
    'Write `key: value`, or indent the line deeper if it continues the text above.',
  ],
  [/^Comments must be separated/, 'a space is missing before `#`', 'Write a space before a comment.'],
  [
    /^Unexpected (?:\S+) at node end/,
    'more text follows the end of the value',
    'Put the whole text in quotes, add a `,` before it, or remove it.',
  ],
  [/^Unexpected (\S) in/, '`$1` is not allowed here', 'Remove it, or add the part that is missing before it.'],
  [/^Unexpected empty item/, 'an item is empty', 'Remove the extra `,`.'],
  [/^Plain value cannot start with.*?(\S)(?: character)?$/, 'a text cannot start with `$1`', 'Put the text in quotes.'],
  [
    /^Invalid escape sequence (.*)$/,
    '`$1` is not an escape sequence',
    'Write `\\\\` for a backslash, or put the text in single quotes.',
  ],
  [
    /^Source contains multiple documents/,
    'a second document starts here',
    'Keep one document per file; remove the `---`.',
  ],
  [
    /^Unresolved tag: (.*)$/,
    'the tag `$1` has no meaning here',
    'Remove the tag. Put text that starts with `!` in quotes.',
  ],
];
