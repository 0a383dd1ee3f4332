/** The detectors of personal data: published cases with their figures, then spellings that hide a value, then ordinary text. */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { PHONE_REGIONS, PII_TYPES } from '@sluice-internal/kernel/catalog';
import { getCountries } from 'libphonenumber-js/max';
import { createDetect } from '../../src/detect.ts';
import { EVAL_DATA } from '../../../../test/support/eval-data.ts';

const all = createDetect({ types: PII_TYPES, names: false, custom: [] });
const found = (text: string, field: string | null = null): string[] =>
  all(text, field).map(({ type, start, end }) => `${type}:${text.slice(start, end)}`);

describe('published cases', () => {
  interface Case {
    readonly file: string;
    readonly entity?: string;
    readonly text: string;
    readonly n: number;
    readonly spans: readonly (readonly [number, number])[] | null;
  }
  const TYPES: { readonly [name: string]: string } = {
    US_SSN: 'ssn',
    CREDIT_CARD: 'card',
    IBAN_CODE: 'iban',
    EMAIL_ADDRESS: 'email',
    IP_ADDRESS: 'ip',
    phone_recognizer: 'phone',
  };
  const data = new URL('presidio/recognizer_cases.jsonl', EVAL_DATA);
  const cases = existsSync(data)
    ? readFileSync(data, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Case)
    : [];

  const casesOf = (type: string): readonly Case[] => cases.filter(({ file, entity }) => TYPES[entity ?? file] === type);

  test.for(['ssn', 'card', 'iban', 'email', 'ip', 'phone'])('%s: at least 95 of 100 are found', (type, { skip }) => {
    if (cases.length === 0) skip('the evaluation data is not here');
    const { right, missed, wrong } = score(type, type === 'phone' ? united(casesOf(type)) : casesOf(type));
    expect(right / (right + missed)).toBeGreaterThanOrEqual(0.95);
    expect(right / (right + wrong)).toBeGreaterThanOrEqual(0.95);
  });

  test('phone: with the country of the cases under `regions`, all are found, in both halves of the data', ({
    skip,
  }) => {
    if (cases.length === 0) skip('the evaluation data is not here');
    const own = cases.filter(({ entity }) => entity === 'TR_PHONE_NUMBER');
    const half = (part: number) => own.filter((_, index) => index % 2 === part);
    const figures = [0, 1].map((part) => score('phone', half(part), null, ['TR']));
    expect(figures.map(({ missed }) => missed)).toEqual([0, 0]);
    // The five others are valid numbers of India and Brazil without a word near them: they are not found.
    expect(figures.reduce((sum, { wrong }) => sum + wrong, 0)).toBe(0);
  });

  test('phone: over all files, at least 95 of 100 are found, and at least 95 of 100 that are found are right', ({
    skip,
  }) => {
    if (cases.length === 0) skip('the evaluation data is not here');
    const ofOneCountry = cases.filter(({ entity }) => /_PHONE_|_MOBILE_/.test(entity ?? ''));
    const own = [...united(casesOf('phone')), ...ofOneCountry];
    expect(score('phone', own)).toEqual({ right: 90, missed: 2, wrong: 4 });
  });

  test('phone: few of the numbers of other kinds are taken for a phone number', ({ skip }) => {
    if (cases.length === 0) skip('the evaluation data is not here');
    const detect = createDetect({ types: ['phone'], names: false, custom: [] });
    const others = cases.filter(({ file, entity }) => !/phone|_MOBILE_/i.test(`${file} ${entity}`));
    const wrong = others.filter(({ text }) => detect(text, null).length > 0).length;
    expect(wrong / others.length).toBeLessThan(0.012);
  });

  // The cases of one country expect nothing in the numbers of others, so only what is missed counts.
  test.for([
    ['PH_MOBILE_NUMBER', 35, 0],
    ['TR_PHONE_NUMBER', 24, 2],
  ] as const)('phone, %s: %i are found, and %i bare numbers are not', ([entity, right, missed], { skip }) => {
    if (cases.length === 0) skip('the evaluation data is not here');
    const own = cases.filter((each) => each.entity === entity);
    expect(score('phone', own)).toMatchObject({ right, missed });
    for (const { text } of own.filter(({ text, n }) => n > 0 && /^\d{10}$/.test(text)))
      expect(found(`phone ${text}`)).toEqual([`phone:${text}`]);
  });

  test('dob: every date with day, month and year counts in a field of that name, and none elsewhere', ({ skip }) => {
    if (cases.length === 0) skip('the evaluation data is not here');
    const dates = cases.filter(({ entity }) => entity === 'DATE_TIME');
    const whole = dates.filter(({ text, spans }) => !spans?.some(([from, to]) => isPartial(text.slice(from, to))));
    expect(score('dob', whole, 'date_of_birth')).toEqual({ right: 22, missed: 0, wrong: 0 });
    expect(score('dob', dates, null)).toMatchObject({ right: 0, wrong: 0 });
  });

  test('dob and secret: nothing is found in the cases of the other types', ({ skip }) => {
    if (cases.length === 0) skip('the evaluation data is not here');
    const detect = createDetect({ types: ['dob', 'secret'], names: false, custom: [] });
    expect(cases.filter(({ text }) => detect(text, null).length > 0).map(({ text }) => text)).toEqual([]);
  });

  function score(type: string, own: readonly Case[], field: string | null = null, regions: readonly string[] = []) {
    const detect = createDetect({ types: [type], names: false, custom: [], regions });
    let [right, wrong, missed] = [0, 0, 0];
    for (const { text, n, spans } of own) {
      const spotted = detect(text, field);
      const hits =
        spans === null
          ? Math.min(spotted.length, n)
          : spans.filter(([start, end]) => spotted.some((span) => span.start < end && start < span.end)).length;
      right += hits;
      missed += n - hits;
      wrong += Math.max(0, spotted.length - hits);
    }
    return { right, missed, wrong };
  }

  /** A text that the data has with several settings counts once, with everything that any of them expects. */
  function united(own: readonly Case[]): readonly Case[] {
    return [...Map.groupBy(own, ({ text }) => text).values()].map((same) =>
      same.reduce((most, each) => (each.n > most.n ? each : most)),
    );
  }

  /** Two parts only: no day or no year. */
  function isPartial(date: string): boolean {
    return /^[A-Za-z\d]+[-/][A-Za-z\d]+$/.test(date);
  }
});

test('a sample number in the form of an SSN is found; bare digits like it need a word', () => {
  for (const text of ['123-45-6789', '078-05-1120', '219 09 9999'])
    expect(found(`It is ${text}.`)).toEqual([`ssn:${text}`]);
  expect(found('SSN 123456789')).toEqual(['ssn:123456789']);
  expect(found('123456789')).toEqual([]);
});

test('an address on the network is no phone number, also behind one', () => {
  expect(found('call +41 44 668 18 00, from 203.0.113.77 or 192.168.100.24')).toEqual([
    'phone:+41 44 668 18 00',
    'ip:203.0.113.77',
    'ip:192.168.100.24',
  ]);
  expect(found('phone 212.55.120.34')).toEqual(['ip:212.55.120.34']);
});

describe('a phone number is found', () => {
  test.each([
    ['after a request to call', 'call me at 4155550132', '4155550132'],
    ['with dots', '415.555.0132', '415.555.0132'],
    ['with an extension', '415-555-0132 ext. 12', '415-555-0132 ext. 12'],
    ['with 00 for other countries', 'Office 0041 44 668 18 00', '0041 44 668 18 00'],
    ['with 00 in one piece', '0041446681800', '0041446681800'],
    ['with a zero in brackets', '+49 (0)171 1234567', '+49 (0)171 1234567'],
    ['with a slash', 'Tel 030/1234567', '030/1234567'],
    ['in pairs', '01 42 68 53 00', '01 42 68 53 00'],
    ['with the country code of North America', '1-800-555-0199', '1-800-555-0199'],
    ['without the space before it', 'my number is415-555-0132 now', '415-555-0132'],
    ['in JSON text', '{"phone_number":"5321234567"}', '5321234567'],
  ])('%s', (_, text, expected) => expect(found(text)).toEqual([`phone:${expected}`]));

  test('in a table with short numbers and days', () => {
    const row = (day: number, phone: string): string => `12.5,7,2026-11-${day} ${phone}\t3\n`;
    const text = row(17, '0151 23456789') + row(18, '+44 20 7946 0958') + row(19, '88').repeat(50);
    expect(found(text)).toEqual(['phone:0151 23456789', 'phone:+44 20 7946 0958']);
  });

  test('in a list, and a list with commas is not one number with an extension', () => {
    expect(found('Numbers: 415-555-0132, 4155550133')).toEqual(['phone:415-555-0132', 'phone:4155550133']);
    expect(found('415-555-0132,4155550133')).toEqual(['phone:415-555-0132', 'phone:4155550133']);
  });

  test('where the field says so', () => {
    for (const field of ['phone', 'phone_number', 'homePhone', 'customerMobile'])
      expect(found('5321234567', field)).toEqual(['phone:5321234567']);
    for (const field of ['order', 'id', 'phoneme', 'telemetry']) expect(found('5321234567', field)).toEqual([]);
  });

  test('where it is the whole message and a mobile number; not a time, a counter or an order in a sentence', () => {
    for (const field of [null, 'message', 'text']) expect(found('5321234567', field)).toEqual(['phone:5321234567']);
    for (const text of ['1748503543', '9123456789', 'order 5321234567', 'My order number is 13812345678'])
      expect(found(text)).toEqual([]);
  });
});

describe('regions', () => {
  const inTurkey = createDetect({ types: ['phone'], names: false, custom: [], regions: ['TR'] });

  test('a number of the region is found without a word near it, and no other number is', () => {
    expect(inTurkey('5321234567', null)).toHaveLength(1);
    expect(inTurkey('ara 5321234567 ve 2121234567', null)).toHaveLength(2);
    expect(inTurkey('order 9171234567', null)).toEqual([]);
    expect(found('2121234567')).toEqual([]);
  });

  test('the catalog has the countries of the library', () => {
    expect(PHONE_REGIONS).toEqual(getCountries().toSorted());
  });
});

describe('a value is found however it is spelt', () => {
  test.each([
    ['URL-encoded', 'q=ann%40x.example&b=1', 'email:ann%40x.example'],
    ['in SQL', "SELECT * FROM t WHERE ssn='078-05-1123';", 'ssn:078-05-1123'],
    ['in JSON text', '{"card":"4012888888881881"}', 'card:4012888888881881'],
    ['with a JSON escape', '"ann\\u0040x.example"', 'email:ann\\u0040x.example'],
    ['with an HTML escape', 'ann&#64;x.example', 'email:ann&#64;x.example'],
    ['with zero-width characters', 'ann\u200b@x.exam\u200dple', 'email:ann\u200b@x.exam\u200dple'],
    ['with directional marks', 'SSN \u202e078-05-1123\u202c', 'ssn:078-05-1123'],
    ['in wide digits', '４０１２ ８８８８ ８８８８ １８８１', 'card:４０１２ ８８８８ ８８８８ １８８１'],
    ['with another hyphen', '078‑05‑1123', 'ssn:078‑05‑1123'],
    ['as a phone number in a URL', 'tel=%2B1%20415%20555%200132', 'phone:%2B1%20415%20555%200132'],
    ['as an account in groups', 'IBAN: DE89 3704 0044 0532 0130 00.', 'iban:DE89 3704 0044 0532 0130 00'],
    ['as an account in small letters', 'gb29nwbk60161331926819', 'iban:gb29nwbk60161331926819'],
    ['as an address of version 6', 'from [2001:db8::1]:443', 'ip:2001:db8::1'],
    ['as a date of birth', 'She was born on 3 May 1984.', 'dob:3 May 1984'],
    ['as a time of birth', 'dob: 1984-05-03T00:00:00.000Z', 'dob:1984-05-03T00:00:00.000Z'],
    ['as an API key', 'use sk-proj-abcdefghijklmnop1234', 'secret:sk-proj-abcdefghijklmnop1234'],
    ['as a password', 'password: hunter2!x', 'secret:hunter2!x'],
    ['as a password in short', 'user=ann pass=hunter2!x', 'secret:hunter2!x'],
    [
      'as a token of a header',
      'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl',
      'secret:eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl',
    ],
  ])('%s', (_, text, expected) => expect(found(text)).toEqual([expected]));

  test('and the field says what a number is', () => {
    expect(found('078051123', 'ssn')).toEqual(['ssn:078051123']);
    expect(found('1984-05-03', 'date_of_birth')).toEqual(['dob:1984-05-03']);
    expect(found('hunter2x', 'password')).toEqual(['secret:hunter2x']);
  });
});

describe('ordinary text is left alone', () => {
  test.each([
    'Order 123456789 of 2026-05-03 costs 1,234.56 USD.',
    'Build 20260503123456 of version 1.2.3 took 14:03:11.',
    'The meeting is on 3 May 2026 at 10:30.',
    'std::cout << MyClass::toString();',
    'sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    'ISBN 978-3-16-148410-0, page 12-34',
    'commit 4012888 touches 5 files, see @types/node',
    'Your password expired yesterday.',
    'Reisepass C01234565 and boarding pass 2026-11-16/A',
    'ratio 1:2:3:4 and 100 % of 3.14159265358979',
    '{"id":"3f2504e0-4f89-11d3-9a0c-0305e82c3301","count":1748503543012}',
  ])('%s', (text) => expect(found(text)).toEqual([]));

  test('and an order number is not a social security number', () => {
    expect(found('078051123', 'order')).toEqual([]);
  });
});

test('names are found where a document asks for them', () => {
  const detect = createDetect({ types: [], names: true, custom: [] });
  const names = (text: string, field: string | null = null): string[] =>
    detect(text, field).map(({ start, end }) => text.slice(start, end));
  expect(names('Dear Mr. Plum, my name is Ann Lee.')).toEqual(['Plum', 'Ann Lee']);
  for (const field of ['customer_name', 'owner', 'claimant', 'policy_holder', 'accountHolder'])
    expect(names('Ann Lee', field)).toEqual(['Ann Lee']);
  expect(names('platform-team', 'owner')).toEqual([]);
  expect(names('The Order was Sent to Berlin.')).toEqual([]);
});

test('a pattern of a document has a check, and takes linear time', () => {
  const custom = [
    { name: 'policy', pattern: 'POL-[0-9]{6}' },
    { name: 'member', pattern: '[0-9]{10}', check: 'luhn' as const },
    { name: 'slow', pattern: '(x+x+)+y' },
  ];
  const detect = createDetect({ types: [], names: false, custom });
  expect(detect('POL-123456 and 1234567897, not 1234567890', null).map(({ type }) => type)).toEqual([
    'policy',
    'member',
  ]);
  expect(detect('x'.repeat(20_000), null)).toEqual([]);
});
