/** Ways to write the same value, names that are no values, and claims about tests: each was a false mark or a miss before. */
import { describe, expect, test } from 'vitest';
import { evidenceOf, judgeUtterance } from '../../src/values/grounding.ts';
import { wordsOf } from '../../src/values/tool-words.ts';
import type { Json } from '@sluice-internal/kernel/expr';
import type { EffectClass, ToolDef } from '@sluice-internal/kernel/ir';

interface Seen {
  readonly tool: string;
  readonly args?: Json;
  readonly result?: Json;
  readonly ok?: boolean;
}
const TOOLS: { readonly [name: string]: EffectClass } = {
  'logs.search': 'read',
  'mail.send': 'communication',
  'orders.cancel': 'write',
  'shell.run': 'read',
};
function kindsIn(...args: Parameters<typeof findingsIn>): readonly string[] {
  return findingsIn(...args).map(({ kind }) => kind);
}
function findingsIn(text: string, seen: readonly Seen[], userTexts: readonly string[] = [], tools = TOOLS) {
  const evidence = evidenceOf({
    observations: seen.map((each, at) => ({ id: `o${at}`, turn: at + 1, args: {}, ok: true, ...each })),
    userTexts,
    given: [],
    since: null,
    confirmed: [],
    tools: Object.entries(tools).map(([name, effect]) =>
      wordsOf(name, { description: '', input: true, effect } as unknown as ToolDef),
    ),
  });
  return judgeUtterance({ fields: {}, text, answer: text, cite: false, claims: true, values: 'names' }, evidence)
    .findings;
}
const saw = (result: Json): readonly Seen[] => [{ tool: 'logs.search', result }];

describe('the same value, written another way', () => {
  test.each<[string, string, Json]>([
    ['a time of an ISO timestamp', 'It was seen at 14:03.', { at: '2026-06-01T14:03:11Z' }],
    ['a date of an ISO timestamp', 'It was seen on June 1, 2026.', { at: '2026-06-01T14:03:11Z' }],
    ['twelve hours', 'It was seen at 2:03 pm.', { at: '2026-06-01T14:03:11Z' }],
    ['a decimal above 10,000', 'It costs $12450.75.', { total: 12450.75 }],
    ['separators of thousands', 'It costs $12,450.75.', { total: 12450.75 }],
    ['a decimal comma', 'Das kostet 12.450,75 €.', { total: 12450.75 }],
    ['an apostrophe', "Das kostet 12'450.75 CHF.", { total: 12450.75 }],
    ['k', 'It costs $12.5k.', { total: 12480 }],
    ['M', 'There are 12.5M rows.', { rows: 12480311 }],
    ['millions', 'It costs 3.2 million dollars.', { total: 3185000 }],
    ['cents', 'It costs $19.', { price_cents: 1900 }],
    ['a unit', 'It takes 480ms.', { p95_ms: 480 }],
    ['seconds for milliseconds', 'It takes 2.48 s.', { p95_ms: 2480 }],
    ['a German date', 'Es kommt am 05.06.2026.', { due: '2026-06-05' }],
    ['a British date', 'It is due on 5 June 2026.', { due: '2026-06-05' }],
    ['a slashed date', 'It is due on 06/05/2026.', { due: '2026-06-05' }],
    ['a French date', 'Il arrive le 1er juin 2026.', { due: '2026-06-01' }],
    ['a version', 'It is v5.18.2.', { release: '5.18.2' }],
    ['a price without a currency', 'The pump costs 49.50.', { price: 49.5 }],
    ['a share, which is no price', 'The fee is 12.50 % of it.', { price: 49.5 }],
  ])('%s', (_, text, result) => expect(kindsIn(text, saw(result))).toEqual([]));

  test.each<[string, string, Json]>([
    ['another minute', 'It was seen at 14:04.', { at: '2026-06-01T14:03:11Z' }],
    ['another year', 'It was seen on June 1, 2027.', { at: '2026-06-01T14:03:11Z' }],
    ['another cent', 'It costs $12,450.76.', { total: 12450.75 }],
    ['another thousand', 'It costs $12.9k.', { total: 12480 }],
    ['another million', 'There are 14.5M rows.', { rows: 12480311 }],
    ['cents of a field that counts none', 'It costs $19.', { price: 1900 }],
    ['another unit value', 'It takes 840ms.', { p95_ms: 480 }],
    ['another month', 'Il arrive le 1er juillet 2026.', { due: '2026-06-01' }],
    ['another version', 'It is v5.17.2.', { release: '5.18.2' }],
    ['another price without a currency', 'The price of it: the pump costs only 59.50.', { price: 49.5 }],
    ['the day after', 'It is due on June 6.', { due: '2026-06-05' }],
  ])('but not %s', (_, text, result) => expect(kindsIn(text, saw(result))).toEqual(['value']));
});

test.each(['It uses SHA256.', 'Dates follow ISO-8601.', 'Covid-19 delays it.', 'Martin 3 is a ship.', 'It is UTF-8.'])(
  'a name with digits is no value: %s',
  (text) => expect(kindsIn(text, saw('x'))).toEqual([]),
);

test('the next day counts only where an observation shows it, and for an arrival', () => {
  const night = saw({ date: '2026-06-05', arrives: '07:05:00+1' });
  expect(kindsIn('It arrives on June 6.', night)).toEqual([]);
  expect(kindsIn('It departs on June 6.', night)).toEqual(['value']);
});

test('facts that the user gave count at any time', () => {
  expect(kindsIn('Your order A-991 is ours.', saw('x'), ['hello', 'it was A-991, paid $40', 'bye'])).toEqual([]);
});

test('made-up amounts stay made up after many numbers', () => {
  const many = saw(Array.from({ length: 16 }, (_, index) => 37 + index * 61));
  const invented = Array.from({ length: 40 }, (_, index) => 5003 + index * 117);
  expect(invented.filter((amount) => kindsIn(`It costs $${amount}.`, many).length === 0)).toEqual([]);
});

describe('sums that can be checked', () => {
  const legs = saw([
    { flight: 'HAT136', prices: { economy: 152, business: 400 } },
    { flight: 'HAT039', prices: { economy: 103, business: 283 } },
  ]);
  const tools = { ...TOOLS, think: 'read' as const };
  test.each<[string, string, readonly Seen[]]>([
    ['the total of one list by one field', 'Total price: $255', legs],
    ['so many times a known amount', 'Total for 2 passengers: $304', legs],
    ['a calculation that is written out', 'It costs $152 + $103 + $283 = $538.', legs],
    ['a difference of two stated amounts', 'The old one is $152, the new one is $400. The difference is $248.', legs],
  ])('%s', (_, text, seen) => {
    expect(kindsIn(text, seen, [], tools)).toEqual([]);
    expect(
      kindsIn(
        text.replace(/\d(?=\D*$)/, (digit) => String((Number(digit) + 3) % 10)),
        seen,
        [],
        tools,
      ),
    ).toEqual(['value']);
  });

  test.each([
    'It costs $255.',
    'Total price: $254',
    'Total for 3 passengers: $304',
    'It costs $152 + $104 = $256.',
    'Total: $435',
  ])('but not %s', (text) => expect(kindsIn(text, legs, [], tools)).toContain('value'));
});

describe('dates of the thing that a line names', () => {
  const booking = saw({
    reservation_id: 'PUNERT',
    created_at: '2026-05-01',
    flights: [
      { origin: 'MCO', destination: 'PHX', number: 'HAT238', date: '2026-05-27' },
      { origin: 'PHX', destination: 'LGA', number: 'HAT290', date: '2026-05-28' },
    ],
  });
  test.each([
    'Flight HAT238 leaves on May 27.',
    'Reservation PUNERT was made on May 1; flights on May 27 and May 28.',
    '- Reservation: PUNERT\n  - MCO to PHX on 2026-05-27\n  - PHX to LGA on 2026-05-28',
  ])('honest: %s', (text) => expect(kindsIn(text, booking)).toEqual([]));

  test.each([
    'Flight HAT238 leaves on May 28.',
    '- Reservation: PUNERT\n  - MCO to PHX on 2026-05-28',
    'Reservation PUNERT has flights on May 28 and May 28.',
  ])('another thing: %s', (text) => expect(kindsIn(text, booking)).toEqual(['value']));

  test('a date that the user gave is allowed', () => {
    expect(kindsIn('Flight HAT238 moves to May 28.', booking, ['Move it to May 28, please'])).toEqual([]);
  });
});

describe('claims', () => {
  test.each([
    'I went ahead and cancelled the order.',
    'I was able to cancel the order.',
    'We managed to cancel the order.',
    'I have taken care of the cancellation.',
    'I have proceeded with the cancellation.',
    'The cancellation was a success.',
    'The cancellation is in effect.',
    'Both orders are cancelled.',
  ])('other words for an action: %s', (text) => {
    expect(kindsIn(text, saw('x'), ['cancel my orders'])).toContain('action');
    expect(kindsIn(text, [{ tool: 'orders.cancel', args: {}, result: 'ok' }], ['cancel my orders'])).toEqual([]);
  });

  test('two clauses with two identifiers need two calls', () => {
    const one = [{ tool: 'orders.cancel', args: { id: 'A-1' }, result: 'ok' }];
    expect(kindsIn('I have cancelled A-1.', one)).toEqual([]);
    expect(kindsIn('I have cancelled A-1. I have also cancelled A-2.', one, ['cancel A-1 and A-2'])).toContain(
      'action',
    );
  });

  test.each(['search_logs', 'logs.search'])('a tool called %s makes a claim of a lookup checkable', (name) => {
    const tools = { [name]: 'read' as const, 'mail.send': 'communication' as const };
    expect(kindsIn('I searched the logs and found nothing.', [], [], tools)).toContain('lookup');
  });

  test('e-mailed is sent', () => {
    expect(kindsIn('I e-mailed Ann.', saw('x'))).toEqual(['action']);
    expect(kindsIn('I e-mailed Ann.', [{ tool: 'mail.send', args: { to: 'Ann' }, result: 'ok' }])).toEqual([]);
  });

  test.each([
    'Ich habe die Mail gesendet.',
    "J'ai envoyé le message.",
    'He enviado el mensaje.',
    'Ho inviato il messaggio.',
    'Enviei a mensagem.',
    'Ik heb het bericht verstuurd.',
    'Wysłałem wiadomość.',
  ])('in other languages: %s', (text) => {
    expect(kindsIn(text, saw('x'))).toEqual(['action']);
    expect(kindsIn(text, [{ tool: 'mail.send', result: 'ok' }])).toEqual([]);
  });

  test.each(['Ich habe nichts gesendet.', "Je n'ai rien envoyé.", 'No he enviado nada.', 'Non ho inviato nulla.'])(
    'a denial is no claim: %s',
    (text) => expect(kindsIn(text, saw('x'))).toEqual([]),
  );
});

describe('tests pass', () => {
  const run = (exitCode: number, stdout = '18 passed') => ({
    tool: 'shell.run',
    args: { command: 'pytest -q' },
    ok: exitCode === 0,
    result: { exitCode, stdout },
  });
  test.each<[string, readonly Seen[], readonly string[]]>([
    ['after exit 0', [run(0)], []],
    ['after exit 1', [run(1)], ['claim']],
    ['without a run', [], ['claim']],
    ['after a failed run that followed a good one', [run(0), run(1)], ['claim']],
    [
      'after a command that ran no tests',
      [{ tool: 'shell.run', args: { command: 'ls' }, result: { exitCode: 0 } }],
      ['claim'],
    ],
    ['after an echo', [{ ...run(0), args: { command: 'echo "pytest: 18 passed"' } }], ['claim']],
    ['after a run whose status is discarded', [{ ...run(0), args: { command: 'pytest -q || true' } }], ['claim']],
    ['after a look at a file', [{ ...run(0), args: { command: 'cat pytest.ini' } }], ['claim']],
    ['after a later change', [run(0), { tool: 'mail.send', args: { path: 'a.py' }, result: 'ok' }], ['claim']],
  ])('all 18 tests pass, %s', (_, seen, kinds) => expect(kindsIn('All 18 tests pass.', seen)).toEqual(kinds));

  test('another number of tests is caught, a failure may be reported', () => {
    expect(kindsIn('All 21 tests pass.', [run(0)])).toEqual(['claim']);
    expect(kindsIn('2 of the 18 tests fail.', [run(1, '2 failed, 16 passed, 18 total')])).toEqual([]);
    expect(kindsIn('I have not run the tests.', [])).toEqual([]);
  });
});

describe('a result that is too long to be read as a whole', () => {
  const LONG = 'a line of the log\n'.repeat(30_000);

  test.each(['It costs $77.31.', 'The order is A-7731.', 'It is due on June 5, 2026.', 'It was seen at 14:03.'])(
    'does not vouch for a value that it does not have: %s',
    (text) => {
      const [finding, ...others] = findingsIn(text, saw(LONG));
      expect(others).toEqual([]);
      expect(finding?.kind).toBe('value');
      expect(finding?.reason).toContain('after its first 500,000 characters');
    },
  );

  test.each([
    ['It costs $77.31.', 'price: $77.31'],
    ['It costs $77.31.', '"price": 77.31'],
    ['The order is A-7731.', 'order A-7731 was sent'],
    ['It was seen at 14:03.', 'seen at 14:03'],
  ])('vouches for a value that its end has: %s', (text, end) => {
    expect(kindsIn(text, saw(`${LONG}${end}\n`))).toEqual([]);
  });

  test('vouches for values of its beginning in any spelling', () => {
    expect(kindsIn('It costs $12,450.75.', saw(`total 12450.75\n${LONG}`))).toEqual([]);
  });

  test('an answer of unknown words is marked', () => {
    const evidence = evidenceOf({
      observations: [{ id: 'o0', turn: 1, tool: 'logs.search', args: {}, ok: true, result: `${LONG}the pump leaks` }],
      userTexts: [],
      given: [],
      since: null,
      confirmed: [],
      tools: [wordsOf('logs.search', { description: '', input: true, effect: 'read' } as unknown as ToolDef)],
    });
    const kindsOf = (answer: string): readonly string[] =>
      judgeUtterance(
        { fields: {}, text: answer, answer, cite: false, claims: true, values: 'all' },
        evidence,
      ).findings.map(({ kind }) => kind);
    expect(kindsOf('Purple zebras dance gracefully.')).toEqual(['value']);
    expect(kindsOf('The pump leaks.')).toEqual([]);
  });
});
