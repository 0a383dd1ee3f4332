import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { bool, fault, int, json, list, name, number, oneOf, record, text } from '../../src/document/shape/fields.ts';
import { positionOf } from '../../src/source/range.ts';
import { readShape } from '../../src/document/shape/shape.ts';
import { parseSource } from '../../src/source/source.ts';

const route = record({ when: text().default('default'), to: name() });
const common = { id: name(), routes: list(route).default([]) };
const node = z.discriminatedUnion('type', [
  record({ type: z.literal('agent'), ...common, agent: name(), input: json().optional() }),
  record({
    type: z.literal('parallel'),
    ...common,
    branches: list(route, { min: 2, few: fault('too-few-branches', 'two or more, please', 'Add one.') }),
  }),
  record({ type: z.literal('terminal'), ...common }),
]);
const flow = record({
  entry: name(),
  max_iterations: int({ min: 0, max: 1000 }).default(0),
  rate: number({ above: 0 }).optional(),
  loud: bool().optional(),
  mode: oneOf(['fast', 'slow']).optional(),
  tool: z.union([name(), record({ command: name(), cwd: name().optional() })]).optional(),
  nodes: list(node).default([]),
});

function read(yaml: string) {
  const { doc, report } = parseSource(yaml, 'a.yaml');
  if (doc === null) throw new Error('not a document');
  const shaped = readShape(flow, doc, report, { what: 'the flow', alsoKnown: ['agents'] });
  return {
    shaped,
    report,
    said: report
      .list()
      .map(
        (each) =>
          `${each.code} ${each.line}:${each.column} ${each.message}${each.help === undefined ? '' : ` (${each.help})`}`,
      ),
  };
}

describe('readShape', () => {
  test('gives typed values with defaults, and where they stand', () => {
    const { shaped, report, said } = read(
      'entry: a\nnodes:\n  - { id: a, type: agent, agent: bot, routes: [{ to: end }] }\n',
    );
    expect(said).toEqual([]);
    expect(shaped?.sound).toBe(true);
    expect(shaped?.value.max_iterations).toBe(0);
    expect(shaped?.value.nodes[0]?.routes).toEqual([{ when: 'default', to: 'end' }]);
    expect(positionOf(report.source, shaped!.at('nodes', 0, 'routes', 0, 'to').start)).toEqual({ line: 3, column: 54 });
    expect(positionOf(report.source, shaped!.key('nodes', 0, 'agent').start)).toEqual({ line: 3, column: 27 });
    expect(positionOf(report.source, shaped!.at('max_iterations').start)).toEqual({ line: 1, column: 1 });
    expect(shaped?.located('entry')).toMatchObject({ value: 'a' });
    expect(shaped?.located('loud')).toBeUndefined();
  });

  test.each([
    [
      'entry: a\nmax_iterations: ten\n',
      'wrong-type 2:17 `max_iterations` must be a whole number from 0 to 1000, but is the text "ten" (Write only a number, without a unit.)',
    ],
    [
      'entry: a\nmax_iterations: "10"\n',
      'wrong-type 2:17 `max_iterations` must be a whole number from 0 to 1000, but is the text "10" (Leave out the quotes: 10.)',
    ],
    [
      'entry: a\nmax_iterations: 5000\n',
      'bad-value 2:17 `max_iterations` must be a whole number from 0 to 1000, but is 5000 (Write a number within these limits.)',
    ],
    [
      'entry: a\nmax_iterations: 1.5\n',
      'wrong-type 2:17 `max_iterations` must be a whole number from 0 to 1000, but is 1.5 (Write a whole number.)',
    ],
    [
      'entry: a\nrate: 0\n',
      'bad-value 2:7 `rate` must be a number above 0, but is 0 (Write a number within these limits.)',
    ],
    [
      'entry: a\nloud: yes\n',
      'wrong-type 2:7 `loud` must be true or false, but is the text "yes" (Write `true` or `false`, without quotes.)',
    ],
    [
      'entry: a\nmode: fsat\n',
      'bad-value 2:7 `mode` must be one of `fast`, `slow`, but is the text "fsat" (Did you mean `fast`?)',
    ],
    [
      'entry: a\nmode: [fast]\n',
      'wrong-type 2:7 `mode` must be one of `fast`, `slow`, but is a list of 1 (Write one of these words.)',
    ],
    ['entry: ""\n', 'bad-value 1:8 `entry` must not be empty (Write some text.)'],
    ['entry:\n', 'wrong-type 1:7 `entry` must be text, but is empty (Give it a value, or leave the key out.)'],
    ['entry: 5\n', 'wrong-type 1:8 `entry` must be text, but is 5 (Put it in quotes: "5".)'],
    ['mode: fast\n', 'missing-field 1:1 the flow needs `entry`, which is missing (Add `entry`. It is text.)'],
    [
      'entry: a\nnodes: x\n',
      'wrong-type 2:8 `nodes` must be a list, but is the text "x" (Write a list in brackets: `[{ … }]`.)',
    ],
    [
      'entry: a\nmaxIterations: 5\n',
      'unknown-key 2:1 unknown key `maxIterations` in the flow (Did you mean `max_iterations`?)',
    ],
    ['entry: a\nagnets: 5\n', 'unknown-key 2:1 unknown key `agnets` in the flow (Did you mean `agents`?)'],
    ['entry: a\ntool: 5\n', 'wrong-type 2:7 `tool` must be text or a map, but is 5 (Write it in one of these forms.)'],
    ['entry: a\ntool: { comand: ls }\n', 'unknown-key 2:9 unknown key `comand` in `tool` (Did you mean `command`?)'],
    [
      'entry: a\nnodes: [{ id: a }]\n',
      'missing-field 2:11 `a` needs `type`, which is missing (Give one of `agent`, `parallel`, `terminal`.)',
    ],
    [
      'entry: a\nnodes: [{ id: a, type: agnt }]\n',
      'bad-value 2:24 `type` must be one of `agent`, `parallel`, `terminal`, but is the text "agnt" (Did you mean `agent`?)',
    ],
    [
      'entry: a\nnodes: [{ id: a, type: agent, agnet: b }]\n',
      'unknown-key 2:31 unknown key `agnet` in `a` (Did you mean `agent`?)',
    ],
    [
      'entry: a\nnodes: [{ id: a, type: agent, agent: b, routes: [{ too: c }] }]\n',
      'unknown-key 2:52 unknown key `too` in item 1 of `routes` (Did you mean `to`?)',
    ],
    [
      'entry: a\nnodes: [{ type: agent, agent: b }]\n',
      'missing-field 2:11 item 1 of `nodes` needs `id`, which is missing (Add `id`. It is text.)',
    ],
    [
      'entry: a\nnodes: [{ id: p, type: parallel, branches: [{ to: x }] }]\n',
      'too-few-branches 2:44 two or more, please (Add one.)',
    ],
    [
      'entry: a\nnodes: [{ id: t, type: terminal, zebra: 1 }]\n',
      'unknown-key 2:34 unknown key `zebra` in `t` (Known keys: `type`, `id`, `routes`.)',
    ],
    [
      '[1, 2]\n',
      'wrong-type 1:1 the flow must be a map, but is a list of 2 (Write a map. Its keys can be `entry`, `max_iterations`, `rate`, `loud`, `mode`, `tool`, `nodes`.)',
    ],
  ])('one mistake gives one error: %j', (yaml, expected) => {
    expect(read(yaml).said).toEqual([expected]);
  });

  test('reports all mistakes at once, in the order of the text', () => {
    const { said } = read(`entry: 5
mode: quick
nodes:
  - { id: a, type: agent, agnt: x }
  - { id: b, type: terminal, routes: [{ when: 3, to: end }] }
  - { id: c, type: parallel, branches: [] }
`);
    expect(said.map((each) => each.split(' ').slice(0, 2).join(' '))).toEqual([
      'wrong-type 1:8',
      'bad-value 2:7',
      'unknown-key 4:27',
      'wrong-type 5:47',
      'too-few-branches 6:40',
    ]);
  });

  test('keeps what is good: a faulty part is taken out with what cannot be without it', () => {
    const { shaped, report } = read(`entry: a
rate: fast
nodes:
  - { id: a, type: agent, agent: 7 }
  - { id: b, type: terminal, routes: [{ to: 1 }, { to: end }], extra: 1 }
`);
    expect(shaped?.sound).toBe(false);
    expect(shaped?.value).toEqual({
      entry: 'a',
      max_iterations: 0,
      nodes: [{ id: 'b', type: 'terminal', routes: [{ when: 'default', to: 'end' }] }],
    });
    expect(positionOf(report.source, shaped!.at('nodes', 0, 'routes', 0, 'to').start)).toEqual({ line: 5, column: 56 });
  });

  test('a misspelt key is read as the one that was missing, so that the rest can be checked', () => {
    const { shaped, report, said } = read(`entry: a
nodes:
  - { id: a, type: agent, agnet: bot, routes: [{ too: b }] }
  - { id: b, tpye: agent, agent: bot }
  - { id: c, type: agent, agnt: 5 }
`);
    expect(said.map((each) => each.split(' ').slice(0, 2).join(' '))).toEqual([
      'unknown-key 3:27',
      'unknown-key 3:50',
      'unknown-key 4:14',
      'unknown-key 5:27',
    ]);
    expect(shaped?.sound).toBe(false);
    expect(shaped?.value.nodes).toEqual([
      { id: 'a', type: 'agent', agent: 'bot', routes: [{ when: 'default', to: 'b' }] },
      { id: 'b', type: 'agent', agent: 'bot', routes: [] },
    ]);
    expect(positionOf(report.source, shaped!.at('nodes', 0, 'agent').start)).toEqual({ line: 3, column: 34 });
  });

  test('a list that falls below its least length by a taken-out item is no second mistake', () => {
    expect(read('entry: a\nnodes: [{ id: p, type: parallel, branches: [{ to: x }, { to: 5 }] }]\n').said).toHaveLength(
      1,
    );
  });

  test('what was unreadable already is no second mistake, and the rest is read', () => {
    const { shaped, said } = read(
      'entry: a\nmax_iterations: *none\nnodes: [{ id: .nan, type: terminal }, { id: b, type: terminal }]\n',
    );
    expect(said.map((each) => each.split(' ')[0])).toEqual(['unknown-alias', 'not-json']);
    expect(shaped?.sound).toBe(false);
    expect(shaped?.value.nodes.map((each) => each.id)).toEqual(['b']);
  });

  test('gives null where nothing can be made of it', () => {
    expect(read('nodes: []\n').shaped).toBeNull();
  });
});
