/**
 * A hostile world from one seed: agents that loop, oscillate, spawn, lie, stall and overspend, and tools that fail, hang and
 * repeat. Every run must end or wait for a person, within every budget, and its journal must decide the same again.
 */
import type { Json } from '../../src/expr/json.ts';
import { TERMINAL_CODES, compile, createEngine, openMemory, replay } from '../../src/index.ts';
import type { CompiledFlow, Report } from '../../src/index.ts';
import type { Settled } from '../../src/ir/events.ts';
import { createVirtualClock } from '../../src/runtime/engine/clock.ts';
import type { Call } from '../../src/runtime/ports.ts';

const BUDGETS = { model_calls: 40, tool_calls: 30, tokens: 60_000, cost_usd: 0.5, wall_clock_seconds: 3600 };
const SECTIONS = {
  models: {
    main: { provider: 'openai', model: 'big', price: { input: 2, output: 8 } },
    cheap: { provider: 'openai', model: 'small', price: { input: 0.1, output: 0.4 } },
  },
  agents: ['planner', 'worker', 'editor', 'critic'].map((id) => ({
    id,
    model: 'main',
    instructions: 'Do your part.',
    max_output_tokens: 400,
    ...(id === 'worker' ? { tools: ['data.read', 'data.write'] } : {}),
  })),
  tools: {
    'data.read': { description: 'Reads.', input: { type: 'object' }, effect: 'read', timeout: 20 },
    'data.write': {
      description: 'Writes.',
      input: { type: 'object' },
      effect: 'write',
      compensate: 'data.undo',
      timeout: 20,
    },
    'data.undo': { description: 'Undoes.', input: { type: 'object' }, effect: 'write', timeout: 20 },
  },
  boundary: { tools: { allow: ['data.read', 'data.write'] } },
  budgets: BUDGETS,
};
const ALL = {
  hops: 8,
  loop: {},
  breaker: { fallback: { model: 'cheap' } },
  retry_budget: {},
  velocity: { tokens_per_minute: 20_000, on_trip: 'cheaper', fallback: { model: 'cheap' } },
  deadlock: { on_trip: 'end' },
};
const agent = (id: string, to: string) => ({ id, type: 'agent', agent: id, timeout: 60, routes: [{ to }] });

const NOTATIONS: { readonly [name: string]: object } = {
  flow: {
    ...SECTIONS,
    protections: ALL,
    flow: {
      id: 'f',
      entry: 'worker',
      max_iterations: 30,
      nodes: [
        agent('worker', 'critic'),
        {
          ...agent('critic', 'worker'),
          routes: [{ when: "critic.output.contains('fine')", to: 'end' }, { to: 'worker' }],
        },
      ],
    },
  },
  workflow: {
    ...SECTIONS,
    protections: ALL,
    workflow: {
      steps: [
        { name: 'work', agent_id: 'worker' },
        { name: 'check', agent_id: 'critic', mode: { Loop: { max_iterations: 5, until: 'fine' } } },
      ],
    },
  },
  loop: { ...SECTIONS, protections: ALL, loop: { agent: 'worker' } },
  orchestration: {
    ...SECTIONS,
    agents: undefined,
    boundary: undefined,
    // In a round robin every turn is a hop.
    protections: { ...ALL, hops: false },
    Orchestration: {
      Agents: ['planner', 'worker', 'critic'].map((Name) => ({
        Name,
        Instructions: 'Do your part.',
        ...(Name === 'worker' ? { Plugins: ['data.read', 'data.write'] } : {}),
      })),
      Selection: { Type: 'roundrobin' },
      Termination: { Type: 'regex', Pattern: 'fine', MaxIterations: 30 },
    },
  },
  staged: {
    ...SECTIONS,
    protections: { velocity: { tokens_per_minute: 20_000, on_trip: 'stop' } },
    staged: {
      id: 's',
      plan: { agent: 'planner' },
      workers: { agent: 'worker', max: 3 },
      aggregate: { agent: 'editor' },
      validate: { agent: 'critic', confidence: 0.5 },
    },
  },
};

const flows = new Map<string, CompiledFlow>();
function flowNamed(name: string): CompiledFlow {
  let flow = flows.get(name);
  if (flow === undefined) {
    const result = compile(JSON.parse(JSON.stringify(NOTATIONS[name])) as object);
    if (result.flow === undefined) throw new Error(JSON.stringify(result.diagnostics, null, 1));
    flows.set(name, (flow = result.flow));
  }
  return flow;
}

export const HOSTILE_NOTATIONS = Object.keys(NOTATIONS);

export interface HostileRun {
  readonly report: Report;
  /** What is wrong; empty if the run kept every promise. */
  readonly problems: readonly string[];
}

export async function hostileRun(name: string, seed: number): Promise<HostileRun> {
  const chance = random(seed);
  const store = openMemory();
  const clock = createVirtualClock(0);
  const engine = createEngine({
    journal: store,
    clock,
    performer: { perform: (call) => (call.command.kind === 'model' ? reply(call, chance) : toolResult(call, chance)) },
  });
  const report = await engine.settled(await engine.start(flowNamed(name), { input: 'the task', seed }));
  const replayed = await replay(store.journal, report.run);
  await engine.close();
  return { report, problems: [...problemsOf(report), ...(replayed.agrees ? [] : ['the replay differs'])] };
}

function problemsOf({ state, code, usage, waiting, decisions }: Report): readonly string[] {
  const problems: string[] = [];
  if (!['completed', 'failed', 'suspended'].includes(state)) problems.push(`the run is ${state}`);
  if (state === 'suspended' && waiting.length === 0) problems.push('the run waits for nothing');
  if (code === null || !TERMINAL_CODES.includes(code)) problems.push(`the code is ${String(code)}`);
  if (usage.modelCalls > BUDGETS.model_calls) problems.push(`${usage.modelCalls} model calls`);
  // Each call may be undone by one more.
  if (usage.toolCalls > 2 * BUDGETS.tool_calls) problems.push(`${usage.toolCalls} tool calls`);
  if (usage.costUsd > BUDGETS.cost_usd) problems.push(`${usage.costUsd} dollars`);
  if (usage.tokens > BUDGETS.tokens) problems.push(`${usage.tokens} tokens`);
  if (usage.wallClockSeconds > BUDGETS.wall_clock_seconds + 60) problems.push(`${usage.wallClockSeconds} seconds`);
  if (decisions.some(({ failure, action }) => failure === undefined || action === undefined))
    problems.push('a decision without a failure or an action');
  return problems;
}

type Chance = () => number;

/** One of the ways in which an agent misbehaves. */
async function reply({ command, clock, signal }: Call, chance: Chance): Promise<Settled> {
  const roll = chance();
  if (roll < 0.08) return { ok: false, error: { class: 'transient', type: 'APIError', message: '503 overloaded' } };
  if (roll < 0.12) return { ok: false, error: { class: 'rate_limit', type: 'RateLimitError', message: '429' } };
  if (roll < 0.16) await clock.sleep(300_000, signal);
  else await clock.sleep(Math.floor(chance() * 4000), signal);
  const used = { inputTokens: 100, outputTokens: roll > 0.9 ? 400 : 50, costMicros: 600 };
  return { ok: true, value: replyValue(command.name, chance), used };
}

function replyValue(agent: string, chance: Chance): Json {
  const roll = chance();
  if (agent === 'worker' && roll < 0.5)
    return {
      text: '',
      toolCalls: Array.from({ length: 1 + Math.floor(chance() * 3) }, (_, index) => ({
        id: `c${index}`,
        name: pick(chance, ['data.read', 'data.read', 'data.write', 'data.drop']),
        args: { q: pick(chance, ['x', 'x', 'y', Math.floor(chance() * 9)]) },
      })),
    };
  if (agent === 'planner' && roll < 0.7) {
    const many = roll < 0.1 ? 50 : 1 + Math.floor(chance() * 4);
    const tasks = Array.from({ length: many }, (_, index) => ({
      id: roll < 0.2 ? 'same' : `t${index}`,
      brief: 'part',
    }));
    return { text: JSON.stringify({ tasks }) };
  }
  if (agent === 'critic' && roll < 0.6)
    return { text: JSON.stringify({ ok: roll < 0.25, confidence: chance(), problem: 'fine, or not' }) };
  return {
    text: pick(chance, ['I need more information about it.', '{"ok":', '', `part ${chance()}`, 'All is fine.']),
  };
}

async function toolResult({ command, clock, signal }: Call, chance: Chance): Promise<Settled> {
  const roll = chance();
  if (command.kind === 'check') return { ok: true, value: { ok: true } };
  if (roll < 0.15) return { ok: false, error: { class: 'transient', type: 'APIError', message: 'broken pipe' } };
  if (roll < 0.2) await clock.sleep(120_000, signal);
  return { ok: true, value: roll < 0.6 ? 'nothing new' : `row ${Math.floor(chance() * 1000)}` };
}

function pick<T>(chance: Chance, from: readonly T[]): T {
  return from[Math.floor(chance() * from.length)] as T;
}

/** mulberry32 */
function random(seed: number): Chance {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
