/** The fields of a trace, each derived from the journal of a run and from nothing else. */
import { evolve } from '../../src/core/evolve.ts';
import type { Json } from '../../src/expr/json.ts';
import type { Event, RunState } from '../../src/ir/events.ts';
import type { ReadRun } from '../../src/runtime/journal/read.ts';
import { reportOf } from '../../src/runtime/report/report.ts';

export interface ToolRecord {
  readonly tool: string;
  readonly args: string;
  readonly request: string;
  readonly ok: boolean | null;
  readonly observed: number | null;
}

export function traceFields(read: ReadRun) {
  const { program, state, events } = read;
  const { flow } = program;
  const report = reportOf(read);
  const [started] = events;
  const begun = started?.type === 'run.started' ? started : null;
  return {
    run: report.run,
    origin: begun?.origin ?? null,
    goal: state.threads.get('0')?.slots['goal'] ?? null,
    boundaries: Object.fromEntries(
      Object.entries(flow.boundaries ?? {}).map(([agent, { version }]) => [agent, version]),
    ),
    graph: begun?.flow ?? null,
    models: Object.fromEntries(Object.values(flow.agents).map(({ id, model }) => [id, model])),
    prompts: Object.fromEntries(Object.values(flow.agents).map(({ id, instructions }) => [id, instructions])),
    tools: Object.fromEntries(Object.entries(flow.tools).map(([name, { input }]) => [name, input])),
    checkpoints: checkpoints(events),
    calls: calls(events),
    budget: report.usage,
    validations: events.flatMap((event) => (event.type === 'effect.judged' ? [event.verdict] : [])),
    escalations: escalations(events),
    code: report.code,
  };
}

/** The version of the task after each event that changed it. */
function checkpoints(events: readonly Event[]): readonly { readonly seq: number; readonly version: number }[] {
  const found: { seq: number; version: number }[] = [];
  let state: RunState | null = null;
  for (const event of events) {
    state = evolve(state, event);
    const task = state.threads.get('0')?.slots['task'] as unknown as { version?: number } | undefined;
    if (task?.version !== undefined && task.version !== found.at(-1)?.version)
      found.push({ seq: event.seq, version: task.version });
  }
  return found;
}

function calls(events: readonly Event[]): readonly ToolRecord[] {
  return events.flatMap((event) => {
    if (event.type !== 'effect.requested' || event.kind !== 'tool') return [];
    const settled = events.find((each) => each.type === 'effect.settled' && each.key === event.key);
    const ok = settled?.type === 'effect.settled' ? settled.result.ok : null;
    return [{ tool: event.name, args: event.input, request: event.key, ok, observed: settled?.seq ?? null }];
  });
}

function escalations(events: readonly Event[]): readonly { readonly about: string; readonly answer: Json }[] {
  return events.flatMap((event) => {
    if (event.type !== 'effect.requested' || event.question === undefined) return [];
    const settled = events.find((each) => each.type === 'effect.settled' && each.key === event.key);
    const answer = settled?.type === 'effect.settled' && settled.result.ok ? settled.result.value : null;
    return [{ about: event.question.about, answer }];
  });
}
