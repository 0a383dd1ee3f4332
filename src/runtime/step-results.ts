/**
 * What each invocation of a step came to, from the journal alone: in the order in which they were asked for, so that it does
 * not depend on which branch was faster. A step that runs in a loop is named with its iteration.
 */
import type { CompiledFlow, DoNode, NodeId } from '../core/ir.ts';
import type { Json } from '../core/json.ts';
import type { EffectKey, Event, Settled } from '../core/run.ts';
import type { StepResult } from './engine-types.ts';

export function stepResults(flow: CompiledFlow, events: readonly Event[]): readonly StepResult[] {
  const repeated = repeatedNodes(flow);
  const asked = new Map<EffectKey, Asked>();
  const rounds = new Map<NodeId, number>();
  for (const event of events) {
    if (event.type === 'effect.requested') {
      const node = flow.nodes[event.node];
      if (!isInvocation(node)) continue;
      const round = (rounds.get(event.node) ?? 0) + 1;
      rounds.set(event.node, round);
      const name = repeated.has(event.node) ? `${node.enters} (iter ${round})` : node.enters;
      asked.set(event.key, {
        name,
        agent: event.name,
        at: event.at,
        settledAt: event.at,
        inputTokens: 0,
        outputTokens: 0,
        value: null,
        accepted: false,
      });
    } else if (event.type === 'effect.settled') settle(asked.get(event.key), event.result, event.at);
    else if (event.type === 'effect.judged' && event.verdict === 'accepted') accept(asked.get(event.key));
  }
  return [...asked.values()].filter(({ accepted }) => accepted).map(resultOf);
}

interface Asked {
  readonly name: string;
  readonly agent: string;
  readonly at: number;
  settledAt: number;
  inputTokens: number;
  outputTokens: number;
  value: Json;
  accepted: boolean;
}

type Invocation = DoNode & { readonly enters: string };

function isInvocation(node: CompiledFlow['nodes'][string] | undefined): node is Invocation {
  return node?.op === 'do' && node.effect.kind === 'model' && node.enters !== undefined;
}

/** What a counted gate leads to runs once per visit of that gate. */
function repeatedNodes(flow: CompiledFlow): ReadonlySet<NodeId> {
  const bodies = new Set<NodeId>();
  for (const node of Object.values(flow.nodes)) {
    const counted = node.op === 'pick' && node.charges?.some((id) => flow.meters[id]?.unit === 'visits') === true;
    if (counted && node.op === 'pick') bodies.add(node.otherwise);
  }
  return bodies;
}

/** Attempts that failed have used tokens too. */
function settle(asked: Asked | undefined, result: Settled, at: number): void {
  if (asked === undefined) return;
  asked.inputTokens += result.used?.inputTokens ?? 0;
  asked.outputTokens += result.used?.outputTokens ?? 0;
  asked.settledAt = at;
  if (result.ok) asked.value = result.value;
}

function accept(asked: Asked | undefined): void {
  if (asked !== undefined) asked.accepted = true;
}

function resultOf({ name, agent, at, settledAt, inputTokens, outputTokens, value }: Asked): StepResult {
  const text = value !== null && typeof value === 'object' && !Array.isArray(value) ? value['text'] : undefined;
  return { name, agent, output: text ?? value, inputTokens, outputTokens, durationMs: settledAt - at };
}
