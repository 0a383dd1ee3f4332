/** Other readings of a text that hides a value: encoded, reversed, spelled out or split. */
import { even, squeezed } from '../text/sources.ts';

const TOKEN_MIN = 6;
const READINGS_MAX = 1_000;

/** The hidden readings of a text. Each is searched in the text from outside. */
export function disguisesOf(text: string): readonly string[] {
  const tokens = text.split(/\s+/).filter((token) => token.length >= TOKEN_MIN);
  // The readings of the whole text come first, so that a long text does not push them out.
  const readings = [
    reversed(text),
    spelled(text),
    joined(text),
    ...tokens.flatMap((token) => [/%[0-9a-f]{2}/i.test(token) ? percentDecoded(token) : null, base64Decoded(token)]),
    ...tokens.map(reversed),
  ];
  const distinct = new Set(readings.filter((each): each is string => each !== null && each.trim().length >= TOKEN_MIN));
  return [...distinct].filter((each) => each !== text).slice(0, READINGS_MAX);
}

/** The text and its decodings with only letters and digits, so that marks and spaces between the parts do not matter. */
export function squeezedReadings(text: string): readonly string[] {
  const plain = even(text);
  const unspelled = plain.replace(SIGN_WORDS, '');
  const joint = text.replace(/\s+/g, '');
  const decoded = [
    ...(text.match(HEX_LIST) ?? []).map((list) => charsOf(list, 16)),
    ...(text.match(CODE_LIST) ?? []).map((list) => charsOf(list, 10)),
    ...(joint.match(/[A-Za-z0-9+/_-]{12,}={0,2}/g) ?? []).flatMap(decodings),
  ];
  const readings = [plain, unspelled, ...decoded].map(squeezed);
  return [...readings, ...readings.map(reversed)];
}

/** The words for the marks of an address in several languages. */
const SIGN_WORDS =
  /(?<![\p{L}\p{N}])(?:at|arroba|arobase|klammeraffe|chiocciola|apenstaartje|małpa|dot|dash|hyphen|minus|underscore|slash|colon|bindestrich|unterstrich|tiret|guion|guión|trattino|hífen|streepje|punkt|punto|ponto|point|punt|kropka)(?![\p{L}\p{N}])/giu;
const HEX_LIST = /(?:\b(?:0x|\\x)?[0-9a-f]{2}[\s,;:-]*){6,}/gi;
const CODE_LIST = /(?:\b\d{2,3}[\s,;-]+){5,}\d{2,3}\b/g;

/** A run may begin with letters of another word: every alignment is read. */
function decodings(run: string): readonly string[] {
  return [0, 1, 2, 3].map((skip) => Buffer.from(run.slice(skip), 'base64').toString('utf8'));
}

function charsOf(list: string, base: 10 | 16): string {
  const plain = list.replace(/0x|\\x/gi, '');
  const codes = plain.match(base === 16 ? /[0-9a-f]{2}/gi : /\d{2,3}/g) ?? [];
  return codes.map((code) => String.fromCharCode(Number.parseInt(code, base))).join('');
}

/** Null if a percent sign begins no code. */
export function percentDecoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function base64Decoded(token: string): string | null {
  const plain = token.replace(/[.,;:!?]+$/, '');
  if (!/^[A-Za-z0-9+/_-]{8,}={0,2}$/.test(plain)) return null;
  const decoded = Buffer.from(plain, 'base64').toString('utf8');
  return /^[\p{L}\p{N}\p{P}\p{S} ]+$/u.test(decoded) ? decoded : null;
}

function reversed(text: string): string {
  return [...text].reverse().join('');
}

/** `b o s s at evil dot example` reads `boss@evil.example`. */
function spelled(text: string): string {
  return text
    .replace(/\s*[([]?\bat\b[)\]]?\s*/gi, '@')
    .replace(/\s*[([]?\bdot\b[)\]]?\s*/gi, '.')
    .replace(/(?<=\b\p{L}|\d)[\s-](?=\p{L}\b|\d)/gu, '');
}

/** Without the spaces, dots and dashes between single characters and parts. */
function joined(text: string): string {
  return text.replace(/[\s+"']+/g, '');
}
