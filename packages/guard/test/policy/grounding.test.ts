/** What counts as a claim, what it is held against, and what a text may state: in other trades than the one it was measured in. */
import type { Json } from '@sluice-internal/kernel/expr';
import type { ToolDef } from '@sluice-internal/kernel/ir';
import { describe, expect, test } from 'vitest';
import { judgeUtterance, evidenceOf } from '../../src/values/grounding.ts';
import type { Observation } from '../../src/values/detector.ts';
import { wordsOf } from '../../src/values/tool-words.ts';

function tool(
  effect: ToolDef['effect'],
  description: string,
  input: ToolDef['input'] = true,
  trust?: 'neutral',
): ToolDef {
  return {
    description,
    input,
    output: true,
    effect,
    implementation: null,
    timeoutMs: 0,
    permission: '',
    idempotent: false,
    compensate: null,
    ...(trust === undefined ? {} : { trust }),
  };
}

const SERVICE = { type: 'object', properties: { service: { type: 'string' }, size: { enum: ['small', 'large'] } } };
const TOOLS = {
  'deploy.restart_service': tool('infrastructure', 'Restarts a service.', SERVICE),
  'deploy.scale_service': tool('infrastructure', 'Scales a service to a size.', SERVICE),
  'mail.send_letter': tool('communication', 'Sends a letter to somebody.', { properties: { to: { type: 'string' } } }),
  'logs.search': tool('read', 'Searches the logs of a service.'),
  'metrics.get_dashboard': tool('read', 'Gets a dashboard.'),
  calculate: tool('read', 'Calculates.', true, 'neutral'),
};

interface Case {
  readonly observations?: readonly Partial<Observation>[];
  readonly userTexts?: readonly string[];
  readonly since?: number;
  readonly confirmed?: readonly string[];
  readonly values?: 'names' | 'all';
}

function kindsIn(
  text: string,
  { observations = [], userTexts = [], since, confirmed = [], values = 'names' }: Case = {},
) {
  const evidence = evidenceOf({
    observations: observations.map((each, at) => ({
      id: `bot.${at}`,
      turn: at + 1,
      tool: 'logs.search',
      args: {},
      ok: true,
      result: 'found',
      ...each,
    })),
    userTexts,
    given: ['You run the shop. A restart takes 40 seconds.'],
    since: since ?? null,
    confirmed,
    tools: Object.entries(TOOLS).map(([name, each]) => wordsOf(name, each)),
  });
  const { findings } = judgeUtterance({ fields: {}, text, answer: text, cite: false, claims: true, values }, evidence);
  return findings.map(({ kind }) => kind);
}

test('citations name observations by id or by number', () => {
  const observation = (id: string, count: number) => ({
    id,
    turn: 1,
    tool: 'logs.search',
    args: {},
    ok: true,
    result: { count, key: `K-${count}00` },
  });
  const evidence = evidenceOf({
    observations: [observation('bot.1.1.0', 17), observation('bot.1.2.0', 23)],
    userTexts: [],
    given: [],
    since: null,
    confirmed: [],
    tools: [],
  });
  const kinds = (citations: readonly Json[], text = 'The key is K-2300.') =>
    judgeUtterance(
      { fields: { citations: [...citations] }, text, answer: text, cite: true, claims: true, values: 'names' },
      evidence,
    ).findings.map(({ reason }) => reason);
  for (const good of [['bot.1.2.0'], [2], ['2'], ['obs.2'], ['#2'], ['observation 2']]) expect(kinds(good)).toEqual([]);
  expect(kinds([1])).toEqual(['states K-2300, which occurs in none of the observations that it cites']);
  for (const bad of [3, 0, '2.5', 'two'])
    expect(kinds([bad])).toEqual([`cites ${bad}, which is not the id of an observation`]);
  expect(kinds([])).toEqual(['cites no observation']);
});

const restarted = { tool: 'deploy.restart_service', args: { service: 'web-1' }, result: 'ok' };

describe('claims that something was done', () => {
  test.each([
    'The service has been restarted.',
    'I restarted the service.',
    "I've now scaled the service.",
    'We have successfully sent the letter.',
    'The letter was sent successfully.',
    'The restart is complete.',
    'Letter successfully sent, and you will hear from them.',
    '**Done:** the service has been updated.',
    'All is well.\n- The service has been restarted',
  ])('is one without any observation: %s', (text) => expect(kindsIn(text)).toContain('action'));

  test.each([
    'Shall I say that the service has been restarted?',
    'If the service has been restarted, tell me.',
    'The service has not been restarted.',
    'I will tell you once the service has been restarted.',
    'No letter has been sent.',
    'The weather has been mentioned.',
    'I would have restarted the service.',
    'I need the service to be restarted.',
  ])('is none: %s', (text) => expect(kindsIn(text)).not.toContain('action'));

  test('holds for the tool that its words fit, and not for another one that changes something', () => {
    expect(kindsIn('The service has been restarted.', { observations: [restarted] })).toEqual([]);
    expect(kindsIn('The letter has been sent.', { observations: [restarted] })).toEqual(['action']);
  });

  test('does not hold for what was tried and failed', () => {
    expect(kindsIn('I restarted the service.', { observations: [{ ...restarted, ok: false, error: 'no' }] })).toEqual([
      'action',
    ]);
  });

  test('holds for what it names, if that is what was done', () => {
    const observations = [{ tool: 'logs.search', args: { service: 'web-2' } }, restarted];
    expect(kindsIn('I restarted web-1.', { observations })).toEqual([]);
    expect(kindsIn('I restarted web-2.', { observations })).toEqual(['action']);
    expect(kindsIn('These were restarted successfully:\n- web-1\n- web-2', { observations })).toEqual(['action']);
  });

  test('holds with what was chosen', () => {
    const scaled = { tool: 'deploy.scale_service', args: { service: 'web-1', size: 'small' } };
    expect(kindsIn('The service has been scaled to small.', { observations: [scaled] })).toEqual([]);
    expect(kindsIn('The service has been scaled to large.', { observations: [scaled] })).toEqual(['action']);
  });

  test('needs something newer than the last words of the user, unless it only says the same again', () => {
    const text = 'The service has been restarted.';
    expect(kindsIn(text, { observations: [restarted], since: 1 })).toEqual(['action']);
    expect(kindsIn(text, { observations: [restarted], since: 1, confirmed: [text] })).toEqual([]);
  });

  test('is not a claim of the agent if the user or a reading tool said so', () => {
    const text = 'The service has been restarted.';
    expect(kindsIn(text, { userTexts: ['It was restarted by Ann last night.'] })).toEqual([]);
    expect(kindsIn(text, { observations: [{ result: 'web-1 restarted 03:00' }] })).toEqual([]);
    expect(kindsIn(text, { userTexts: ['I want it restarted.'] })).toEqual(['action']);
  });
});

describe('claims that something was looked up', () => {
  test.each(['According to the dashboard, all is well.', 'I checked the dashboard.', 'Your dashboard is empty.'])(
    'need the tool that shows it: %s',
    (text) => {
      expect(kindsIn(text)).toContain('lookup');
      expect(kindsIn(text, { observations: [{}] })).toContain('lookup');
      expect(kindsIn(text, { observations: [{ tool: 'metrics.get_dashboard' }] })).toEqual([]);
    },
  );

  test('need some observation where they only speak of a source', () => {
    const text = 'A reliable source indicates that it is so.';
    expect(kindsIn(text)).toEqual(['lookup']);
    expect(kindsIn(text, { observations: [{}] })).toEqual([]);
    expect(kindsIn(text, { observations: [{ tool: 'calculate' }] })).toEqual(['lookup']);
  });
});

describe('values', () => {
  test.each([
    ['web-17', 'web-17'],
    ['2024-05-20', 'May 20th'],
    ['20 May 2024', 'May 20, 2024'],
    ['18:00:00', '6 PM'],
    ['1200.5', '$1,200.50'],
    ['ann_lee_77@example.com', 'ann_lee_77'],
    ['card_12345', '12345'],
  ])('%s is %s', (observed, said) => {
    expect(kindsIn(`It says ${said}.`, { observations: [{ result: observed }] })).toEqual([]);
    expect(kindsIn(`It says ${said}.`)).toContain('value');
  });

  test.each(['COVID-19', 'UTF-8', 'H2O', 'A4', 'v2', 'step1', 'answer-1', 'result_1', 'snake_case', 'missing_info'])(
    '%s names nothing that would have to be looked up',
    (word) => expect(kindsIn(`It is ${word}.`)).toEqual([]),
  );

  test('a sum needs a calculator, or its summands in the answer', () => {
    const observations = [{ result: { parts: [120, 35, 7.5] } }];
    expect(kindsIn('That makes $162.50.', { observations })).toEqual(['value']);
    expect(kindsIn('$120 + $35 = $155', { observations })).toEqual([]);
    expect(kindsIn('- $120\n- $35\n- $7.50\n\nTotal: $162.50', { observations })).toEqual([]);
    expect(kindsIn('- $120\n- $35\n\nTotal: $156', { observations })).toEqual(['value']);
    expect(kindsIn('- $121\n- $35\n\nTotal: $156', { observations })).toEqual(['value']);
    expect(kindsIn('It is INV-162.', { observations: [{ result: 'INV-100, INV-62' }] })).toEqual(['value']);
  });

  test('what the user, the author and failures say is known', () => {
    expect(kindsIn('It is web-9.', { userTexts: ['What about web-9?'] })).toEqual([]);
    expect(kindsIn('It costs $40.')).toEqual([]);
    expect(kindsIn('It is web-9.', { observations: [{ ok: false, error: 'web-9 is unknown' }] })).toEqual([]);
  });

  test('a tool that only works on its arguments knows no more than they do', () => {
    const result = { tool: 'calculate', args: { expression: '612 * 3' }, result: '1836' };
    expect(kindsIn('1836', { observations: [result], values: 'all' })).toContain('value');
    expect(kindsIn('1836', { observations: [{ result: '612 of 3' }, result], values: 'all' })).toEqual([]);
  });

  test('an answer half of whose words stand nowhere is made up, where all is looked at', () => {
    const observations = [{ result: 'The bridge is the work of Ada Stone.' }];
    expect(kindsIn('Ada Stone', { observations, values: 'all' })).toEqual([]);
    expect(kindsIn('Eva Brook', { observations, values: 'all' })).toEqual(['value']);
    expect(kindsIn('Eva Brook', { observations })).toEqual([]);
  });

  test('a long run of letters takes no time to speak of, and what is too long to read counts as known', () => {
    const observations = [{ result: 'x'.repeat(2_000_000) }];
    expect(kindsIn('It is web-9.', { observations })).toEqual([]);
    expect(kindsIn(`It is ${'a1'.repeat(50_000)}.`)).toEqual(['value']);
  });
});

describe('rules that hold in any trade', () => {
  const renewed = [
    { tool: 'deploy.restart_service', args: { service: 'web-1' }, result: 'ok' },
    { tool: 'deploy.restart_service', args: { service: 'web-2' }, ok: false, error: 'locked' },
  ];

  test('a claim about all of them needs every call to succeed', () => {
    expect(kindsIn('Both services are restarted: web-1 and web-2.', { observations: renewed })).toContain('action');
    expect(kindsIn('I restarted all services.', { observations: renewed })).toEqual(['action']);
    expect(kindsIn('I restarted web-1.', { observations: renewed })).toEqual([]);
    expect(kindsIn('I restarted all services.', { observations: renewed.toReversed() })).toEqual([]);
  });

  test('a number that says that it is rounded may be', () => {
    const observations = [{ result: { kwh: 412.75, price: 8.45 } }];
    for (const text of ['It used ~413 kWh.', 'It used about 413 kWh.', 'Rund 413 kWh.', 'About 412.8 kWh.'])
      expect(kindsIn(text, { observations }), text).toEqual([]);
    for (const text of ['It used ~414 kWh.', 'It used 413 kWh.', 'About 412.9 kWh.'])
      expect(kindsIn(text, { observations }), text).toEqual(['value']);
  });

  test('a price without a currency is compared where a known one is nearly the same', () => {
    const observations = [{ result: { kwh: 412.75, price: 8.45 } }];
    expect(kindsIn('It is 8.54 each.', { observations })).toEqual(['value']);
    expect(kindsIn('It is 8.46 each.', { observations })).toEqual(['value']);
    for (const text of ['It is 8.45 each.', 'The mean is 3.21.']) expect(kindsIn(text, { observations })).toEqual([]);
  });

  test('dates in further languages', () => {
    const observations = [{ result: { due: '2026-03-13' } }];
    for (const text of ['13. marts 2026', '13. 3. 2026', '13 марта 2026', '2026年3月13日', '3월 13일', 'március 13'])
      expect(kindsIn(text, { observations }), text).toEqual([]);
    for (const text of ['14. marts 2026', '14. 3. 2026', '14 марта 2026', '2026年3月14日', '3월 14일', 'március 14'])
      expect(kindsIn(text, { observations }), text).toEqual(['value']);
  });

  test.each([
    ['Turkish', 'web-1 kaydını sildim.'],
    ['Russian', 'Я удалил запись web-1.'],
    ['Japanese', 'web-1 を削除しました。'],
    ['Chinese', '已为您删除 web-1。'],
    ['Swedish', 'Jag har raderat web-1.'],
    ['Norwegian', 'Jeg har slettet web-1.'],
  ])('a claim in %s needs a call', (_, text) => {
    expect(kindsIn(text)).toEqual(['action']);
  });

  test.each([
    ['Russian', 'Я не удалил запись web-1. Запись удалил администратор.'],
    ['Japanese', 'web-1 は削除しませんでした。'],
    ['Chinese', '订单已取消。我没有删除 web-1。'],
    ['Swedish', 'Jag har inte raderat web-1.'],
  ])('a denial or a record in %s needs none', (_, text) => {
    expect(kindsIn(text)).toEqual([]);
  });

  test('a mail that no tool sends', () => {
    expect(kindsIn('I have sent you a confirmation by email.', { observations: [restarted] })).toEqual(['action']);
  });
});
