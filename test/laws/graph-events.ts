/** Random events that do what a graph says, alone and among others; and the graph, as compiled and as it is read back. */
import { createProgram, declaredOf, nameOf } from '@sluice-internal/kernel/core';
import type { CompiledFlow, DoNode, EventBody, Node, Origin, WriteRecord } from '@sluice-internal/kernel/ir';
import { pure } from '@sluice-internal/engine/ports';
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { appends, values } from './events.ts';
import { flowOf, tool } from './flow.ts';

const flow = flowOf(
  {
    start: tool('t "quoted"', 'route', { charges: ['steps'], writes: [{ slot: 'a', mode: 'set', value: 'it.b' }] }),
    'ünï 🐱': tool('u', 'start', {
      writes: [{ slot: 'a', path: ['x'], mode: 'append', value: { f: 'it', g: "'lit'" } }],
    }),
    computed: tool('v', 'start', { writes: [{ slot: 'a', mode: 'set', value: 'size(it)' }] }),
    route: {
      op: 'pick',
      label: { name: 'route' },
      cases: [{ when: 'a == 1', to: 'start' }],
      otherwise: 'note',
      charges: ['steps'],
    },
    note: { op: 'let', label: { name: 'note' }, writes: [{ slot: 'b', mode: 'set', value: 'a' }], next: 'done' },
    split: {
      op: 'fork',
      label: { name: 'split' },
      over: { heads: [{ name: 'x', to: 'start' }] },
      widthMax: 0,
      need: 'all',
      eager: false,
      timeoutMs: null,
      into: 'j',
      gather: [{ slot: 'a', mode: 'first' }],
      next: 'done',
      failed: [],
      fail: 'fail',
    },
    done: { op: 'end', label: { name: 'done' }, state: 'completed', code: 'SUCCESS', output: 'b', charges: ['steps'] },
    sum: { op: 'end', label: { name: 'sum' }, state: 'completed', code: 'SUCCESS', output: 'size(b)' },
  },
  { meters: { steps: { unit: 'steps', max: null, over: 'fail', label: 'steps' } } },
);

export const program = createProgram(flow, pure);
export const reloaded = createProgram(JSON.parse(canonicalize(flow) as string) as CompiledFlow, pure);

const key = fc.tuple(fc.constantFrom('0', '0:1.2', '0:1.2:0.0'), fc.nat(99)).map(([id, n]) => `${id}#${n}`);
const nodes = Object.entries(flow.nodes);

function eventsAt([id, node]: [string, Node], effect: string): EventBody[] {
  const thread = effect.slice(0, effect.indexOf('#'));
  const { visits: charge, writes, output } = declaredOf(program, node);
  switch (node.op) {
    case 'do':
      return [asked(id, node, thread, effect), ...accepted(id, node, thread, effect, writes ?? [])];
    case 'pick':
      return [-1, 0].map((index) => {
        const to = index < 0 ? node.otherwise : (node.cases[index]?.to as string);
        return { type: 'route.picked', thread, node: id, index, to, charge };
      });
    case 'let':
      return [{ type: 'slots.written', thread, node: id, writes: writes ?? [], to: node.next, charge }];
    case 'end': {
      const { state, code } = node;
      const ending = {
        node: id,
        state,
        code: code === 'error' ? 'FATAL_ERROR' : code,
        output: output ?? { value: 1 },
        charge,
      };
      return [
        { type: 'thread.ended', thread, ...ending },
        { type: 'run.ended', ...ending },
      ] as EventBody[];
    }
    case 'fork': {
      const { branches } = declaredOf(program, node);
      const { into, gather } = node;
      if (branches === null) return [];
      return [
        {
          type: 'thread.forked',
          thread,
          key: effect,
          node: id,
          branches,
          started: 1,
          deadline: 7,
          into,
          gather,
          charge,
        },
      ];
    }
  }
}

function asked(node: string, of: DoNode, thread: string, effect: string): EventBody {
  const { visits: charge } = declaredOf(program, of);
  const input = 'w7BuENS09YUVmfYuM8UKT5';
  return {
    type: 'effect.requested',
    thread,
    key: effect,
    node,
    kind: 'tool',
    name: nameOf(of),
    input,
    deadline: null,
    charge,
  };
}

function accepted(
  node: string,
  { next }: DoNode,
  thread: string,
  effect: string,
  writes: readonly WriteRecord[],
): EventBody[] {
  return [
    { type: 'effect.judged', key: effect, verdict: 'accepted' },
    { type: 'slots.written', thread, node, writes, to: next },
  ];
}

const pins = { documentDir: '/app', workRoot: '/app/.sluice/work', modules: {}, store: 's1' };
const ORIGINS: readonly Origin[] = [
  {},
  { by: 'ann' },
  { pins },
  { by: 'ann', pins },
  { pins: { ...pins, workRoot: '/elsewhere' } },
  { pins: { ...pins, modules: { '/app/a.ts': 'x' } } },
  { pins: { ...pins, script: '/app/s.yaml' } },
  { pins: { store: 's1', modules: {}, workRoot: '/app/work', documentDir: '/app' } },
];
const origins = fc.constantFrom(...ORIGINS);

const started = fc.tuple(values, fc.nat(), fc.boolean(), origins).map(([input, seed, hurried, origin]): EventBody => {
  const { hash, entry } = flow;
  return {
    type: 'run.started',
    run: 'r_1',
    flow: hash,
    entry,
    input,
    seed,
    origin,
    deadline: hurried ? 99 : null,
  };
});
const byGraph = fc.tuple(fc.constantFrom(...nodes), key).map(([node, effect]) => eventsAt(node, effect));

export const graphAppends = fc
  .tuple(
    fc.array(
      fc.oneof(
        { weight: 5, arbitrary: byGraph },
        started.map((each) => [each]),
      ),
      { minLength: 1 },
    ),
    appends,
  )
  .map(([lists, { after, at, events }]) => {
    const bodies = [...lists.flat(), ...events, ...lists.flat()];
    return { after, at, events: bodies.map((body, index) => ({ ...body, seq: after + 1 + index, at })) };
  });
