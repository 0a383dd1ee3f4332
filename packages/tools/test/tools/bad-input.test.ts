/** Whatever a model proposes and whatever a function gives: a typed failure, an agent that is told, an engine that goes on. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { openMemory } from '@sluice-internal/engine/memory';
import type { ToolFunction } from '@sluice-internal/tools/calls';
import { compile } from '../../../library/src/compile.ts';
import { createEngine } from '@sluice-internal/library/compose';
import { walk } from './walk.ts';

const TOOL = { 'own.call': { effect: 'read' } };
const CALL = [{ name: 'own.call' }];

const circular: { self?: object } = {};
circular.self = circular;
const nested = (depth: number): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { value };
  return value;
};
const refusesToBeRead = (): object =>
  Object.defineProperty({}, 'x', {
    enumerable: true,
    get: () => {
      throw new Error('no');
    },
  });
const throwsWords = (): never => {
  // oxlint-disable-next-line typescript/only-throw-error -- libraries do
  throw 'plain words';
};

describe('what a function gives', () => {
  test.each<[string, () => unknown, string, string]>([
    ['50 MB', () => 'x'.repeat(50_000_000), 'TooLargeError', 'more than 4194304 characters'],
    ['50 MB in pieces', () => Array.from({ length: 5_000_000 }, () => 'abcdefgh'), 'TooLargeError', 'more than'],
    ['a circle', () => circular, 'ResultError', 'not JSON'],
    ['a big integer', () => ({ n: 5n }), 'ResultError', 'BigInt'],
    ['a function', () => () => 1, 'ResultError', 'not JSON'],
    ['a symbol', () => Symbol('x'), 'ResultError', 'not JSON'],
    ['what throws when it is read', refusesToBeRead, 'ResultError', 'not JSON: no'],
    ['a tower', () => nested(200_000), 'ResultError', 'nested more than 1000 deep'],
    ['words that were thrown', throwsWords, 'Error', 'plain words'],
  ])('%s: a failed call, and the agent is told', async (_, give, type, words) => {
    const { report, failures, told } = await walk({ tools: TOOL, calls: CALL, functions: { 'own.call': give } });
    expect([report.state, report.code, report.usage.toolCalls]).toEqual(['completed', 'SUCCESS', 1]);
    expect(failures).toMatchObject([{ type, message: expect.stringContaining(words) as string }]);
    expect(told).toContain('[ERROR]');
  });

  test.each<[string, () => unknown, unknown]>([
    ['half a character', () => 'a \ud800 b', 'a \ud800 b'],
    ['a date', () => ({ at: new Date(0) }), { at: '1970-01-01T00:00:00.000Z' }],
    ['what is no number', () => [NaN, -0, Infinity], [null, 0, null]],
    ['holes', () => ({ a: undefined, b: [undefined] }), { b: [null] }],
    ['nothing', () => undefined, null],
    ['a name of machinery', () => JSON.parse('{"__proto__": {"x": 1}}'), JSON.parse('{"__proto__": {"x": 1}}')],
    ['1,000 levels', () => nested(1000), nested(1000)],
  ])('%s: the run sees what the journal keeps', async (_, give, kept) => {
    const engine = createEngine({ journal: openMemory(), tools: { 'own.call': give as ToolFunction } });
    onTestFinished(() => engine.close());
    const nodes = [{ id: 'a', type: 'tool', tool: 'own.call' }];
    const { flow } = compile({ tools: TOOL, flow: { id: 'demo', entry: 'a', nodes } });
    const report = await engine.settled(await engine.start(flow as NonNullable<typeof flow>));
    expect([report.code, report.output]).toEqual(['SUCCESS', kept]);
  });

  test('a model that gives no text is a failed call', async () => {
    const engine = createEngine({ journal: openMemory(), model: (() => ({ txt: 'x' })) as never });
    onTestFinished(() => engine.close());
    const nodes = [{ id: 'a', type: 'agent', agent: 'bot' }];
    const { flow } = compile({ agents: [{ id: 'bot' }], flow: { id: 'demo', entry: 'a', nodes } });
    const report = await engine.settled(await engine.start(flow as NonNullable<typeof flow>));
    expect(report).toMatchObject({ code: 'VALIDATION_FAIL', error: { class: 'semantic', type: 'ResultError' } });
  });
});

describe('what a model proposes', () => {
  const properties = { to: { type: 'string' } };
  const input = { type: 'object', properties, required: ['to'], additionalProperties: false };
  const tools = { 'own.call': { effect: 'read', input } };

  test.each([
    ['text that is no JSON', '{"to": "an'],
    ['a list', ['a']],
    ['nothing', null],
    ['of the wrong kind', { to: { deep: true } }],
    ['too many', { to: 'ann', cc: 'bob' }],
  ])('arguments that are %s never reach the tool', async (_, args) => {
    let made = 0;
    const functions = { 'own.call': () => (made += 1) };
    const { report, told } = await walk({ tools, calls: [{ name: 'own.call', args }], functions });
    expect([made, report.code, report.usage.toolCalls]).toEqual([0, 'SUCCESS', 0]);
    expect(told).toContain('[INVALID] the arguments of own.call are not valid');
  });

  test.each(['own.cal', '__proto__', 'toString', 'constructor', ''])('the tool %j is unknown', async (name) => {
    const { report, told } = await walk({ tools, calls: [{ name }], functions: { 'own.call': () => 1 } });
    expect([report.code, report.usage.toolCalls]).toEqual(['SUCCESS', 0]);
    expect(told).toContain('Available: own.call.');
  });
});

describe('schemas that turn in circles', () => {
  const functions = { 'own.call': () => 'ok' };
  const node = { type: 'object', properties: { next: { $ref: '#/$defs/node' } }, additionalProperties: false };
  const tools = { 'own.call': { effect: 'read', input: { $defs: { node }, $ref: '#/$defs/node' } } };
  const calling = (args: object) => walk({ tools, calls: [{ name: 'own.call', args }], functions });

  test('hold what is nested', async () => {
    expect((await calling({ next: { next: {} } })).values).toEqual(['ok']);
    expect((await calling({ next: { nest: {} } })).values).toEqual([]);
  });

  test.each([
    ['that lead nowhere', { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' }],
    ['that name themselves', { $ref: '#' }],
  ])('%s let no call through', async (_, input) => {
    const bad = { 'own.call': { effect: 'read', input } };
    const { report, values } = await walk({ tools: bad, calls: CALL, functions });
    expect([report.state, values]).toEqual(['completed', []]);
  });

  test('a document that contains itself is an error, and no endless walk', () => {
    const input: { type: string; properties?: object } = { type: 'object' };
    input.properties = { self: input };
    const nodes = [{ id: 'a', type: 'terminal' }];
    const { flow, diagnostics } = compile({
      tools: { 'own.call': { effect: 'read', input } },
      flow: { id: 'x', entry: 'a', nodes },
    });
    expect([flow, diagnostics.map(({ severity }) => severity)]).toEqual([undefined, ['error']]);
  });
});

describe('what a performer of one’s own gives', () => {
  test.each<[string, unknown, string]>([
    ['a circle', circular, 'ResultError'],
    ['a big integer', 5n, 'ResultError'],
    ['50 MB', 'x'.repeat(50_000_000), 'TooLargeError'],
  ])('%s: a failed call, and the engine goes on', async (_, value, type) => {
    const given = [value, 'fine'];
    const engine = createEngine({
      journal: openMemory(),
      performer: { perform: async () => ({ ok: true, value: given.shift() as string }) },
    });
    onTestFinished(() => engine.close());
    const nodes = [{ id: 'a', type: 'tool', tool: 'own.call' }];
    const { flow } = compile({ tools: TOOL, flow: { id: 'f', entry: 'a', nodes } });
    if (flow === undefined) throw new Error('the flow does not compile');
    const bad = await engine.settled(await engine.start(flow));
    expect([bad.state, bad.error?.type]).toEqual(['failed', type]);
    const good = await engine.settled(await engine.start(flow));
    expect([good.state, good.output]).toEqual(['completed', 'fine']);
  });
});
