/** What the journal of a run tells: a call with its prompt, the differences to another run, its audit, its replay, its export. */
import { evolve, inputOf } from '@sluice-internal/kernel/core';
import { present } from '@sluice-internal/kernel/expr';
import type { Pending, RunState } from '@sluice-internal/kernel/ir';
import { audit, exportRun, replay } from '@sluice-internal/engine/audit';
import type { OpenedRun } from '@sluice-internal/engine/ports';
import { callsIn, tracedArgs } from '@sluice-internal/engine/report';
import type { RunCall } from '@sluice-internal/engine/report';
import type { EngineView } from '@sluice-internal/library';
import { differencesOf, isErased, promptOf, storedFiles } from '@sluice-internal/library/host';
import { Refusal } from './problem.ts';
import type { Services } from './services.ts';

/** Prompts, arguments and results only for a caller who may see content. */
export async function callAt(
  { attachments, store }: Services,
  { run, program, events }: OpenedRun,
  key: string,
  content: boolean,
): Promise<object> {
  const calls = callsIn(program.flow, events);
  const call = calls.find((each) => each.key === key);
  if (call === undefined)
    throw new Refusal('call-not-found', `the run has no call \`${key}\``, { help: 'Events name their call.' });
  const { kind, name, node, thread: branch, seq, at, verdict } = call;
  const shown = {
    ...{ key, kind, name, node, branch, seq, at, accepted: verdict?.accepted ?? null },
    attempts: attemptsOf(call, content),
    controls: controlsOf(call, events, content),
    tools: kind === 'model' ? (program.flow.agents[name]?.tools ?? null) : null,
    ...{ prompt: null, args: null, sources: null, evidence: null },
  };
  const asked = content ? askedAt(call, events) : null;
  if (asked === null) return shown;
  const { state, pending } = asked;
  if (kind === 'model') {
    const stored = await storedFiles(attachments, state.run);
    const erased = await isErased(store.shared, run);
    return { ...shown, prompt: promptOf(program, state, pending, { stored, erased }) };
  }
  const { args = null } = inputOf(program, state, pending);
  return { ...shown, args, ...(kind === 'tool' ? tracedArgs(program, state, call, calls, args) : {}) };
}

function attemptsOf({ attempts }: RunCall, content: boolean): readonly object[] {
  return attempts.map(({ seq, at, number, ok, used, error, value }) => ({
    ...{ seq, at, attempt: number, ok, used },
    error: error === null ? null : { class: error.class, type: error.type, message: content ? error.message : null },
    result: content ? value : null,
  }));
}

/** The run right after the call was requested. */
function askedAt({ key, seq }: RunCall, events: OpenedRun['events']): { state: RunState; pending: Pending } | null {
  let state: RunState | null = null;
  for (const event of events) {
    state = evolve(state, event);
    if (event.seq === seq) break;
  }
  const pending = state?.pending.get(key);
  return state === null || pending === undefined ? null : { state, pending };
}

/** The verdicts about the call: the last ones at its node and in its branch before it was requested. */
function controlsOf({ id, thread, seq }: RunCall, events: OpenedRun['events'], content: boolean): readonly object[] {
  const judged = events.findLast(
    (event) => event.seq <= seq && event.type === 'call.judged' && event.node === id && event.thread === thread,
  );
  if (judged?.type !== 'call.judged') return [];
  return judged.controls.map(([control, verdict, reason]) => ({
    control,
    ok: verdict === 'pass' ? true : verdict === 'refuse' || verdict === 'stop' ? false : null,
    ...(reason === undefined || !content ? {} : { reason }),
  }));
}

export function differences(a: OpenedRun, b: OpenedRun, content: boolean): object {
  const found = differencesOf(a, b);
  return content ? found : { ...found, differences: found.differences.map(({ what }) => ({ what })) };
}

export async function auditOf({ store }: Services, view: EngineView, run: string): Promise<object> {
  const entry = await view.find(run);
  if (entry === null) await view.get(run);
  const checked = await audit(store.journal, run, entry);
  const appends: object[] = [];
  for (let after = 0; ;) {
    const page = await store.journal.page(run, after, 500);
    for (const { body: _, ...link } of page) appends.push(link);
    const last = page.at(-1);
    if (last === undefined) break;
    after = last.after + last.count;
  }
  return { ...checked, appends, ...present({ checkpoints: await store.journal.checkpoints?.(run) }) };
}

export async function replayOf({ store }: Services, run: string): Promise<object> {
  return replay(store.journal, run, await store.index.find(run));
}

export async function exportOf({ store }: Services, view: EngineView, run: string): Promise<object> {
  if ((await view.find(run)) === null) await view.get(run);
  return exportRun(store, run);
}
