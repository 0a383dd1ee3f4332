/**
 * A hostile world from one seed: agents that loop, oscillate, spawn, lie, stall and overspend, tools that fail, hang and
 * repeat, and people who answer anything or not at all. Every run must end or wait for a person, within every budget; what it
 * did must be undone if it fails or repeats its work; and its journal must decide the same again.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import type { Settled } from '@sluice-internal/kernel/ir';
import { createVirtualClock } from '@sluice-internal/engine/ports';
import type { Asked, Call, ChainedEvent, ScriptedAnswer } from '@sluice-internal/engine/ports';
import { TERMINAL_CODES, compile, createEngine, openMemory, replay } from '@sluice-internal/library';
import type { CompiledFlow, Report } from '@sluice-internal/library';

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
};

/** The work of each topology. */
const WORK: readonly object[] = [
  { workers: { agent: 'worker', max: 3 }, aggregate: { agent: 'editor' } },
  { workers: { agents: ['worker', 'editor'], output: { type: 'object' } } },
  {
    sop: [
      { id: 'first', agent: 'worker', timeout: 900 },
      { id: 'second', agent: 'worker', output: { type: 'string', minLength: 1 } },
    ],
  },
  { peers: { agents: ['worker', 'editor'] } },
  { debate: { agents: ['worker', 'editor'], judge: 'critic' } },
  { board: { agents: ['worker', 'editor'], rounds: 3 } },
  { swarm: { agent: 'worker', depth: 2, max: 6 } },
  {
    teams: [
      {
        id: 'north',
        staged: { plan: { agent: 'planner' }, workers: { agent: 'worker' }, validate: { agent: 'critic' } },
      },
    ],
  },
];
const TIERS = ['batch', 'interactive', 'regulated'] as const;

/** A staged flow, by seed: each topology in each tier. */
function stagedFor(seed: number): object {
  const work = WORK[seed % WORK.length];
  return {
    ...SECTIONS,
    protections: { velocity: { tokens_per_minute: 20_000, on_trip: 'stop' } },
    staged: {
      id: 's',
      tier: TIERS[Math.floor(seed / WORK.length) % TIERS.length],
      plan: { agent: 'planner' },
      validate: { agent: 'critic', confidence: 0.5 },
      ...work,
    },
  };
}

const flows = new Map<string, CompiledFlow>();
function flowNamed(name: string, seed: number): CompiledFlow {
  const variant = Math.floor(seed / HOSTILE_NOTATIONS.length) % (WORK.length * TIERS.length);
  const id = name === 'staged' ? `staged ${variant}` : name;
  let flow = flows.get(id);
  if (flow === undefined) {
    const document = name === 'staged' ? stagedFor(variant) : (NOTATIONS[name] as object);
    const result = compile(JSON.parse(JSON.stringify(document)) as object);
    if (result.flow === undefined) throw new Error(JSON.stringify(result.diagnostics, null, 1));
    flows.set(id, (flow = result.flow));
  }
  return flow;
}

export const HOSTILE_NOTATIONS = [...Object.keys(NOTATIONS), 'staged'];

export interface HostileRun {
  readonly report: Report;
  /** What is wrong; empty if the run kept every promise. */
  readonly problems: readonly string[];
}

export async function hostileRun(name: string, seed: number): Promise<HostileRun> {
  const chance = random(seed);
  const store = openMemory();
  const clock = createVirtualClock(0);
  const world: World = { stands: new Map(), chance };
  const engine = createEngine({
    journal: store,
    clock,
    performer: {
      perform: (call) => (call.command.kind === 'model' ? reply(call, chance) : toolResult(call, world)),
      answer: (asked) => answerTo(asked, chance),
    },
  });
  const report = await engine.settled(await engine.start(flowNamed(name, seed), { input: 'the task', seed }));
  const replayed = await replay(store.journal, report.run);
  const events: ChainedEvent[] = [];
  for await (const event of engine.events(report.run, { live: false })) events.push(event);
  await engine.close();
  const grants = events.filter(({ type }) => type === 'meter.raised').length;
  const problems = [...problemsOf(report, grants), ...effectProblems(report, events, world)];
  return { report, problems: replayed.agrees ? problems : [...problems, 'the replay differs'] };
}

interface World {
  /** The writes that were made and not undone, by the key of the call; the number says how often each was made. */
  readonly stands: Map<string, number>;
  readonly chance: Chance;
}

/** A failed run leaves nothing behind, and repeated work was undone before. A call with an unknown outcome may stand. */
function effectProblems(
  { state, code }: Report,
  events: readonly ChainedEvent[],
  { stands }: World,
): readonly string[] {
  const twice = [...stands.values()].filter((times) => times > 1).map(() => 'a write was made twice under one key');
  const undoes = new Set(events.flatMap((event) => (event.type === 'undo.requested' ? [event.undoes] : [])));
  const kept = events.filter(
    (event) =>
      event.type === 'effect.requested' &&
      event.undo !== undefined &&
      !undoes.has(event.key) &&
      made(events, event.key),
  );
  const isReviewed = code === 'REVIEW_REQUIRED';
  if (state === 'failed' && !isReviewed && kept.length > 0) twice.push(`${kept.length} effects of a failed run stand`);
  const again = events.findLast(
    (event) => event.type === 'slots.written' && event.to === 'plan' && event.thread === '0',
  );
  const older = kept.filter(({ seq }) => again !== undefined && seq < again.seq);
  if (older.length > 0 && !isReviewed) twice.push(`${older.length} effects stand although their work was repeated`);
  return twice;
}

function made(events: readonly ChainedEvent[], key: string): boolean {
  return events.some((event) => event.type === 'effect.settled' && event.key === key && event.result.ok);
}

/** A person answers most questions, and not always well. */
function answerTo({ question }: Asked, chance: Chance): ScriptedAnswer | null {
  if (chance() < 0.05) return null;
  const choice = pick(chance, question.choices);
  if (choice === 'respond') return { choice, text: 'Try something else.' };
  if (choice !== 'edit') return { choice };
  return { choice, edit: question.about === 'escalation' ? pick<Json>(chance, EDITS) : { q: 'z' } };
}

const EDITS: readonly Json[] = [[{ id: 'x', summary: 'by hand' }], 'by hand'];

/** A person may grant a used-up budget once more. */
function problemsOf({ state, code, usage, waiting, decisions }: Report, grants: number): readonly string[] {
  const most = (limit: number): number => limit * (1 + grants);
  const problems: string[] = [];
  if (!['completed', 'failed', 'suspended'].includes(state)) problems.push(`the run is ${state}`);
  if (state === 'suspended' && waiting.length === 0) problems.push('the run waits for nothing');
  if (code === null || !TERMINAL_CODES.includes(code)) problems.push(`the code is ${String(code)}`);
  if (usage.modelCalls > most(BUDGETS.model_calls)) problems.push(`${usage.modelCalls} model calls`);
  // Each call may be undone by one more.
  if (usage.toolCalls > 2 * most(BUDGETS.tool_calls)) problems.push(`${usage.toolCalls} tool calls`);
  if (usage.costUsd > most(BUDGETS.cost_usd)) problems.push(`${usage.costUsd} dollars`);
  if (usage.tokens > most(BUDGETS.tokens)) problems.push(`${usage.tokens} tokens`);
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
  if (agent === 'planner' && roll < 0.88) {
    const many = roll < 0.04 ? 50 : 1 + Math.floor(chance() * 4);
    const tasks = Array.from({ length: many }, (_, index) => ({
      id: roll < 0.1 ? 'same' : `t${index}`,
      brief: 'part',
    }));
    return { text: JSON.stringify({ tasks }) };
  }
  if (agent === 'critic' && roll < 0.8)
    return { text: JSON.stringify({ ok: roll < 0.3, confidence: 0.4 + chance() * 0.6, problem: 'fine, or not' }) };
  if (agent !== 'critic' && roll > 0.8) return { text: JSON.stringify(pick(chance, PROTOCOL)) };
  return {
    text: pick(chance, ['I need more information about it.', '{"ok":', '', `part ${chance()}`, 'All is fine.']),
  };
}

/** Replies of peers, boards and swarms, some of them wrong. */
const PROTOCOL: readonly Json[] = [
  { handoff: 'editor', message: 'over to you' },
  { handoff: 'worker', message: 'over to you' },
  { handoff: 'nobody' },
  { done: 'finished' },
  { writes: { a: 1 }, version: 0, done: false },
  { writes: { b: 2 }, version: 1, done: true },
  { spawn: [{ id: 'm', brief: 'more' }] },
  { spawn: [{ id: 'm', brief: 'more' }, { id: 'm', brief: 'again' }, { id: 'n' }] },
];

async function toolResult(
  { command, clock, signal, idempotencyKey }: Call,
  { chance, stands }: World,
): Promise<Settled> {
  const roll = chance();
  if (command.kind === 'check') return { ok: true, value: { ok: true } };
  if (roll < 0.15) return { ok: false, error: { class: 'transient', type: 'APIError', message: 'broken pipe' } };
  if (roll < 0.2) await clock.sleep(120_000, signal);
  if (command.name === 'data.write') stands.set(idempotencyKey, (stands.get(idempotencyKey) ?? 0) + 1);
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
