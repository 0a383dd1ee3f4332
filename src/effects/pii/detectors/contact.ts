/** E-mail addresses, phone numbers and addresses on the network. */
import { isIP } from 'node:net';
import type * as Phone from 'libphonenumber-js/max';
import { requireOptional } from '../../optional-package.ts';
import { digitsOf, hasContext, spansOf, standsAlone } from './detector.ts';
import type { Detector, Scanned, Span } from './detector.ts';

export const email: Detector = {
  type: 'email',
  find: ({ text }) => [
    ...spansOf(
      /(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}][\p{L}\p{N}._%+'-]{0,63}@(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.)+(?:\p{L}{2,24}|xn--[a-z0-9-]{1,59})(?![\p{L}\p{N}])/giu,
      text,
    ),
  ],
};

/** Countries whose national numbers are looked for. A number with `+` is found for every country. */
const COUNTRIES: readonly Phone.CountryCode[] = [
  'US',
  'GB',
  'DE',
  'FR',
  'IL',
  'IN',
  'BR',
  'JP',
  'CN',
  'TR',
  'PH',
  'IT',
  'ES',
];
const PHONE_WORDS =
  /\b(?:phone|tel|telephone|telefon\w*|mobile|cell|call|fax|dial|contact|whatsapp|sms|text|reach|number|numaram|cep|handy|mobil|téléphone|telepono|teléfono|móvil)\b|電話|电话/i;
/** Digits in groups, or with an area code in brackets: people write phone numbers so, and programs do not. */
const GROUPED = /^\+|^\(\d{2,5}\)|^\(?0?\d{2,4}\)?[ .\-/]\d{2,4}[ .\-/]?\d{2,4}/;

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
      if (!/\d.*\d.*\d.*\d.*\d.*\d.*\d/s.test(scanned.text)) return [];
      const found: Span[] = [];
      const { findPhoneNumbersInText } = phoneLibrary();
      for (const country of [...(regions as readonly Phone.CountryCode[]), ...others])
        for (const { startsAt: start, endsAt: end } of findPhoneNumbersInText(scanned.text, country))
          if (
            !found.some((other) => start < other.end && other.start < end) &&
            isPhone(scanned, { start, end }, regions.includes(country) || found.length > 0)
          )
            found.push({ start, end });
      return found;
    },
  };
}

/** `isExpected`: the number needs no word near it. A list of phone numbers, too, names the first one only. */
function isPhone(scanned: Scanned, span: Span, isExpected: boolean): boolean {
  const text = scanned.text.slice(span.start, span.end);
  const digits = digitsOf(text).length;
  if (digits < 8 || digits > 15 || /^\d{4}-\d{2}-\d{2}/.test(text) || isIP(text) !== 0) return false;
  if (!standsAlone(scanned.text, span)) return false;
  if (text.startsWith('+')) return true;
  if (GROUPED.test(text)) return !/^\d{3}[-. ]\d{2}[-. ]\d{4}$/.test(text);
  const isWhole = scanned.field === null && span.start === 0 && span.end === scanned.text.length;
  return isExpected || hasContext(scanned, span, PHONE_WORDS) || (isWhole && /^0|^\(/.test(text));
}

const IP_V4 = /(?<![\w.:])\d{1,3}(?:\.\d{1,3}){3}(?:\/\d{1,3}(?!\d))?/g;
const IP_V6 = /(?<![\w.:])[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]*(?:%\w+)?(?:\/\d{1,3}(?!\d))?/g;

export const ip: Detector = {
  type: 'ip',
  find: ({ text }) =>
    [...spansOf(IP_V4, text), ...spansOf(IP_V6, text)].flatMap(({ start, match }) => {
      const address = addressIn(match[0]);
      if (address === null) return [];
      const span = { start, end: start + address.length };
      return /^[\w:]/.test(text.slice(span.end, span.end + 1)) ? [] : [span];
    }),
};

/** The address with its prefix length, or without one that is not possible. */
function addressIn(found: string): string | null {
  const [start = '', prefix] = found.split('/');
  // A sentence may end behind the address.
  const whole = start.replace(/\.$/, '').replace(/(?<=[^:]):$/, '');
  const version = isIP(whole);
  if (version === 0) return null;
  const isPossible = prefix !== undefined && whole === start && Number(prefix) <= (version === 4 ? 32 : 128);
  return isPossible ? `${whole}/${prefix}` : whole;
}
