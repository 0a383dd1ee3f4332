/**
 * The result of each invocation of a step, in the order of the requests, so that the speed of branches does not matter. A
 * step in a loop is named with its iteration. The result of an agent with tools is the reply that ended its turn.
 */
import { inherited } from '@sluice-internal/kernel/ir';
import type { CompiledFlow, EffectKey, Event, NodeId, Settled, ThreadId } from '@sluice-internal/kernel/ir';
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { StepResult } from '../ports/types.ts';

export function stepResults(flow: CompiledFlow, events: readonly Event[]): readonly StepResult[] {
  const repeated = repeatedNodes(flow);
  const rounds = new Map<NodeId, number>();
  const asked: Asked[] = [];
  const calls = new Map<EffectKey, Asked>();
  const turns = new Map<ThreadId, Asked>();
  const enter = (node: NodeId, name: string, at: number): Asked => {
    const round = (rounds.get(node) ?? 0) + 1;
    rounds.set(node, round);
    const entry = {
      ...NOTHING,
      step: name,
      name: repeated.has(node) ? `${name} (iter ${round})` : name,
      at,
      settledAt: at,
    };
    asked.push(entry);
    return entry;
  };
  const request = (event: Extract<Event, { type: 'effect.requested' }>): void => {
    const label = flow.nodes[event.node]?.label;
    const turn = inherited(turns, event.thread);
    const inTurn = turn?.step === label?.name ? turn : undefined;
    const entry = label?.enters === undefined ? inTurn : enter(event.node, label.enters, event.at);
    if (entry === undefined) return;
    entry.agent = event.name;
    calls.set(event.key, entry);
  };
  for (const event of events) {
    if (event.type === 'slots.written' || event.type === 'thread.forked') {
      const node = flow.nodes[event.node];
      if ((node?.op === 'let' || node?.op === 'fork') && node.label.enters !== undefined)
        turns.set(event.thread, enter(event.node, node.label.enters, event.at));
    } else if (event.type === 'effect.requested' && event.kind === 'model') request(event);
    else if (event.type === 'effect.settled') addResult(calls.get(event.key), event.result, event.at);
    else if (event.type === 'effect.judged' && event.verdict === 'accepted') accept(flow, calls.get(event.key));
  }
  return asked.filter(({ accepted }) => accepted).map(resultOf);
}

interface Asked {
  readonly step: string;
  readonly name: string;
  readonly at: number;
  agent: string;
  settledAt: number;
  inputTokens: number;
  outputTokens: number;
  value: Json;
  accepted: boolean;
}
const NOTHING = { agent: '', inputTokens: 0, outputTokens: 0, value: null, accepted: false };

/** The target of a counted gate runs once per visit of the gate. */
function repeatedNodes(flow: CompiledFlow): ReadonlySet<NodeId> {
  const bodies = new Set<NodeId>();
  for (const node of Object.values(flow.nodes)) {
    const counted = node.op === 'pick' && node.charges?.some((id) => flow.meters[id]?.unit === 'visits') === true;
    if (counted && node.op === 'pick') bodies.add(node.otherwise);
  }
  return bodies;
}

/** Failed attempts count their tokens too. */
function addResult(asked: Asked | undefined, result: Settled, at: number): void {
  if (asked === undefined) return;
  asked.inputTokens += result.used?.inputTokens ?? 0;
  asked.outputTokens += result.used?.outputTokens ?? 0;
  asked.settledAt = at;
  if (result.ok) asked.value = result.value;
}

/** A reply that calls tools does not end the turn of an agent with tools. */
function accept({ agents }: CompiledFlow, asked: Asked | undefined): void {
  if (asked === undefined) return;
  const calls = fieldOf(asked.value, 'toolCalls');
  const agent = Object.hasOwn(agents, asked.agent) ? agents[asked.agent] : undefined;
  asked.accepted = agent?.tools.length === 0 || !Array.isArray(calls) || calls.length === 0;
}

function resultOf({ name, agent, at, settledAt, inputTokens, outputTokens, value }: Asked): StepResult {
  return {
    name,
    agent,
    output: fieldOf(value, 'text') ?? value,
    inputTokens,
    outputTokens,
    durationMs: settledAt - at,
  };
}

function fieldOf(value: Json, field: string): Json | undefined {
  return isRecord(value) ? value[field] : undefined;
}
