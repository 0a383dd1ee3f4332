/** Dates of birth, names, and the patterns that a document adds. */
import { RE2JS } from 're2js';
import type { CustomPii } from '../../../ir/pii.ts';
import { digitsOf, hasContext, spansOf, type Detector, type Span } from './detector.ts';
import { isIban, passesLuhn } from './numbers.ts';

const MONTH =
  '(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)';
const DATE = new RegExp(
  [
    // A time may follow: `1984-05-03T00:00:00Z`.
    String.raw`\b(?:19|20)\d{2}[-/.](?:0?[1-9]|1[0-2])[-/.](?:0?[1-9]|[12]\d|3[01])(?:T\d{2}:\d{2}[\d:.]*(?:Z|[+-]\d{2}:?\d{2})?|\b)`,
    String.raw`\b(?:0?[1-9]|[12]\d|3[01])[-/. ](?:0?[1-9]|1[0-2]|${MONTH})[-/., ]+(?:19|20)?\d{2}\b`,
    String.raw`\b(?:0?[1-9]|1[0-2])[-/](?:0?[1-9]|[12]\d|3[01])[-/](?:19|20)?\d{2}\b`,
    String.raw`\b${MONTH}\.? (?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?,? (?:19|20)\d{2}\b`,
  ].join('|'),
  'gi',
);
const BIRTH =
  /\b(?:born|birth(?:day|date)?|dob|d\.o\.b|geboren|geburtsdatum|n[ée]e? le|nacid[oa]|nacimiento|nat[oa] il)\b|birth|(?:^|_)dob(?:$|_)/i;

export const dob: Detector = {
  type: 'dob',
  find: (scanned) => [...spansOf(DATE, scanned.text)].filter((span) => hasContext(scanned, span, BIRTH)),
};

const NAME = String.raw`\p{Lu}[\p{L}'’-]+`;
const NAMES = new RegExp(
  [
    String.raw`(?<=\b(?:Mr|Mrs|Ms|Miss|Dr|Prof|Sir|Herr|Frau|Mme|Mlle|Sr|Sra|Señor|Señora)\.? )${NAME}(?: ${NAME}){0,3}`,
    String.raw`(?<=\b(?:[Mm]y name is|[Nn]ame: |I am|I'm|[Cc]ustomer|[Pp]atient|[Cc]lient|[Ss]igned by|[Ss]igned,|[Rr]egards,|[Dd]ear|[Ii]ch heiße|[Jj]e m'appelle|[Mm]e llamo)[ \n]{1,2})(?!(?:Mr|Mrs|Ms|Miss|Dr|Prof|Sir)\b)${NAME}(?: \p{Lu}\.)?(?: ${NAME}){0,3}`,
  ].join('|'),
  'gu',
);
const NAME_FIELD =
  /^(?:full|first|last|given|family|sur|customer|patient|client|user|person|contact)?[_ -]?name$|^(?:customer|patient|client|recipient|payee|owner|claimant|insured|beneficiary|(?:account|policy|card)?[_ -]?holder)$/i;

export const name: Detector = {
  type: 'name',
  find: ({ text, field }) =>
    field !== null && NAME_FIELD.test(field) && new RegExp(`^${NAME}(?: (?:\\p{Lu}\\.|${NAME})){0,3}$`, 'u').test(text)
      ? [{ start: 0, end: text.length }]
      : [...spansOf(NAMES, text)],
};

/** Patterns run on the linear-time engine: a document cannot block the process. */
export function customDetector({ name: type, pattern, check }: CustomPii): Detector {
  const regex = RE2JS.compile(RE2JS.translateRegExp(pattern));
  return {
    type,
    find: ({ text }) => {
      const matcher = regex.matcher(text);
      const found: Span[] = [];
      while (matcher.find()) {
        const span = { start: matcher.start(), end: matcher.end() };
        if (span.end > span.start && passes(check, text.slice(span.start, span.end))) found.push(span);
      }
      return found;
    },
  };
}

function passes(check: CustomPii['check'], value: string): boolean {
  if (check === 'luhn') return passesLuhn(digitsOf(value));
  return check !== 'iban' || isIban(value);
}
