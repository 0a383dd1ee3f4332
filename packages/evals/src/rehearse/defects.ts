/** Faults of the flow itself that a run shows: a too small budget, an effect without a compensation, a stuck run. */
import type { CompiledFlow, Event } from '@sluice-internal/kernel/ir';
import type { Driven } from './drive.ts';

export interface Defect {
  readonly kind:
    | 'unreached-node'
    | 'unmatched-route'
    | 'budget-too-small'
    | 'missing-compensation'
    | 'stuck'
    | 'failed-guard';
  readonly about: string;
  readonly message: string;
  /** A seed that shows it; null where no run can. */
  readonly seed: number | null;
  /** The number of runs that show it. */
  readonly runs: number;
}

export function defectsIn(flow: CompiledFlow, { state, events, stuck }: Driven, seed: number): readonly Defect[] {
  const found: Defect[] = [];
  const add = (kind: Defect['kind'], about: string, message: string): void => {
    found.push({ kind, about, message, seed, runs: 1 });
  };
  if (stuck) add('stuck', flow.id, 'a run does not end');
  const code = state.outcome?.code;
  if (code === 'BUDGET_EXHAUSTED') {
    const trip = events.findLast((event) => event.type === 'meter.tripped');
    const meter = trip?.type === 'meter.tripped' ? flow.meters[trip.meter] : undefined;
    const label = meter?.label ?? 'a budget';
    add('budget-too-small', label, `runs end BUDGET_EXHAUSTED because ${label} is used up`);
  }
  if (state.outcome !== null && state.outcome.state !== 'completed')
    for (const tool of leftBehind(flow, events))
      add(
        'missing-compensation',
        tool,
        `a run failed after ${tool} changed something, and nothing undoes it: declare \`compensate\``,
      );
  for (const event of events)
    if (event.type === 'guard.failed')
      add('failed-guard', flow.nodes[event.node]?.label.name ?? event.node, event.message);
  return found;
}

/** Tools with effects that were committed in a failed run and have no compensation. */
function leftBehind(flow: CompiledFlow, events: readonly Event[]): readonly string[] {
  const calls = new Map<string, string>();
  const tools = new Set<string>();
  for (const event of events) {
    if (event.type === 'effect.requested' && event.kind === 'tool' && event.undo === undefined)
      calls.set(event.key, event.name);
    if (event.type !== 'effect.judged' || event.verdict !== 'accepted') continue;
    const name = calls.get(event.key);
    const tool = name === undefined || !Object.hasOwn(flow.tools, name) ? undefined : flow.tools[name];
    if (name !== undefined && tool !== undefined && tool.effect !== 'read' && tool.compensate === null) tools.add(name);
  }
  return [...tools];
}
