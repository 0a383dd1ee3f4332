/**
 * The forms in which a secret can occur in text: plain, quoted in JSON, URL or HTML encoded once or several times, hexadecimal in
 * any case and with separators, and base64, also in lines.
 */
export interface Forms {
  /** A whole secret, in any form. */
  readonly whole: RegExp;
  /** The end of a text that could be the start of a secret. */
  readonly start: RegExp;
}

/** A shorter key could be part of ordinary text. */
const LENGTH_MIN = 8;
const KNOWN_MAX = 1_000;
const known = new Map<string, Forms>();

/** Undefined for a secret that is too short. */
export function formsOf(secret: string): Forms | undefined {
  if (secret.length < LENGTH_MIN) return undefined;
  let forms = known.get(secret);
  if (forms === undefined) {
    // Each form is a list of patterns, one for each character.
    const all = [characters(secret), hexadecimal(secret), ...base64(secret)];
    forms = {
      whole: new RegExp(all.map((patterns) => patterns.join('')).join('|'), 'g'),
      start: new RegExp(`(?:${all.map(startOf).join('|')})${INCOMPLETE}$|${ESCAPE}$`),
    };
    if (known.size >= KNOWN_MAX) known.clear();
    known.set(secret, forms);
  }
  return forms;
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

function characters(secret: string): string[] {
  return [...secret.toWellFormed()].map((character) => {
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
