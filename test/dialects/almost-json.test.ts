/**
 * Replies that are almost JSON, in every notation: each is read with an event, or repaired by one more call, or the node fails. None takes
 * the default route as if it had been read.
 */
import { describe, expect, test } from 'vitest';
import type { Script } from '@sluice-internal/library/host';
import type { Json } from '@sluice-internal/kernel/expr';
import { compiled, driveCore, playOn, scriptedEngine } from '../support/harness.ts';

const FENCE = '```';
const TRIAGE = `
agents: [{ id: triage, instructions: Sort. }]
flow:
  id: desk
  entry: sort
  nodes:
    - { id: sort, type: agent, agent: triage, routes: [{ when: "sort.output.category == 'refund'", to: refund }, { to: other }] }
    - { id: refund, type: terminal, output: refund }
    - { id: other, type: terminal, output: other }
`;

async function play(document: string, script: Script, input: Json = 'x') {
  const { engine, prompts } = scriptedEngine(script);
  const played = await playOn(engine, compiled(document), { input });
  const repairs = played.events.flatMap((event) => (event.type === 'reply.repaired' ? [event.how] : []));
  return { ...played, repairs, prompts };
}

/** Read without another call, with an event where the text was no JSON. */
const READ: readonly string[] = [
  '{"category": "refund",}',
  "{'category': 'refund'}",
  '{category: "refund"}',
  '{category: refund}',
  '{“category”: “refund”}',
  '{"category": "refund" // clear\n}',
  '{"category": "refund" /* clear */}',
  '# my answer\n{"category": "refund",}',
  '{"category": "refund", "vip": True}',
  '{"category": "refund", "vip": None}',
  '{"category": "refund", "note": "two\nlines"}',
  '{"category": "refund"',
  '{"category": "refund", "tags": ["a"',
  '{"category": "refund", "tags": ["a"}',
  `${FENCE}json\n{"category": "refund",}\n${FENCE}`,
  `${FENCE}\n{'category': 'refund'}\n${FENCE}`,
  `Sure!\n${FENCE}json\n{"category": "refund",}\n${FENCE}\nAnything else?`,
  'I think it is {category: "refund"}.',
  '<think>maybe {"category": "other"}</think>{"category": "refund"}',
  'maybe {"category": "other"}</think>{"category": "refund"}',
  String.raw`{\"category\": \"refund\"}`,
  JSON.stringify('{"category": "refund"}'),
  '{`category`: `refund`}',
  '\uFEFF{"category": "refund",}',
  '{ "category" : "refund" , "amount": .5 }',
];

/** No single meaning: one repair turn. */
const ASKED: readonly string[] = [
  'category: refund',
  'refund',
  '"refund"',
  '{"category": "ref',
  '{"category": "refund" "vip": true}',
  '{"category": refund it now}',
  "{'category': 'it's a refund'}",
  '{"category": "refund"} or {"category": "other"}',
  '{category: refund} or {category: other}',
  '<think>{"category": "refund"}',
  '',
  '["refund"]',
];

describe('a field that decides a route', () => {
  test.each(READ)('read without a call: %j', async (text) => {
    const { report, repairs } = await play(TRIAGE, { agents: { triage: [text] } });
    expect([report.code, report.output, report.usage.modelCalls]).toEqual(['SUCCESS', 'refund', 1]);
    expect(repairs).toHaveLength(1);
  });

  test.each(ASKED)('one repair turn, which is a retry: %j', async (text) => {
    const { report, prompts } = await play(TRIAGE, { agents: { triage: [text, '{"category": "refund"}'] } });
    expect([report.code, report.output]).toEqual(['SUCCESS', 'refund']);
    expect([report.usage.modelCalls, report.usage.retries]).toEqual([2, 1]);
    expect(JSON.stringify(prompts[1])).toMatch(/no JSON object|different JSON objects|empty/);
  });

  test.each(ASKED)('after the repair turn the node fails: %j', async (text) => {
    const { report } = await play(TRIAGE, { agents: { triage: [text, text, text] } });
    expect([report.state, report.code, report.error?.node, report.usage.modelCalls]).toEqual([
      ...['failed', 'VALIDATION_FAIL', 'sort', 2],
    ]);
  });

  test('the failure takes the error route of the node', async () => {
    const document = TRIAGE.replace('routes: [{ when', 'on_error: [{ default: true, to: other }], routes: [{ when');
    const { report } = await play(document, { agents: { triage: ['refund', 'refund'] } });
    expect(report.output).toBe('other');
  });

  test('the repair turn is in the certificate', () => {
    const bounds = (document: string) => compiled(document).meters;
    expect(Object.keys(bounds(TRIAGE))).toEqual(Object.keys(bounds(TRIAGE)));
    const node = Object.values(compiled(TRIAGE).nodes).find((each) => each.op === 'do');
    expect(node).toMatchObject({ fit: { repairs: 1, reads: { of: ['sort', 'output'], fields: ['category'] } } });
  });

  test('an object without the field reads null, and that is an event', async () => {
    const { report, events } = await play(TRIAGE, { agents: { triage: ['{"Category": "refund"}'] } });
    expect([report.code, report.output, report.usage.modelCalls]).toEqual(['SUCCESS', 'other', 1]);
    expect(events.find(({ type }) => type === 'value.missing')).toMatchObject({
      paths: [['sort', 'output', 'category']],
    });
  });

  test('a guard that reads the whole reply too expects texts', async () => {
    const document = TRIAGE.replace(
      "sort.output.category == 'refund'",
      "sort.output == 'refund' || sort.output.category == 'refund'",
    );
    const { report } = await play(document, { agents: { triage: ['refund'] } });
    expect([report.output, report.usage.modelCalls]).toEqual(['refund', 1]);
  });
});

test('a field that enters an argument is data', async () => {
  const document = `
agents: [{ id: triage, instructions: Sort. }]
tools: { note: { effect: read, module: './n.mjs#note' } }
flow:
  id: desk
  entry: sort
  nodes:
    - { id: sort, type: agent, agent: triage, routes: [{ to: keep }] }
    - { id: keep, type: tool, tool: note, params: { what: "about {{sort.output.category}}" } }
`;
  const { report, repairs } = await play(document, {
    agents: { triage: ["{'category': 'refund'}"] },
    tools: { note: [{ result: 'kept' }] },
  });
  expect([report.code, repairs.length, report.usage.modelCalls]).toEqual(['SUCCESS', 1, 1]);
  const asked = await play(document, {
    agents: { triage: ['refund', 'refund'] },
    tools: { note: [{ result: 'kept' }] },
  });
  expect([asked.report.code, asked.report.usage.toolCalls]).toEqual(['VALIDATION_FAIL', 0]);
});

test('a field that only a text reads costs no call, and is an event', async () => {
  const document = `
agents: [{ id: a, instructions: Sort. }, { id: b, instructions: Say. }]
flow:
  id: desk
  entry: one
  nodes:
    - { id: one, type: agent, agent: a, routes: [{ to: two }] }
    - { id: two, type: agent, agent: b, input: { task: "It is [{{one.output.category}}]" }, routes: [{ to: done }] }
    - { id: done, type: terminal, output: "[{{one.output.category}}]" }
`;
  const lost = await play(document, { agents: { a: ['refund'], b: ['ok'] } });
  expect([lost.report.code, lost.report.output, lost.report.usage.modelCalls]).toEqual(['SUCCESS', '[]', 2]);
  expect(lost.events.some(({ type }) => type === 'value.missing')).toBe(true);
  const read = await play(document, { agents: { a: ["{'category': 'refund'}"], b: ['ok'] } });
  expect([read.report.output, read.repairs.length, read.report.usage.modelCalls]).toEqual(['[refund]', 1, 2]);
});

describe('the same reader', () => {
  test('replies with a schema: no repair turn', async () => {
    const document = TRIAGE.replace(
      'instructions: Sort.',
      'instructions: Sort., output: { type: object, properties: { category: { type: string } }, required: [category] }',
    );
    const { report, repairs } = await play(document, { agents: { triage: ["{'category': 'refund',}"] } });
    expect([report.output, report.usage.modelCalls]).toEqual(['refund', 1]);
    expect(repairs).toEqual([['single quotation marks', 'trailing commas']]);
  });

  test('the part of an unreadable object never stands for it', async () => {
    const schema =
      'output: { type: object, properties: { ok: { type: boolean }, category: { type: string } }, required: [ok] }';
    const document = TRIAGE.replace('instructions: Sort.', `instructions: Sort., ${schema}`);
    const text = `{"ok": it's fine, "earlier": {"ok": false}}`;
    const { report } = await play(document, { agents: { triage: [text, '{"ok": true, "category": "refund"}'] } });
    expect([report.output, report.usage.modelCalls]).toEqual(['refund', 2]);
  });

  test('the reply of a loop', async () => {
    const document =
      'agents: [{ id: bot }]\nloop: { agent: bot, verifier: false, criteria: [{ when: "true", reason: x }] }';
    const { report, repairs } = await play(document, {
      agents: { bot: ["{'status': 'impossible', 'reason': 'no such order'}"] },
    });
    expect([report.code, report.error?.message, repairs.length]).toEqual(['IMPOSSIBLE', 'no such order', 1]);
    const text = 'Write `{ a: 1 }` in JavaScript.';
    const kept = await play(document, { agents: { bot: [text] } });
    expect([kept.report.output, kept.repairs]).toEqual([text, []]);
  });

  test('a plan of a loop', async () => {
    const document =
      'agents: [{ id: bot }, { id: boss }]\nloop: { executor: bot, planner: boss, verifier: false, criteria: [{ when: "true", reason: x }] }';
    const { report, repairs } = await play(document, {
      agents: { boss: ["{steps: [{id: 'a', do: 'it'},]}"], bot: ['done'] },
    });
    expect([report.code, repairs.length]).toEqual(['SUCCESS', 1]);
  });

  test('a plan of stages', async () => {
    const document = `
agents: [{ id: boss, instructions: Plan. }, { id: hand, instructions: Work. }]
staged: { id: s, plan: { agent: boss }, workers: { agent: hand } }
`;
    const { report, repairs } = await play(document, {
      agents: { boss: ["The plan:\n{tasks: [{id: 't', brief: 'it'}]}"], hand: ['done'] },
    });
    expect([report.code, repairs.length]).toEqual(['SUCCESS', 1]);
  });

  test("a verifier's answer", async () => {
    const document = 'agents: [{ id: bot }]\nloop: { agent: bot }';
    const { report, repairs } = await play(document, {
      agents: { bot: ['done'], verifier: ["{'ok': True, 'problem': None, 'missing': [], 'confidence': 0.9}"] },
    });
    expect([report.code, report.verdict?.by, repairs.length]).toEqual(['SUCCESS', 'verifier', 1]);
  });

  test('arguments of a tool call', async () => {
    const document = `
agents: [{ id: bot, instructions: Look., tools: [find] }]
tools: { find: { effect: read, module: './f.mjs#find', input: { type: object, properties: { id: { type: string } }, required: [id] } } }
flow: { id: f, entry: a, nodes: [{ id: a, type: agent, agent: bot }] }
`;
    const toolCalls = [{ id: 'c1', name: 'find', args: null, raw: "{'id': 'A-1',}" }];
    const replies: Json[] = [{ text: '', toolCalls }, { text: 'found' }];
    const { outcome, events, commands } = driveCore(
      compiled(document),
      { perform: ({ kind }) => ({ ok: true, value: kind === 'model' ? (replies.shift() ?? null) : { ok: true } }) },
      'x',
    );
    expect(outcome.code).toBe('SUCCESS');
    expect(commands.find(({ kind }) => kind === 'tool')?.input['args']).toEqual({ id: 'A-1' });
    expect(events.find(({ type }) => type === 'reply.repaired')).toMatchObject({ args: [[0, { id: 'A-1' }]] });
  });
});

describe('a guard that reads a field of a text', () => {
  const document = (when: string): string => `
tools: { look: { effect: read, module: './l.mjs#look' } }
flow:
  id: f
  entry: a
  nodes:
    - { id: a, type: tool, tool: look, routes: [{ when: "${when}", to: yes }, { to: no }] }
    - { id: yes, type: terminal, output: 'yes' }
    - { id: no, type: terminal, output: 'no' }
`;

  test.each([
    ["a.result.kind == 'x'", '`a.result` is a text, which has no field `kind`'],
    ["event.payload.message.kind == 'x'", '`event.payload.message` is a text, which has no field `kind`'],
    ['a.result', 'its value is a text, and not true or false'],
  ])('%s', async (when, why) => {
    const { report, events } = await play(document(when), { tools: { look: [{ result: 'plain' }] } });
    expect([report.code, report.output]).toEqual(['SUCCESS', 'no']);
    expect(events.filter(({ type }) => type === 'guard.failed')).toMatchObject([{ message: why }]);
  });

  test('one that holds anyway is no event', async () => {
    const { report, events } = await play(document('a.result.kind == null'), {
      tools: { look: [{ result: 'plain' }] },
    });
    expect([report.output, events.filter(({ type }) => type === 'guard.failed')]).toEqual(['yes', []]);
  });
});
