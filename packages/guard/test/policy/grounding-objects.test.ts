/** Values that belong to another thing, sums that do not add up, failures that are not mentioned, and claims in further languages. */
import { describe, expect, test } from 'vitest';
import { evidenceOf, judgeUtterance } from '../../src/values/grounding.ts';
import { wordsOf } from '../../src/values/tool-words.ts';
import type { Json } from '@sluice-internal/kernel/expr';
import type { ToolDef } from '@sluice-internal/kernel/ir';

interface Seen {
  readonly tool?: string;
  readonly args?: Json;
  readonly result?: Json;
  readonly error?: string;
  readonly refused?: string;
}
interface Setting {
  readonly seen: readonly Seen[];
  readonly userTexts?: readonly string[];
  readonly given?: readonly string[];
  readonly tools?: { readonly [name: string]: 'read' | 'write' };
}
const TOOLS = { 'flights.search': 'read', 'flights.book': 'write' } as const;

function kindsIn(text: string, { seen, userTexts = [], given = [], tools = TOOLS }: Setting): readonly string[] {
  const evidence = evidenceOf({
    observations: seen.map(({ tool = 'flights.search', args = {}, error, result = null, refused }, at) => ({
      id: `o${at}`,
      turn: at + 1,
      tool,
      args,
      ok: error === undefined,
      ...(error === undefined ? { result } : { error }),
      ...(refused === undefined ? {} : { refused }),
    })),
    userTexts,
    given,
    since: null,
    confirmed: [],
    tools: Object.entries(tools).map(([name, effect]) =>
      wordsOf(name, { description: '', input: true, effect } as unknown as ToolDef),
    ),
  });
  const utterance = { fields: {}, text, answer: text, cite: false, claims: true, values: 'names' } as const;
  return judgeUtterance(utterance, evidence).findings.map(({ kind }) => kind);
}

const FLIGHTS = [
  { flight_number: 'HA110', date: '2026-05-24', prices: { economy: 105, business: 310 } },
  { flight_number: 'HA172', date: '2026-05-25', prices: { economy: 102, business: 290 } },
];
const flights = { seen: [{ result: FLIGHTS }] };

describe('the amount of another thing', () => {
  test.each([
    'Flight HA110 costs $105.',
    '1. HA110\n   - Economy price: $105\n   - Business price: $310',
    'HA110: $105, HA172: $102',
  ])('%s', (text) => expect(kindsIn(text, flights)).toEqual([]));
  test.each([
    'Flight HA110 costs $102.',
    '1. HA110\n   - Economy price: $102',
    '- HA172\n  - Price: $310',
    'HA110 costs $005.',
  ])('but not %s', (text) => expect(kindsIn(text, flights)).toEqual(['value']));
  test('a person may name it, and it may be a sum', () => {
    expect(kindsIn('HA110 is above your limit of $102.', { ...flights, userTexts: ['At most $102.'] })).toEqual([]);
    expect(kindsIn('The fare of HA110 and HA172 is $207.', flights)).toEqual([]);
    expect(kindsIn('The fare of HA110 and HA172 is $208.', flights)).toEqual(['value']);
  });
  test('an amount of the instructions is not a price, but may be a fee', () => {
    const given = ['Each extra bag costs $50. A certificate is $100.'];
    expect(kindsIn('HA110\n- Economy price: $105\n- Extra bag: $50', { ...flights, given })).toEqual([]);
    expect(kindsIn('HA110\n  - Economy price: $100', { ...flights, given })).toEqual(['value']);
  });
});

describe('the date of another thing', () => {
  const booking = {
    booking_id: 'B77XQ',
    created_at: '2026-05-11',
    flights: [{ flight_number: 'HA110', date: '2026-05-24' }],
  };
  test('a label names the field', () => {
    expect(kindsIn('1. B77XQ\n   - Flight date: 2026-05-24', { seen: [{ result: booking }] })).toEqual([]);
    expect(kindsIn('1. B77XQ\n   - Booking date: 2026-05-11', { seen: [{ result: booking }] })).toEqual([]);
    expect(kindsIn('1. B77XQ\n   - Flight date: 2026-05-11', { seen: [{ result: booking }] })).toEqual(['value']);
  });
  test('a line that announces a list has a date of the list', () => {
    const seen = [{ result: [FLIGHTS[0] as Json] }, { result: { stay: '2026-05-23' } }];
    expect(kindsIn('Flights on 24 May 2026:\n- HA110', { seen })).toEqual([]);
    expect(kindsIn('Flights on 23 May 2026:\n- HA110', { seen })).toEqual(['value']);
  });
  test('a label does not borrow the date of today', () => {
    const given = ['Today is 2026-05-15.'];
    expect(kindsIn('Today is May 15.', { ...flights, given })).toEqual([]);
    expect(kindsIn('Departure: May 15', { ...flights, given })).toEqual(['value']);
  });
});

test.each([
  ['$207 ($105 + $102)', []],
  ['$105 + $102 = $207', []],
  ['$310 ($105 + $102)', ['value']],
  ['$105 + $102 = $310', ['value']],
])('a calculation that is written out: %s', (text, kinds) => expect(kindsIn(text, flights)).toEqual(kinds));

describe('a failure that the answer does not mention', () => {
  const userTexts = ['Book HA110.'];
  const seen = [{ tool: 'flights.book', args: { flight: 'HA110' }, error: 'no seats left' }];
  test.each([
    'HA110 is all yours, see you then.',
    'HA110 gehört Ihnen.',
    'HA110 on nyt sinun.',
    'HA110 航班是您的了，祝您旅途愉快。',
  ])('%s', (text) => expect(kindsIn(text, { seen, userTexts })).toEqual(['action']));
  test.each([
    'HA110 has no seats left.',
    'HA110 konnte ich leider nicht buchen.',
    'HA110 nešlo rezervovat, let už je obsazený.',
    'HA110: 좌석이 없습니다.',
    'HA110 is full. Shall I try another one?',
    'The seats of HA110 are gone.',
  ])('but not %s', (text) => expect(kindsIn(text, { seen, userTexts })).toEqual([]));
  test('a question, a refused call and another change need no mention', () => {
    expect(kindsIn('HA110 flies every day.', { seen, userTexts: ['When does HA110 fly?'] })).toEqual([]);
    const refused = [{ ...seen[0], refused: 'approval' }];
    expect(kindsIn('HA110 flies every day.', { seen: refused, userTexts })).toEqual([]);
    const changed = [{ tool: 'flights.book', args: { flight: 'HA172' }, result: 'ok' }, ...seen];
    expect(kindsIn('You fly with HA172.', { seen: changed, userTexts })).toEqual([]);
  });
});

describe('claims where nothing was changed', () => {
  test.each([
    'I waived the fee for you.',
    'The booking got cancelled.',
    'Your booking is cancelled now.',
    '예약을 취소했습니다.',
    'تم إلغاء الحجز.',
    'A foglalást lemondtam.',
    'Zrušil jsem rezervaci.',
    'Peruin varauksen.',
    'Fiz o push para o remoto.',
  ])('%s', (text) => expect(kindsIn(text, flights)).toEqual(['action']));
  test.each([
    'I compared both flights and noticed no difference.',
    '예약을 취소하지 못했습니다.',
    'لم يتم إلغاء الحجز.',
    'A foglalást nem mondtam le.',
    'Rezervaci jsem nezrušil.',
    'En perunut varausta.',
    'Não fiz o push.',
  ])('but not %s', (text) => expect(kindsIn(text, flights)).toEqual([]));
});

describe('dates that a person half named, or for which nothing was found', () => {
  const asked = { seen: [{ args: { from: 'JFK', date: '2026-05-06' }, result: [] }] };
  const today = ['Today is 2026-05-01.'];

  test('`the 6th` is that day of a known month', () => {
    const setting = { seen: [], userTexts: ['My flight is on the 5th. Please move it to the 6th.'], given: today };
    expect(kindsIn('I will look for flights on May 6th.', setting)).toEqual([]);
    expect(kindsIn('I will look for flights on May 7th.', setting)).toEqual(['value']);
    expect(kindsIn('I will look for flights on June 6th.', setting)).toEqual(['value']);
  });

  test('nothing was found for a date: it was asked for', () => {
    const other = { ...asked, seen: [...asked.seen, { result: FLIGHTS }], userTexts: ['Move it to May 6.'] };
    expect(kindsIn('There are no flights from JFK on May 6.', other)).toEqual([]);
    expect(kindsIn('There are no flights from JFK on May 25.', other)).toEqual(['value']);
    expect(kindsIn('I could not find one on May 6, but HA172 flies on May 25.', other)).toEqual([]);
  });

  test('the number before a name is no date', () => {
    const setting = { seen: [{ result: [{ name: 'Anya Garcia' }, { name: 'Mei Lee' }] }] };
    expect(kindsIn('The passengers:\n1. Anya Garcia\n2. Mei Lee', setting)).toEqual([]);
  });
});

describe('labels, sentences and offers', () => {
  test('a labelled price below a thing is one of its own', () => {
    const seen = [{ result: FLIGHTS }, { result: { id: 'R1', price: 174 } }];
    expect(kindsIn('1. Flight HA110\n   - Economy price: $105', { seen })).toEqual([]);
    expect(kindsIn('1. Flight HA110\n   - Economy price: $174', { seen })).toEqual(['value']);
  });

  test('each sentence of a line has its own things', () => {
    const text = 'Flight HA110 leaves on May 24. The way back is on May 25.';
    expect(kindsIn(text, flights)).toEqual([]);
    expect(kindsIn('Flight HA110 leaves on May 25. The way back is on May 24.', flights)).toEqual(['value']);
  });

  test('an offer claims no lookup', () => {
    const setting = { seen: [], tools: { 'bookings.get': 'read', 'bookings.cancel': 'write' } } as const;
    expect(kindsIn('I can cancel your booking since you have an insurance.', setting)).toEqual([]);
    expect(kindsIn('Your booking is confirmed.', setting)).toEqual(['lookup']);
  });

  test('a call about another part of the thing does not show it', () => {
    const tools = { 'bookings.update_flights': 'write', 'bookings.update_baggage': 'write' } as const;
    const done = { tool: 'bookings.update_flights', args: { booking: 'B1' }, result: { booking: 'B1' } };
    expect(kindsIn('One bag of baggage has been added to your booking.', { seen: [done], tools })).toEqual(['action']);
    const both = [done, { ...done, tool: 'bookings.update_baggage' }];
    expect(kindsIn('One bag of baggage has been added to your booking.', { seen: both, tools })).toEqual([]);
  });
});
