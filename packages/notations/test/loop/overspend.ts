/**
 * Runs with random budgets in a random world, and what they really used, counted from the facts on the journal and from
 * nothing that the meters say. Everything follows from one integer.
 */
import { hash } from 'node:crypto';
import { compile } from '../../src/driver/compile.ts';
import { stopsAtDeadline } from '../../../kernel/src/ir/meters.ts';
import { costOf, priceIn } from '@sluice-internal/kernel/ir';
import type { Command, CompiledFlow, DoNode, Event, Node, Question, Settled } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { draw } from '../../../kernel/src/core/random.ts';
import type { SimulatedWorld } from '../../../testing/src/simulate-types.ts';
import { overtime } from './overspend-time.ts';

const OUTPUT_MAX = 64;
const FIELDS = {
  steps: 12,
  model_calls: 14,
  tool_calls: 10,
  external_calls: 4,
  input_tokens: 9000,
  output_tokens: 700,
  cost_usd: 0.02,
  retries: 4,
  reflections: 2,
  context_tokens: 6000,
  memory_writes: 2,
  side_effects: 4,
  wall_clock_seconds: 30,
};

export interface Trial {
  readonly flow: CompiledFlow;
  readonly world: SimulatedWorld;
}

export function trialOf(seed: number): Trial {
  const chance = (what: string): number => draw(seed, what);
  const budgets = Object.fromEntries(
    Object.entries(FIELDS).flatMap(([field, most]) =>
      chance(`${field}?`) < 0.65
        ? []
        : [
            [
              field,
              field === 'cost_usd'
                ? chance(field) * most
                : field === 'wall_clock_seconds'
                  ? 1 + chance(field) * most
                  : Math.floor(chance(field) * (most + 1)),
            ],
          ],
    ),
  );
  const { flow, diagnostics } = compile(
    { ...sectionsOf(chance), budgets, ...(chance('notation') < 0.5 ? loopOf(chance) : parallelOf(chance)) },
    { hash: (text) => hash('sha256', text, 'hex') },
  );
  if (flow === undefined) throw new Error(`seed ${seed} does not compile: ${JSON.stringify(diagnostics)}`);
  return { flow, world: worldOf(seed, flow) };
}

const SECTIONS = {
  models: {
    m: { provider: 'test', model: 'm', price: { input: 2, output: 6 } },
    n: { provider: 'test', model: 'n', price: { input: 1, output: 3 } },
  },
  agents: ['a', 'b', 'c'].map((id) => ({
    id,
    model: 'm',
    tools: ['look', 'save', 'fetch'],
    max_output_tokens: OUTPUT_MAX,
  })),
  tools: {
    look: { effect: 'read' },
    save: { effect: 'write', compensate: 'unsave' },
    unsave: { effect: 'write' },
    fetch: { effect: 'read', http: { method: 'GET', url: 'https://example.org/' } },
  },
};

/** Some agents have budgets of their own, and one tool may not be called too often. */
function sectionsOf(chance: (what: string) => number): object {
  const own = (id: string): object => ({
    ...(chance(`steps ${id}`) < 0.2 ? { steps: 1 + Math.floor(chance(`steps of ${id}`) * 3) } : {}),
    ...(chance(`time ${id}`) < 0.3 ? { wall_clock_seconds: 0.5 + chance(`time of ${id}`) * 5 } : {}),
  });
  const rate = { calls: 1 + Math.floor(chance('calls') * 2), per_seconds: 1 + chance('per') * 4 };
  return {
    ...SECTIONS,
    agents: SECTIONS.agents.map((agent) => ({ ...agent, budget: own(agent.id) })),
    tools: {
      ...SECTIONS.tools,
      ...(chance('rate') < 0.4 ? { look: { ...SECTIONS.tools.look, rate_limit: rate } } : {}),
    },
  };
}

function loopOf(chance: (what: string) => number): object {
  return {
    loop: {
      ...(chance('plan') < 0.3 ? { planner: 'b', executor: 'a' } : { agent: 'a' }),
      memory: chance('memory') < 0.5,
      ...(chance('verifier') < 0.3 ? { verifier: { agent: 'c', confidence: 0.5 } } : {}),
      compression: { window: 500 },
      escalation: { expansions: Math.floor(chance('expansions') * 4), timeout: 20_000 },
    },
  };
}

/** Branches that draw on the same budgets at the same time. */
function parallelOf(chance: (what: string) => number): object {
  const width = 2 + Math.floor(chance('width') * 3);
  const heads = Array.from({ length: width }, (_, index) => `branch${index}`);
  return {
    flow: {
      id: 'wide',
      entry: 'all',
      max_iterations: 3,
      nodes: [
        {
          id: 'all',
          type: 'parallel',
          branches: heads.map((to) => ({ to })),
          join: { type: chance('join') < 0.5 ? 'all' : 'any' },
          routes: [{ when: 'true', to: 'last' }],
          on_error: [{ default: true, to: 'last' }],
        },
        ...heads.map((id, index) =>
          index % 2 === 0
            ? {
                id,
                type: 'agent',
                agent: 'abc'[index % 3],
                input: { task: 'go' },
                routes: [{ when: 'true', to: `${id}_then` }],
              }
            : { id, type: 'tool', tool: 'save', params: { n: index }, routes: [{ when: 'true', to: `${id}_then` }] },
        ),
        ...heads.map((id, index) => ({
          id: `${id}_then`,
          type: 'tool',
          tool: index % 2 === 0 ? 'fetch' : 'look',
          params: { n: index },
        })),
        {
          id: 'last',
          type: 'agent',
          agent: 'a',
          input: { task: 'sum up' },
          routes: [{ when: 'again == true', to: 'all' }],
        },
      ],
    },
  };
}

/** Never more than was reserved: what a provider is sent is longer than this, and what it may say is capped. */
function worldOf(seed: number, flow: CompiledFlow): SimulatedWorld {
  return {
    perform: (command) =>
      command.kind === 'model'
        ? model(seed, flow, command)
        : command.kind === 'check'
          ? { ok: true, value: { ok: true, args: command.input['args'] ?? {}, missing: [], claimed: [] } }
          : tool(seed, command),
    answer: (question: Question) => {
      const dice = draw(seed, `answer ${question.id}`);
      if (dice < 0.1) return null;
      const choice = question.choices[Math.floor(dice * question.choices.length)] ?? 'reject';
      const edit = dice < 0.5 || choice === 'edit' ? editOf(flow, question, choice) : null;
      return { choice, by: 'somebody', text: 'go on', ...(edit === null ? {} : { edit }) };
    },
  };
}

/** As much more as somebody may grant, of whatever is limited; null where this choice takes nothing. */
function editOf(flow: CompiledFlow, { about }: Question, choice: string): Json {
  const asks = Object.values<Node>(flow.nodes).flatMap((node) =>
    node.op === 'do' && node.effect.kind === 'ask' && node.effect.about === about ? [node.effect] : [],
  );
  const schema = asks
    .flatMap(({ choices }) => choices)
    .find(({ name, edit }) => name === choice && edit !== undefined)?.edit;
  if (schema === undefined) return null;
  const { properties = {} } = schema as { properties?: object };
  return Object.fromEntries(Object.entries(MORE).filter(([field]) => Object.hasOwn(properties, field)));
}
const MORE = {
  steps: 1,
  tool_calls: 2,
  output_tokens: 70,
  input_tokens: 900,
  cost_usd: 0.002,
  wall_clock_seconds: 3,
};

function model(seed: number, flow: CompiledFlow, { key, attempt, name, target }: Command): Settled | null {
  const dice = (what: string): number => draw(seed, `${what} ${key} ${attempt}`);
  const tokens = { inputTokens: Math.floor(dice('in') * 30), outputTokens: Math.floor(dice('out') * (OUTPUT_MAX + 1)) };
  const used = { ...tokens, costMicros: costOf(priceIn(flow, name, target), tokens) };
  if (dice('lost') < 0.02) return null;
  if (dice('fails') < 0.15)
    return {
      ok: false,
      error: { class: dice('kind') < 0.8 ? 'transient' : 'fatal', type: 'Error', message: 'no' },
      used,
    };
  const calls =
    dice('acts') < 0.6
      ? Array.from({ length: 1 + Math.floor(dice('calls') * 3) }, (_, index) => ({
          id: `c${index}`,
          name: ['look', 'save', 'fetch'][Math.floor(dice(`tool ${index}`) * 3)] ?? 'look',
          args: { n: Math.floor(dice(`args ${index}`) * 5) },
        }))
      : [];
  const text = JSON.stringify(
    name === 'b'
      ? { steps: [{ id: 's', do: 'it' }] }
      : {
          status: dice('status') < 0.8 ? 'complete' : 'partial',
          answer: 'x',
          confidence: dice('sure'),
          ok: true,
          again: dice('again') < 0.5,
        },
  );
  const value: Json = calls.length === 0 ? { text } : { text: '', toolCalls: calls };
  return { ok: true, value, used };
}

function tool(seed: number, { key, attempt }: Command): Settled | null {
  const dice = draw(seed, `tool ${key} ${attempt}`);
  if (dice < 0.02) return null;
  return dice < 0.15
    ? { ok: false, error: { class: 'transient', type: 'Error', message: 'no' } }
    : { ok: true, value: { done: true } };
}

/** What was asked of the world and what it said it used, by dimension. */
function measured(flow: CompiledFlow, events: readonly Event[]): { readonly [dimension: string]: number } {
  const sum: { [dimension: string]: number } = {};
  const add = (dimension: string, amount: number): void => void (sum[dimension] = (sum[dimension] ?? 0) + amount);
  const nodes = new Map<string, DoNode>();
  const sent = (key: string): void => {
    const { reserve } = (nodes.get(key) as DoNode).effect;
    for (const dimension of [
      'modelCalls',
      'toolCalls',
      'externalCalls',
      'reflections',
      'memoryWrites',
      'sideEffects',
    ] as const)
      add(dimension, reserve[dimension] ?? 0);
  };
  for (const event of events) {
    if (event.type === 'effect.requested' && event.control === undefined) {
      nodes.set(event.key, flow.nodes[event.node] as DoNode);
      sent(event.key);
    }
    if (event.type === 'effect.judged' && event.verdict === 'retry') {
      add('retries', 1);
      sent(event.key);
    }
    if (event.type !== 'effect.settled') continue;
    const { inputTokens = 0, outputTokens = 0, costMicros = 0 } = event.result.used ?? {};
    add('inputTokens', inputTokens);
    add('outputTokens', outputTokens);
    add('costMicros', costMicros);
    sum['contextTokens'] = Math.max(sum['contextTokens'] ?? 0, inputTokens);
  }
  return sum;
}

/** Dimensions in which a run used more than it was given, people's grants included. */
export function overspent(flow: CompiledFlow, events: readonly Event[]): readonly string[] {
  const used = measured(flow, events);
  const granted: { [meter: string]: number } = {};
  for (const event of events)
    if (event.type === 'meter.raised')
      for (const { meter, by } of event.raises) granted[meter] = (granted[meter] ?? 0) + by;
  const counted = Object.entries(flow.meters).flatMap(([id, { unit, max, label }]) => {
    const isRunWide = id.startsWith('budget.') && !id.includes('@');
    const allowed = (max ?? Infinity) + (granted[id] ?? 0);
    return isRunWide && (used[unit] ?? 0) > allowed ? [`${label}: ${used[unit]} of ${allowed}`] : [];
  });
  const found = [...counted, ...overtime(flow, events, granted)];
  return askedLate(flow, events) ? [...found, 'something was asked for after the time was up'] : found;
}

/** Whether a model, a tool or a check was asked for when there was no time; a person may be, where they can grant more. */
function askedLate(flow: CompiledFlow, events: readonly Event[]): boolean {
  let deadline = Infinity;
  let last = 0;
  const open = new Map<string, string>();
  for (const event of events) {
    // Time in which a run only waits for people does not count.
    if (open.size > 0 && [...open.values()].every((kind) => kind === 'ask')) deadline += event.at - last;
    last = event.at;
    if (event.type === 'run.started') deadline = event.deadline ?? Infinity;
    if (event.type === 'meter.raised') deadline = event.deadline ?? deadline;
    if (event.type === 'effect.settled' || event.type === 'effect.dropped') open.delete(event.key);
    if (event.type === 'effect.judged' && event.verdict === 'retry') open.set(event.key, 'call');
    if (event.type === 'undo.requested') open.set(event.key, 'undo');
    if (event.type !== 'effect.requested') continue;
    open.set(event.key, event.kind);
    if (event.at >= deadline && (event.kind !== 'ask' || stopsAtDeadline(flow))) return true;
  }
  return false;
}
