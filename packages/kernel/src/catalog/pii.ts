/** The kinds of personal data, and the countries whose phone numbers can be checked. */

/** A kind that a pattern finds. */
export interface PiiPattern {
  readonly pattern: RegExp;
  /** One of these words must be near the match, or in the name of its field. */
  readonly words?: RegExp;
}

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

/** To add a kind that a pattern finds, add a row. */
export const PII_PATTERNS = {
  email: {
    pattern:
      /(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}][\p{L}\p{N}._%+'-]{0,63}@(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.)+(?:\p{L}{2,24}|xn--[a-z0-9-]{1,59})(?![\p{L}\p{N}])/giu,
  },
  dob: {
    pattern: DATE,
    words:
      /\b(?:born|birth(?:day|date)?|dob|d\.o\.b|geboren|geburtsdatum|n[ée]e? le|nacid[oa]|nacimiento|nat[oa] il)\b|birth|(?:^|_)dob(?:$|_)/i,
  },
} satisfies { readonly [type: string]: PiiPattern };

/** The other kinds. Each has a detector in `packages/pii/src/detectors`. */
const DETECTED = ['secret', 'iban', 'card', 'ssn', 'phone', 'ip'] as const;
export type DetectedPii = (typeof DETECTED)[number];

export const PII_TYPES = [...DETECTED, ...(Object.keys(PII_PATTERNS) as (keyof typeof PII_PATTERNS)[])] as const;

/** By ISO 3166-1. A test compares them with `libphonenumber-js`. */
export const PHONE_REGIONS = `
AC AD AE AF AG AI AL AM AO AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BW BY BZ CA
CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR
GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GT GU GW GY HK HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP
KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR
MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PR PS PT PW PY QA RE RO
RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TA TC TD TG TH TJ TK TL TM TN TO TR TT
TV TW TZ UA UG US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW
`
  .trim()
  .split(/\s+/) as [string, ...string[]];
