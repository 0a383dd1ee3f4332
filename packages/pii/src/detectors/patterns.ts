/** Kinds that a pattern finds: those of the catalog, names, and those that a document adds. */
import { RE2JS } from 're2js';
import type { PiiPattern } from '@sluice-internal/kernel/catalog';
import type { CustomPii } from '@sluice-internal/kernel/ir';
import { digitsOf, hasContext, spansOf, type Detector, type Span } from './detector.ts';
import { isIban, passesLuhn } from './numbers.ts';

export function patternDetector(type: string, { pattern, words }: PiiPattern): Detector {
  return {
    type,
    find: (scanned) =>
      [...spansOf(pattern, scanned.text)].filter((span) => words === undefined || hasContext(scanned, span, words)),
  };
}

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
