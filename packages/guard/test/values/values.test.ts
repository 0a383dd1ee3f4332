/** Values of an answer against the observations: spellings, derived numbers, values of other objects, citations. No word is read. */
import { describe, expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Finding, Observation } from '../../src/values/evidence.ts';
import { judgeUtterance } from '../../src/values/grounding.ts';

interface Case {
  readonly seen?: readonly Partial<Observation>[];
  readonly userTexts?: readonly string[];
  readonly given?: readonly string[];
  readonly values?: 'names' | 'all';
  readonly cite?: boolean;
  readonly fields?: { readonly [field: string]: Json };
}

function findingsIn(text: string, { seen = [], userTexts = [], given = [], ...rules }: Case): readonly Finding[] {
  return judgeUtterance(
    { fields: {}, text, cite: false, values: 'names', ...rules },
    {
      observations: seen.map((each, at) => ({
        id: `bot.1.${at + 1}.0`,
        turn: at + 1,
        tool: 'find',
        args: {},
        ok: true,
        ...each,
      })),
      userTexts,
      given,
      tools: [
        { name: 'find', neutral: false },
        { name: 'calculate', neutral: true },
      ],
    },
  );
}
const kindsIn = (text: string, given: Case): readonly string[] => findingsIn(text, given).map(({ kind }) => kind);
const saw = (result: Json): Case => ({ seen: [{ result }] });

describe('the same value, written another way', () => {
  test.each<[string, string, Json]>([
    ['a time of an ISO timestamp', 'It was seen at 14:03.', { at: '2026-06-01T14:03:11Z' }],
    ['a date of an ISO timestamp', 'It was seen on June 1, 2026.', { at: '2026-06-01T14:03:11Z' }],
    ['twelve hours', 'It was seen at 2:03 pm.', { at: '2026-06-01T14:03:11Z' }],
    ['separators of thousands', 'It costs $12,450.75.', { total: 12450.75 }],
    ['a decimal comma', 'Das kostet 12.450,75 €.', { total: 12450.75 }],
    ['an apostrophe', "Das kostet 12'450.75 CHF.", { total: 12450.75 }],
    ['k', 'It costs $12.5k.', { total: 12480 }],
    ['M', 'There are 12.5M rows.', { rows: 12480311 }],
    ['cents', 'It costs $49.50.', { amount: 4950 }],
    ['a unit', 'It takes 480ms.', { p95_ms: 480 }],
    ['seconds for milliseconds', 'It takes 2.48 s.', { p95_ms: 2480 }],
    ['a German date', 'Es kommt am 05.06.2026.', { due: '2026-06-05' }],
    ['a slashed date', 'It is due on 06/05/2026.', { due: '2026-06-05' }],
    ['a French date', 'Il arrive le 1er juin 2026.', { due: '2026-06-01' }],
    ['a Russian date', '13 марта 2026', { due: '2026-03-13' }],
    ['a Japanese date', '2026年3月13日', { due: '2026-03-13' }],
    ['a version', 'It is v5.18.2.', { release: '5.18.2' }],
    ['a number that is marked as rounded', 'It used ~413 kWh.', { kwh: 412.75 }],
    ['a part of an identifier', 'The card ends in 12345.', { card: 'card_12345' }],
    ['a URL without its last slash', 'See https://a.example/x/7731.', { url: 'https://a.example/x/7731/' }],
    ['an identifier in a URL', 'The order is A-7731.', { url: 'https://a.example/orders/A-7731' }],
    ['a percentage', 'It is 12.5 % of it.', { share: '12.5%' }],
  ])('%s', (_, text, result) => expect(kindsIn(text, saw(result))).toEqual([]));

  test.each<[string, string, Json]>([
    ['another minute', 'It was seen at 14:04.', { at: '2026-06-01T14:03:11Z' }],
    ['another year', 'It was seen on June 1, 2027.', { at: '2026-06-01T14:03:11Z' }],
    ['another cent', 'It costs $12,450.76.', { total: 12450.75 }],
    ['another thousand', 'It costs $12.9k.', { total: 12480 }],
    ['another unit value', 'It takes 840ms.', { p95_ms: 480 }],
    ['another month', 'Il arrive le 1er juillet 2026.', { due: '2026-06-01' }],
    ['another day', '2026年3月14日', { due: '2026-03-13' }],
    ['another version', 'It is v5.17.2.', { release: '5.18.2' }],
    ['another identifier', 'The order is A-7732.', { id: 'A-7731' }],
    ['another address', 'Write to anna@b.example.', { mail: 'ann@b.example' }],
    ['another URL', 'See https://a.example/y.', { url: 'https://a.example/x' }],
    ['another percentage', 'It is 21.5 % of it.', { share: '12.5%' }],
    ['another large number', 'There are 1,841 rows.', { rows: 1814 }],
  ])('but not %s', (_, text, result) => expect(kindsIn(text, saw(result))).toEqual(['value']));

  test.each(['It uses SHA256.', 'Dates follow ISO-8601.', 'It is UTF-8.', 'Step 1 of 12.', 'All 100 % of it.'])(
    'no value: %s',
    (text) => expect(kindsIn(text, saw('x'))).toEqual([]),
  );
});

describe('where a value may come from', () => {
  test('people, the author, and the message of a failed call', () => {
    expect(kindsIn('It is web-1709.', { userTexts: ['What about web-1709?'] })).toEqual([]);
    expect(kindsIn('A bag is $50.', { given: ['Each bag costs $50.'] })).toEqual([]);
    expect(kindsIn('It is web-1709.', { seen: [{ ok: false, error: 'web-1709 is unknown' }] })).toEqual([]);
    expect(kindsIn('It is web-1709.', {})).toEqual(['value']);
  });

  test('the arguments of a call that found nothing make nothing known', () => {
    expect(kindsIn('It is web-1709.', { seen: [{ args: { id: 'web-1709' }, result: [] }] })).toEqual(['value']);
    expect(kindsIn('It is web-1709.', { seen: [{ args: { id: 'web-1709' }, result: { up: true } }] })).toEqual([]);
  });

  test('a tool that only calculates knows no more than its arguments', () => {
    const calculated = { tool: 'calculate', args: { expression: '612 * 3' }, result: '1836' };
    expect(kindsIn('1836', { seen: [calculated] })).toEqual(['value']);
    expect(kindsIn('1836', { seen: [{ result: '612' }, calculated] })).toEqual([]);
  });

  test('a day without its month, which a person named', () => {
    const asked = { userTexts: ['Move it from the 5th to the 6th.'], given: ['Today is 2026-05-01.'] };
    expect(kindsIn('There is one on May 6th.', asked)).toEqual([]);
    expect(kindsIn('There is one on May 7th.', asked)).toEqual(['value']);
  });

  test('an agent without tools has nothing to compare with', () => {
    const utterance = { fields: {}, text: 'It is web-1709.', cite: false, values: 'names' } as const;
    expect(judgeUtterance(utterance, { observations: [], userTexts: [], given: [], tools: [] })).toEqual([]);
  });
});

describe('derived by one operation', () => {
  const legs = saw([
    { flight: 'HAT136', prices: { economy: 152, business: 400 } },
    { flight: 'HAT039', prices: { economy: 103, business: 283 } },
  ]);
  test.each<[string, string, Case]>([
    ['the total of a list by one field', 'Together that is $255.', legs],
    ['the sum of the amounts before it', '- $152\n- $283\n\nΣ: $435', legs],
    ['the sum of the amounts after it', '$435 in all: $152 and $283', legs],
    ['a sum of subtotals that are themselves derived', '$152 $103 = $255, $400 $283 = $683, in all $938', legs],
    ['so many times an amount', '2 at $152 is $304.', legs],
    ['a calculation that is written out', '$152 + $103 + $283 = $538', legs],
    ['a difference', 'The old one is $152, the new one is $400: $248.', legs],
    ['a share', 'Of 412 rows 103 are late: 25 %.', saw({ rows: 412, late: 103 })],
  ])('%s', (_, text, given) => {
    expect(kindsIn(text, given)).toEqual([]);
    const changed = text.replace(/(?<=\d)\d(?=\D*$)/, (digit) => String((Number(digit) + 3) % 10));
    expect(kindsIn(changed, given), changed).toEqual(['value']);
  });

  test('a calculation that does not add up', () => {
    expect(kindsIn('$152 + $103 = $400', legs)).toEqual(['value']);
    expect(kindsIn('$400 ($152 + $103)', legs)).toEqual(['value']);
  });

  test('made-up amounts stay made up after many numbers', () => {
    const many = saw(Array.from({ length: 16 }, (_, index) => 37 + index * 61));
    const invented = Array.from({ length: 40 }, (_, index) => 5003 + index * 117);
    expect(invented.filter((amount) => kindsIn(`It costs $${amount}.`, many).length === 0)).toEqual([]);
  });
});

describe('a value of another object', () => {
  const flights = saw([
    { flight_number: 'HA110', date: '2026-05-24', prices: { economy: 105, business: 310 } },
    { flight_number: 'HA172', date: '2026-05-25', prices: { economy: 102, business: 290 } },
  ]);
  test.each(['HA110: $105', '1. HA110\n   - $105\n   - $310', 'HA110: $105, HA172: $102', 'HA110 am 24. Mai 2026'])(
    'honest: %s',
    (text) => expect(kindsIn(text, flights)).toEqual([]),
  );
  test.each(['HA110: $102', '1. HA110\n   - $102', '- HA172\n  - $310', 'HA110 am 25. Mai 2026', 'May 24 – May 24'])(
    'not: %s',
    (text) => expect(kindsIn(text, flights)).toEqual(['value']),
  );
  test('a person may name it', () => {
    expect(kindsIn('HA110 is above $102.', { ...flights, userTexts: ['At most $102.'] })).toEqual([]);
    expect(kindsIn('HA110 moves to May 25.', { ...flights, userTexts: ['To May 25, please.'] })).toEqual([]);
  });
  test('a line that announces a list has a date of the list', () => {
    const seen = [{ result: [{ flight_number: 'HA110', date: '2026-05-24' }] }, { result: { stay: '2026-05-23' } }];
    expect(kindsIn('24 May 2026:\n- HA110', { seen })).toEqual([]);
    expect(kindsIn('23 May 2026:\n- HA110', { seen })).toEqual(['value']);
  });
  test('the day after counts only where an observation shows a time of the next day', () => {
    expect(kindsIn('It is there on June 6.', saw({ date: '2026-06-05', arrives: '07:05:00+1' }))).toEqual([]);
    expect(kindsIn('It is there on June 6.', saw({ date: '2026-06-05', arrives: '07:05:00' }))).toEqual(['value']);
  });
});

describe('a result that is too long to be read as a whole', () => {
  const LONG = 'a line of the log\n'.repeat(30_000);

  test('does not vouch for a value that it does not have', () => {
    const [finding] = findingsIn('The order is A-7731.', saw(LONG));
    expect(finding?.reason).toContain('after its first 500,000 characters');
  });
  test.each([
    ['It costs $77.31.', 'price: $77.31'],
    ['It was seen at 14:03.', 'seen at 14:03'],
  ])('vouches for a value that its end has: %s', (text, end) => {
    expect(kindsIn(text, saw(`${LONG}${end}\n`))).toEqual([]);
  });
});

describe('citations and claimed calls', () => {
  const seen = [{ result: { key: 'K-1700' } }, { result: { key: 'K-2300' } }];
  const reasons = (citations: readonly Json[]): readonly string[] =>
    findingsIn('The key is K-2300.', { seen, cite: true, fields: { citations: [...citations] } }).map(
      ({ reason }) => reason,
    );

  test('name observations by id or by number', () => {
    for (const good of [['bot.1.2.0'], [2], ['2'], ['obs.2'], ['#2'], ['observation 2']])
      expect(reasons(good)).toEqual([]);
    expect(reasons([1])).toEqual(['states K-2300, which occurs in none of the observations that it cites']);
    for (const bad of [3, 0, '2.5', 'two'])
      expect(reasons([bad])).toEqual([`cites ${bad}, which is not the id of an observation`]);
    expect(reasons([])).toEqual(['cites no observation']);
  });

  test('a listed call must have succeeded', () => {
    const fields = { claims: [{ tool: 'find' }] };
    expect(kindsIn('ok', { fields })).toEqual(['claim']);
    expect(kindsIn('ok', { fields, seen: [{ ok: false, error: 'no' }] })).toEqual(['claim']);
    expect(kindsIn('ok', { fields, seen: [{ result: 'ok' }] })).toEqual([]);
  });
});
