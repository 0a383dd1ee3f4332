/**
 * Shows code points that a reader cannot see, or that reorder or move text, as escapes such as `\u{202e}`. Text of models,
 * tools and documents cannot imitate other text then.
 */

/** Line ends and tabs stay. */
export function harmless(text: string): string {
  const lines = text.replaceAll('\r\n', '\n');
  if (PLAIN.test(lines)) return lines;
  const { shown, marks } = (patterns ??= unicodePatterns());
  return lines.replaceAll(shown, escaped).replaceAll(marks, escaped);
}

const PLAIN = /^[\n\t -~¡-¬®-ɏ–—‘’“”•…→]*$/;

/** Compiled when a text needs them, because the classes of Unicode take longer than a short command. */
let patterns: { readonly shown: RegExp; readonly marks: RegExp } | undefined;

function unicodePatterns(): { readonly shown: RegExp; readonly marks: RegExp } {
  // Unless `kept` matches at the same place: controls, format and ignorable characters, private and unassigned ones, blanks.
  const hidden =
    /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u2800\u{1D159}\u{13441}\u{13442}]|\u{16FE4}|(?! )\p{Zs}/u;

  // Ordinary uses of such code points. Each alternative matches at the code point and looks at its neighbours.
  const kept = [
    /[\n\t]/u,
    // Numerals and signs of Arabic and Syriac that are format characters with a shape.
    /[\u0600-\u0605\u06DD\u070F\u0890\u0891\u08E2]/u,
    // Joiners inside emoji, and after a letter of a script that shapes letters.
    /(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F])\u200D(?=\p{Extended_Pictographic})/u,
    /(?<=[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Mongolian}])[\u200C\u200D]/u,
    // Variants of emoji, Chinese characters and Mongolian letters.
    /(?<=\p{Emoji})[\uFE0E\uFE0F]/u,
    /(?<=\p{Script=Han})[\uFE00-\uFE02\u{E0100}-\u{E01EF}]/u,
    /(?<=\p{Script=Mongolian})[\u180B-\u180D\u180F]/u,
    // The flags of England, Scotland and Wales.
    /(?<=\u{1F3F4}[\u{E0061}-\u{E007A}]{0,5})(?:[\u{E0061}-\u{E007A}](?=[\u{E0061}-\u{E007A}]{0,5}\u{E007F})|(?<=\u{E0067}\u{E0062}[\u{E0061}-\u{E007A}]{3})\u{E007F})/u,
    // One space that does not break a line, between two words or numbers; one wide space beside Chinese or Japanese.
    /(?<=[\p{L}\p{N}\p{P}\p{S}])[\u00A0\u2007\u2009\u202F](?=[\p{L}\p{N}\p{P}\p{S}])/u,
    /(?<=[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3001-\u301F\uFF00-\uFF60])\u3000(?=\S)/u,
  ];
  const shown = new RegExp(`(?!${kept.map(({ source }) => `(?:${source})`).join('|')})(?:${hidden.source})`, 'gu');
  // More marks on one letter than a language has: they would cover the lines around.
  const marks = /(?<=\p{M}{6})\p{M}/gu;
  return { shown, marks };
}

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

const PADDING = /(?<=\S)[ \t]{16,}|(?<=^|\n)[ \t]{40,}/g;
const EMPTY_LINES = /\n(?:[ \t]*\n){3,}/g;

/** Shows long runs of spaces and empty lines as counts, so that text cannot push other text out of sight. Tabs become spaces. */
export function unpadded(text: string): string {
  return text
    .replaceAll(EMPTY_LINES, (run) => `\n[${run.split('\n').length - 2} empty lines]\n`)
    .replaceAll(PADDING, (run) => ` [${run.length} spaces] `)
    .replaceAll('\t', '    ');
}
