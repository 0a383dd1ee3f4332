/**
 * Text as a reader would see it, with the place of each character in the original. Invisible characters are removed, and percent,
 * JSON and HTML escapes and wide digits are decoded, so that a detector sees one spelling of a value.
 */
export interface Normalised {
  readonly text: string;
  /** The range in the original text of a range in the normalised text. */
  original(start: number, end: number): readonly [start: number, end: number];
}

const ESCAPE = /(?:%[0-9A-Fa-f]{2})+|\\u[0-9A-Fa-f]{4}|&#(?:x[0-9A-Fa-f]{1,6}|\d{1,7});|[\s\S]/gu;
/** Zero-width characters, directional marks, soft hyphen, variation selectors. */
const INVISIBLE =
  /^(?:\u00AD|\u034F|\u061C|\u180E|[\u200B-\u200F]|[\u202A-\u202E]|[\u2060-\u2064]|[\u2066-\u206F]|[\uFE00-\uFE0F]|\uFEFF)$/;
/** Only these are changed to their plain form: other letters have no place in the values that detectors look for. */
const WIDE =
  /^[\uFF01-\uFF5E\u2010-\u2015\u2212\u00A0\u2000-\u200A\u202F\u3000\u0660-\u0669\u06F0-\u06F9\u0966-\u096F]$/;

export function normalise(source: string): Normalised {
  if (/^[\x20-\x24\x26-\x5B\x5D-\x7E\n\r\t]*$/.test(source) && !source.includes('&#'))
    return { text: source, original: (start, end) => [start, end] };
  let text = '';
  const starts: number[] = [];
  const ends: number[] = [];
  for (const match of source.matchAll(ESCAPE)) {
    const piece = match[0];
    const plain = plainOf(piece);
    for (let index = 0; index < plain.length; index++) {
      starts.push(match.index);
      ends.push(match.index + piece.length);
    }
    text += plain;
  }
  return {
    text,
    original: (start, end) => [starts[start] ?? source.length, ends[end - 1] ?? source.length],
  };
}

function plainOf(piece: string): string {
  if (piece.length > 1 && piece.startsWith('%')) return percentDecoded(piece);
  if (piece.length > 1 && piece.startsWith('\\u')) return characterOf(Number.parseInt(piece.slice(2), 16), piece);
  if (piece.length > 1 && piece.startsWith('&#')) {
    const digits = piece.slice(2, -1);
    return characterOf(digits.startsWith('x') ? Number.parseInt(digits.slice(1), 16) : Number(digits), piece);
  }
  if (INVISIBLE.test(piece)) return '';
  return WIDE.test(piece) ? asciiOf(piece) : piece;
}

function percentDecoded(piece: string): string {
  try {
    return decodeURIComponent(piece);
  } catch {
    return piece;
  }
}

function characterOf(code: number, piece: string): string {
  if (!(code > 0 && code <= 0x10ffff)) return piece;
  const character = String.fromCodePoint(code);
  return INVISIBLE.test(character) ? '' : character;
}

function asciiOf(piece: string): string {
  const code = piece.charCodeAt(0);
  for (const zero of [0x0660, 0x06f0, 0x0966]) if (code >= zero && code <= zero + 9) return String(code - zero);
  if ((code >= 0x2010 && code <= 0x2015) || code === 0x2212) return '-';
  return code >= 0xff01 && code <= 0xff5e ? String.fromCharCode(code - 0xfee0) : ' ';
}
