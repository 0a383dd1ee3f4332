/** Social security numbers, payment cards, bank accounts: numbers with a form and a check. */
import { digitsOf, hasContext, isWholeText, spansOf, standsAlone } from './detector.ts';
import type { Detector, Scanned, Span } from './detector.ts';

/** Numbers of advertisements that were never issued to a person. Bare digits like these count only with a word near them. */
const NEVER_ISSUED = new Set(['078051120', '123456789', '219099999', '457555462']);
const SSN_WORDS = /\b(?:ssn|social[\s_-]?security|soc\.?\s?sec|tax[\s_-]?id|tin|itin)\b/i;
/** `NY 12345-6789` is the end of an address. */
const ZIP_BEFORE = /(?:, [A-Z]{2}|\bzip(?: code)?|\bbox|\bpostal code):? $/i;

export const ssn: Detector = {
  type: 'ssn',
  find: (scanned) =>
    [...spansOf(/(?<![\d.-])\d{3}([-. ]?)\d{2}([-. ]?)\d{4}(?![\d]|[-.]\d)/g, scanned.text)].filter(
      ({ match, ...span }) =>
        standsAlone(scanned.text, span) && isIssued(digitsOf(match[0])) && isWrittenAsSsn(scanned, span, match),
    ),
};

function isWrittenAsSsn(scanned: Scanned, span: Span, [found, first = '', second = '']: RegExpExecArray): boolean {
  const isWhole = isWholeText(scanned, span);
  if (first === '' && second === '')
    return hasContext(scanned, span, SSN_WORDS) || (isWhole && !NEVER_ISSUED.has(digitsOf(found)));
  // One separator left out is a slip; two different ones are another number.
  if (first !== '' && second !== '' && first !== second) return false;
  if (first === '' && second === '-' && ZIP_BEFORE.test(scanned.text.slice(0, span.start))) return false;
  return first !== '.' || isWhole || SSN_WORDS.test(scanned.text);
}

function isIssued(digits: string): boolean {
  const area = digits.slice(0, 3);
  return area !== '000' && area !== '666' && area < '900' && digits.slice(3, 5) !== '00' && digits.slice(5) !== '0000';
}

/** Prefixes of the card schemes with the lengths that they issue. */
const CARD_SCHEMES: readonly (readonly [prefix: RegExp, lengths: readonly number[]])[] = [
  [/^4/, [13, 16, 19]],
  [/^(?:5[1-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720))/, [16]],
  [/^3[47]/, [15]],
  [/^3(?:0[0-5]|[689])/, [14, 16, 19]],
  [/^35(?:2[89]|[3-8])/, [16, 17, 18, 19]],
  [/^(?:6011|64[4-9]|65|62)/, [16, 17, 18, 19]],
  [/^(?:50|5[6-9]|6)/, [12, 13, 14, 15, 16, 17, 18, 19]],
  [/^1/, [15]],
];

export const card: Detector = {
  type: 'card',
  find: ({ text }) => [...spansOf(/(?<![\d.])\d(?:[ -]?\d){11,18}(?!\d)/g, text)].flatMap((span) => cardIn(text, span)),
};

/** A run of digits and separators can hold several cards; each starts at a group. */
function cardIn(text: string, span: Span): Span[] {
  const candidates = [span, ...groupsWithin(text, span)];
  const found = candidates.find((each) => standsAlone(text, each) && isCard(text.slice(each.start, each.end)));
  return found === undefined ? [] : [{ start: found.start, end: found.end }];
}

function groupsWithin(text: string, { start, end }: Span): Span[] {
  const part = text.slice(start, end);
  const starts = [0, ...[...part.matchAll(/[ -]/g)].map(({ index }) => index + 1)];
  const ends = [...[...part.matchAll(/[ -]/g)].map(({ index }) => index), part.length];
  return starts.flatMap((from) =>
    ends.flatMap((to) => (to - from >= 12 ? [{ start: start + from, end: start + to }] : [])),
  );
}

function isCard(text: string): boolean {
  const digits = digitsOf(text);
  const [first = '', ...groups] = text.split(/[ -]/);
  // Groups start with four digits, or are all alike. Other groups are several numbers.
  if (first.length < 4 && groups.slice(0, -1).some(({ length }) => length !== first.length)) return false;
  if (/^(\d)\1+$/.test(digits) || !passesLuhn(digits)) return false;
  return CARD_SCHEMES.some(([prefix, lengths]) => prefix.test(digits) && lengths.includes(digits.length));
}

export function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let index = 0; index < digits.length; index++) {
    const digit = Number(digits[digits.length - 1 - index]);
    sum += index % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2;
  }
  return digits !== '' && sum % 10 === 0;
}

/** Lengths of the registry of IBANs. */
const IBAN_LENGTHS: { readonly [country: string]: number } = Object.fromEntries(
  (
    'AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 ' +
    'FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ' +
    'ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 ' +
    'SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30'
  )
    .split(' ')
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
);

export const iban: Detector = {
  type: 'iban',
  find: ({ text }) =>
    [...spansOf(/(?<![A-Za-z0-9])([A-Z]{2}|[a-z]{2})\d{2}(?:[ -]?[A-Za-z0-9]){10,32}/g, text)].flatMap(
      ({ start, match }) => {
        const length = IBAN_LENGTHS[(match[1] ?? '').toUpperCase()];
        const end = length === undefined ? null : endAfter(match[0], length);
        if (end === null || !isIban(match[0].slice(0, end))) return [];
        const span = { start, end: start + end };
        return standsAlone(text, span) ? [span] : [];
      },
    ),
};

/** The place behind the given number of letters and digits. */
function endAfter(text: string, count: number): number | null {
  let seen = 0;
  for (let index = 0; index < text.length; index++) {
    if (/[A-Za-z0-9]/.test(text[index] ?? '')) seen += 1;
    if (seen === count) return index + 1;
  }
  return null;
}

export function isIban(text: string): boolean {
  const plain = text.replace(/[ -]/g, '').toUpperCase();
  if (IBAN_LENGTHS[plain.slice(0, 2)] !== plain.length) return false;
  let rest = 0;
  for (const character of plain.slice(4) + plain.slice(0, 4))
    for (const digit of String(Number.parseInt(character, 36))) rest = (rest * 10 + Number(digit)) % 97;
  return rest === 1;
}
