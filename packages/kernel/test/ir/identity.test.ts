/** Names of people are compared as a reader reads them: form, case, blanks, invisible characters and letters that look alike. */
import { expect, test } from 'vitest';
import { identitiesOf, personIn, samePerson } from '@sluice-internal/kernel/ir';

/** Spellings of `kim`. */
const KIM = [
  'Kim',
  'KIM',
  ' kim',
  'kim\t',
  '\u00A0kim\u3000',
  '\u2800kim',
  'k\u200Bim',
  'kim\uFEFF',
  'k\u00ADim',
  '\u202Ekim',
  '\uFF4B\uFF49\uFF4D',
  '\u{1D4F4}\u{1D4F2}\u{1D4F6}',
  'k\u0456m',
  '\u041Aim',
  'k\u0131m',
];

test.each(KIM)('%j is kim', (spelling) => expect(samePerson('kim', spelling)).toBe(true));

test.each([
  ['Iris', 'lris'],
  ['paypal', '\u0440\u0430\u0443\u0440\u0430l'],
  ['bob', 'b0b'],
  ['Strasse', 'stra\u00DFe'],
  ['\u039F\u0394\u039F\u03A3', '\u03BF\u03B4\u03BF\u03C2'],
  ['jos\u00E9', 'jose\u0301'],
  ['jim', 'jirn'],
])('%s looks like %s', (one, other) => {
  expect(samePerson(one, other)).toBe(true);
  expect(samePerson(other, one)).toBe(true);
});

test.each([
  ['kim', 'kin'],
  ['ann', 'anna'],
  ['jose', 'jos\u00E9'],
  ['kim', 'k im'],
  ['anna-1', 'anna-2'],
  ['\u043C\u0438\u043B\u0430', '\u043C\u0438\u0440\u0430'],
])('%s is not %s', (one, other) => expect(samePerson(one, other)).toBe(false));

test('a list gives its own spelling, and the exact one first', () => {
  expect(personIn(['Anna', 'ben'], 'anna ')).toBe('Anna');
  expect(personIn(['Anna', 'anna'], 'anna')).toBe('anna');
  expect(personIn(['ben'], 'anna')).toBeUndefined();
});

test('the compared form stays the same when it is compared again', () => {
  for (const name of [...KIM, 'M\u00FCller', '\u0418\u0432\u0430\u043D', '\u6797', '']) {
    const [form] = identitiesOf(name);
    expect(identitiesOf(form)[0]).toBe(form);
  }
});
