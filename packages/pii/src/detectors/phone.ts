/** Phone numbers. A number must be valid in its country, and must be written as a phone number or have a word about phones near it. */
import type * as Phone from 'libphonenumber-js/max';
import { requireOptional } from '@sluice-internal/platform';
import { Taken, digitsOf, hasContext, isWholeText, spansOf, standsAlone } from './detector.ts';
import type { Detector, Scanned, Span } from './detector.ts';

/** Countries whose national numbers are looked for. A number with `+` is found for every country. */
const COUNTRIES = 'US GB DE FR IL IN BR JP CN TR PH IT ES'.split(' ') as readonly Phone.CountryCode[];
const PHONE_WORDS =
  /\b(?:phone|tel|telephone|telefon\w*|mobile|cell|cellphone|fax|whatsapp|sms|numaram|cep|handy|handynummer|mobil|mobilnummer|portable|téléphone|telepono|teléfono|móvil|celular|cellulare)\b|電話|电话/i;
/** Words that often stand near other numbers too. They count for digits in groups only. */
const LOOSE_WORDS = /\b(?:number|call|contact|dial|reach|text|ring)\b/i;
/** Phrases that end where a phone number follows: `call me at`, `my new number is`, `my CN number is`. */
const ASKS_TO_CALL =
  /\b(?:(?:call|text|dial|ring|phone)(?: (?:me|us|him|her|them|back|at|on|via|now))*|(?:reach|contact) (?:me|us|him|her|them)(?: (?:at|on|via))?):? ?$/i;
const OWN_NUMBER =
  /\b[Mm]y (?:(?:[A-Z]{2}|[A-Z][a-z]+(?:ese|an|ish|i|ch)|new|old|work|home|office|private|personal|direct|international|other) )?(?:number|no\.?)(?: is)?:? ?$/;

let loaded: typeof Phone | undefined;

/** Its tables are large, so it is loaded when a text could have a number. */
function phoneLibrary(): typeof Phone {
  loaded ??= requireOptional(
    'libphonenumber-js',
    'the detection of phone numbers',
    'libphonenumber-js/max',
  ) as typeof Phone;
  return loaded;
}

/** In the regions that a document names, a valid number needs no word near it. */
export function phoneDetector(regions: readonly string[]): Detector {
  const others = COUNTRIES.filter((country) => !regions.includes(country));
  return {
    type: 'phone',
    find: (scanned) => {
      // The library takes digits behind a comma for an extension, also in a list of numbers.
      let text = withoutOthers(scanned.text.replace(/(?<=\d)[,;](?=\s*[\d(+-])/g, '|'));
      if (!/\d/.test(text)) return [];
      const found: Span[] = [];
      const taken = new Taken();
      for (const country of [...(regions as readonly Phone.CountryCode[]), ...others]) {
        const before = found.length;
        for (const { startsAt: start, endsAt: end, number } of numbersIn(text, country)) {
          const span = { start, end };
          if (taken.overlaps(span) || !couldBePhone(scanned.text, span)) continue;
          const follows = found.length > 0 && followsAnother(scanned.text, span, taken);
          if (!follows && !regions.includes(country) && !isPhone(scanned, span, number)) continue;
          found.push(span);
          taken.add(span);
        }
        text = without(text, found.slice(before));
      }
      return [...found, ...internationalNumbers(scanned.text, taken), ...withoutSpace(scanned)];
    },
  };
}

/** Digits with the characters and the words for extensions that the library accepts between them. */
const STRETCH =
  /(?:[\d\p{Pd}\p{Zs}\u00AD\u200B\u2060()（）［］.[\]/／~⁓∼～xｘ#＃;,]|(?:ext(?:n|ensi[oó]n)?|int|доб|anexo)[:.．=]?)+/giu;
const DIGITS_MIN = 7;

/** A day as ISO 8601 writes it, with or without a time. */
const ISO_DAY = /(?<![\d-])\d{4}-\d\d-\d\d(?![\d-])/g;

/** The text without digits that are not those of a phone number: of days, and of short stretches. The library takes long for each. */
function withoutOthers(text: string): string {
  return text
    .replace(ISO_DAY, blank)
    .replace(STRETCH, (stretch) => (digitsOf(stretch).length < DIGITS_MIN ? blank(stretch) : stretch));
}

/** The text without the numbers found so far, so that the next country does not read them. */
function without(text: string, found: readonly Span[]): string {
  let [rest, at] = ['', 0];
  for (const { start, end } of found.toSorted((a, b) => a.start - b.start)) {
    rest += text.slice(at, start) + blank(text.slice(start, end));
    at = end;
  }
  return rest + text.slice(at);
}

function blank(text: string): string {
  return text.replace(/\d/g, '_');
}

/** The library throws for every number that it does not know. Without a stack trace that is faster. */
function numbersIn(text: string, country: Phone.CountryCode): readonly Phone.NumberFound[] {
  const { findPhoneNumbersInText } = phoneLibrary();
  const { stackTraceLimit } = Error;
  try {
    Error.stackTraceLimit = 0;
    return findPhoneNumbersInText(text, country);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** False for dates, decimals, addresses of machines and parts of longer numbers, although the digits are valid somewhere. */
function couldBePhone(whole: string, span: Span): boolean {
  const text = whole.slice(span.start, span.end);
  const digits = digitsOf(text).length;
  if (digits < 8 || digits > 15 || !standsAlone(whole, span)) return false;
  if (text.startsWith('+')) return true;
  const isDate = /^\d{4}([-/.])\d{1,2}\1\d{1,2}(?!\d)|^\d{1,2}([-/.])\d{1,2}\2\d{4}(?!\d)/.test(text);
  const isDecimal = /^\d+\.\d+$/.test(text) || /\d[,;]/.test(text);
  const isSocialSecurity = /^\d{3}[-. ]\d{2}[-. ]\d{4}$/.test(text);
  const isAddress = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.|$)){4}$/.test(text);
  const hasSlashes = /\/.*\//.test(text);
  const goesOn =
    /[\dA-F][-:./]$/.test(whole.slice(0, span.start)) || /^[-:./][\dA-F]|^,\d{1,2}(?!\d)/.test(whole.slice(span.end));
  return !(isDate || isDecimal || isSocialSecurity || isAddress || hasSlashes || goesOn);
}

function isPhone(scanned: Scanned, span: Span, number: Phone.PhoneNumber): boolean {
  const text = scanned.text.slice(span.start, span.end);
  if (text.startsWith('+') || hasContext(scanned, span, PHONE_WORDS)) return true;
  const before = scanned.text.slice(Math.max(0, span.start - 60), span.start);
  // `POL-2026-0047` is a code.
  if (/\p{L}[-_/.#]$/u.test(before)) return false;
  if (/\D/.test(text)) return isWrittenAsPhone(text, number) || hasContext(scanned, span, LOOSE_WORDS);
  if (ASKS_TO_CALL.test(before) || OWN_NUMBER.test(before)) return true;
  return isWholeText(scanned, span) && (/^0\d{9,10}$/.test(text) || isBareMobile(text));
}

/** An area code in brackets, a zero before it, or the groups in which the country writes the number. */
function isWrittenAsPhone(text: string, number: Phone.PhoneNumber): boolean {
  const digits = digitsOf(text).length;
  if (/^(?:0 ?)?\(\d{2,5}\)/.test(text)) return digits >= 9;
  if (/^0\d*[ .\-/]\d.*\d\d$/.test(text)) return digits >= 10 && digits <= 12;
  const groups = groupsOf(text);
  const national = groupsOf(number.formatNational());
  const abroad = groupsOf(number.formatInternational().replace(/^\+\d+/, ''));
  return groups.split(' ').length > 2 && [national, abroad, `${number.countryCallingCode} ${abroad}`].includes(groups);
}

function groupsOf(text: string): string {
  return (text.match(/\d+/g) ?? []).join(' ');
}

/** Eight digits or more in a row, such as `12345678`: a number that stands for no phone. */
const COUNTING = /01234567|12345678|23456789|34567890/;

/** Ten bare digits. One that starts with 1 can be a time in seconds. */
function isBareMobile(text: string): boolean {
  if (!/^[2-9]\d{9}$/.test(text) || COUNTING.test(text)) return false;
  const { parsePhoneNumberFromString } = phoneLibrary();
  return COUNTRIES.some((country) => parsePhoneNumberFromString(text, country)?.getType() === 'MOBILE');
}

/** In a list of phone numbers, only the first has a word near it. */
function followsAnother(whole: string, { start, end }: Span, taken: Taken): boolean {
  if (/^0\d{9,10}$/.test(whole.slice(start, end))) return true;
  let at = start;
  while (at > 0 && !taken.has(at - 1) && /[\s,;/|&a-z]/i.test(whole.charAt(at - 1))) at -= 1;
  return taken.has(at - 1) && /^\s*(?:[,;/|&]|or|and|oder|und|ou|et|y|o)\s*$/i.test(whole.slice(at, start));
}

/** Numbers with the prefix `00` for other countries: `0041 44 668 18 00`. */
function internationalNumbers(text: string, taken: Taken): Span[] {
  return [...spansOf(/(?<![\d.,:-])00[1-9](?:[ .\-/()]{0,2}\d){7,13}(?![\d]|[-.,:]\d)/g, text)].flatMap(
    ({ start, end, match }) => {
      const span = { start, end };
      const parsed = phoneLibrary().parsePhoneNumberFromString(`+${digitsOf(match[0]).slice(2)}`);
      return !taken.overlaps(span) && parsed?.isValid() === true && couldBePhone(text, span) ? [span] : [];
    },
  );
}

/** Numbers in groups whose space after a word was left out: `my number is415-555-0132`. A word about phones must be near. */
function withoutSpace(scanned: Scanned): Span[] {
  const pattern = /(?<=\p{Ll}{2})\d{2,4}[ .-]\d{2,4}[ .-]\d{2,5}(?![\p{L}\p{N}]|[.-]\d)/gu;
  return [...spansOf(pattern, scanned.text)].flatMap(({ start, end, match }) => {
    const isValid = COUNTRIES.some((country) =>
      phoneLibrary().parsePhoneNumberFromString(match[0], country)?.isValid(),
    );
    const span = { start, end };
    const isNear = hasContext(scanned, span, PHONE_WORDS) || hasContext(scanned, span, LOOSE_WORDS);
    return isValid && digitsOf(match[0]).length >= 10 && isNear ? [span] : [];
  });
}
