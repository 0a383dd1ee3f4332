/**
 * The forms in which a secret can occur in text: plain, quoted in JSON, URL or HTML encoded once or several times, hexadecimal in
 * any case and with separators, and base64, also in lines.
 */

/** A shorter key could be part of ordinary text. */
const LENGTH_MIN = 8;
const KNOWN_MAX = 1_000;
const known = new Map<string, readonly Form[]>();

/** No forms for a secret that is too short. */
export function formsOf(secret: string): readonly Form[] {
  if (secret.length < LENGTH_MIN) return [];
  let forms = known.get(secret);
  if (forms === undefined) {
    const points = [...secret.toWellFormed()];
    forms = [
      new Form(characters(points), (at) => /[A-Za-z0-9]/.test(points[at] ?? '')),
      new Form(hexadecimal(secret), (at) => at % 2 === 1),
      ...base64(secret).map((patterns) => new Form(patterns, () => true)),
    ];
    if (known.size >= KNOWN_MAX) known.clear();
    known.set(secret, forms);
  }
  return forms;
}

interface Part {
  /** Matches the whole part. It is global for the first part, and sticky for the others. */
  readonly whole: RegExp;
  /** Matches a text that ends within the part. */
  readonly start: RegExp;
}

/**
 * One form of a secret: a list of patterns, one for each character. One expression for a private key of 1,700 characters takes
 * seconds to compile, so the list is cut into parts, and a part is compiled only if the text matches all parts before it.
 */
export class Form {
  readonly #parts: readonly Part[];

  /** `canEnd`: true if a part can end after this pattern. A match of the pattern must then have only one possible length. */
  constructor(patterns: readonly string[], canEnd: (at: number) => boolean) {
    this.#parts = cut(patterns, canEnd).map((part, at) => ({
      whole: new RegExp(part.join(''), at === 0 ? 'g' : 'y'),
      start:
        at === 0
          ? new RegExp(`(?:${startOf(part)})${INCOMPLETE}$|${ESCAPE}$`)
          : new RegExp(`(?:${startOf(part)})?${INCOMPLETE}$`, 'y'),
    }));
  }

  /** Replaces each whole secret. */
  replaceIn(text: string, by: string): string {
    let result = '';
    let done = 0;
    for (let from = 0; ;) {
      const found = this.#find(text, from);
      if (found === null) return result + text.slice(done);
      const isWhole = found.parts === this.#parts.length;
      if (isWhole) result += text.slice(done, found.at) + by;
      if (isWhole) done = found.end;
      from = isWhole ? found.end : found.at + 1;
    }
  }

  /** The position from which the end of the text could be the start of a secret, or -1. */
  startIn(text: string): number {
    const inFirst = text.search((this.#parts[0] as Part).start);
    for (let found = this.#find(text, 0); found !== null; found = this.#find(text, found.at + 1)) {
      const next = this.#parts[found.parts];
      if (next === undefined || endOf(next.start, text, found.end) === null) continue;
      return inFirst < 0 ? found.at : Math.min(inFirst, found.at);
    }
    return inFirst;
  }

  /** The first place from there on that matches the first part, and the number of parts that match. */
  #find(text: string, from: number): { readonly at: number; readonly end: number; readonly parts: number } | null {
    const [first, ...others] = this.#parts as [Part, ...Part[]];
    first.whole.lastIndex = from;
    const match = first.whole.exec(text);
    if (match === null) return null;
    let end = first.whole.lastIndex;
    let parts = 1;
    for (const { whole } of others) {
      const next = endOf(whole, text, end);
      if (next === null) break;
      end = next;
      parts += 1;
    }
    return { at: match.index, end, parts };
  }
}

/** In patterns. */
const PART_MIN = 40;

function cut(patterns: readonly string[], canEnd: (at: number) => boolean): readonly (readonly string[])[] {
  const parts: string[][] = [[]];
  for (const [at, pattern] of patterns.entries()) {
    const last = parts.at(-1) as string[];
    last.push(pattern);
    if (last.length >= PART_MIN && canEnd(at) && at < patterns.length - 1) parts.push([]);
  }
  return parts;
}

function endOf(pattern: RegExp, text: string, from: number): number | null {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : null;
}

/** The first patterns of a list, at least one. */
function startOf(patterns: readonly string[]): string {
  return patterns.reduceRight((rest, pattern) => (rest === '' ? pattern : `${pattern}(?:${rest})?`), '');
}

/** An encoded character that has only begun, or a separator. */
const ESCAPE = String.raw`(?:[%&\\][\\%#&a-zA-Z0-9]{0,12})`;
const INCOMPLETE = String.raw`(?:${ESCAPE}|[\s:;,._=-]{0,4}0?x?)`;
/** JSON text inside JSON text inside JSON text has three backslashes before a quote. */
const SLASHES = String.raw`\\{1,3}`;
/** A percent sign that was encoded up to three more times. */
const PERCENT = '%(?:25){0,3}';

function characters(points: readonly string[]): string[] {
  return points.map((character) => {
    const bytes = [...Buffer.from(character)];
    const code = character.codePointAt(0) ?? 0;
    const forms = [
      literal(character),
      ...(JSON_NAMES[character] === undefined ? [] : [SLASHES + JSON_NAMES[character]]),
      ...(character === '"' ? [`${SLASHES}"`] : []),
      ...(character === '\\' ? [String.raw`\\{2,8}`] : []),
      ...(character === '/' ? [`${SLASHES}/`] : []),
      ...(character === ' ' ? [String.raw`\+`] : []),
      bytes.map((byte) => PERCENT + anyCase(hex(byte, 2))).join(''),
      utf16(character)
        .map((unit) => `${SLASHES}u${anyCase(hex(unit, 4))}`)
        .join(''),
      ...(code < 0x100 ? [`${SLASHES}x${anyCase(hex(code, 2))}`] : []),
      `&#0{0,6}${code};`,
      `&#[xX]0{0,6}${anyCase(code.toString(16))};`,
      ...(HTML_NAMES[character] === undefined ? [] : [`&${HTML_NAMES[character]};`]),
    ];
    return `(?:${forms.toSorted((a, b) => b.length - a.length).join('|')})`;
  });
}

const JSON_NAMES: { readonly [character: string]: string } = { '\n': 'n', '\r': 'r', '\t': 't', '\b': 'b', '\f': 'f' };
const HTML_NAMES: { readonly [character: string]: string } = {
  '&': 'amp',
  '<': 'lt',
  '>': 'gt',
  '"': 'quot',
  "'": 'apos',
};

function utf16(character: string): number[] {
  return Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
}

function hexadecimal(secret: string): string[] {
  const between = String.raw`(?:[\s:;,._-]|\\{1,3}[nrtx]|0x|%){0,4}`;
  return [...Buffer.from(secret)].flatMap((byte, at) => {
    const [high = '', low = ''] = hex(byte, 2);
    return [(at === 0 ? '' : between) + anyCase(high), anyCase(low)];
  });
}

/**
 * Base64 of a text that contains the key, such as `user:key`, depends on the position of the key modulo 3. Each form has the
 * characters that the key alone determines, and the last one if the text ends with the key.
 */
function base64(secret: string): string[][] {
  const bytes = Buffer.from(secret);
  const between = String.raw`(?:\s|=\r?\n|\\{1,3}[nrt]){0,4}`;
  return [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    const start = Math.ceil((offset * 8) / 6);
    const end = Math.floor(((offset + bytes.length) * 8) / 6);
    const inner = [...text.slice(start, end)].map((each, at) => (at === 0 ? '' : between) + base64Character(each));
    const last = text.slice(end);
    return last === '' ? inner : [...inner, `(?:${between}${base64Character(last)}(?:=|${PERCENT}3[dD]))?`];
  });
}

function base64Character(character: string): string {
  if (character === '+') return `(?:[+-]|${PERCENT}2[bB])`;
  if (character === '/') return `(?:[/_]|${SLASHES}/|${PERCENT}2[fF])`;
  return character;
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}

function anyCase(text: string): string {
  return text.replaceAll(/[a-f]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
}

function literal(character: string): string {
  return character.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, (each) => `\\${each}`);
}
