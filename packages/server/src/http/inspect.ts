/** What the journal of a run tells: a call with its prompt, the differences to another run, its audit, its replay, its export. */
import { evolve, inputOf } from '@sluice-internal/kernel/core';
import { present } from '@sluice-internal/kernel/expr';
import type { RunState } from '@sluice-internal/kernel/ir';
import { audit, exportRun, replay } from '@sluice-internal/engine/audit';
import type { OpenedRun } from '@sluice-internal/engine/ports';
import { callsIn } from '@sluice-internal/engine/report';
import type { EngineView } from '@sluice-internal/library';
import { differencesOf, promptOf, storedFiles } from '@sluice-internal/library/host';
import { Refusal } from './problem.ts';
import type { Services } from './services.ts';

/** Prompts, arguments and results only for a caller who may see content. */
export async function callAt(
  { attachments }: Services,
  { program, events }: OpenedRun,
  key: string,
  content: boolean,
): Promise<object> {
  const call = callsIn(program.flow, events).find((each) => each.key === key);
  if (call === undefined)
    throw new Refusal('call-not-found', `the run has no call \`${key}\``, { help: 'Events name their call.' });
  const { kind, name, node, thread: branch, seq, at, attempts, verdict } = call;
  const about = { key, kind, name, node, branch, seq, at };
  const tried = attempts.map(({ seq: of, at: when, number, ok, used, error, value }) => ({
    ...{ seq: of, at: when, attempt: number, ok, used },
    error: error === null ? null : { class: error.class, type: error.type, message: content ? error.message : null },
    result: content ? value : null,
  }));
  const shown = { ...about, attempts: tried, accepted: verdict?.accepted ?? null };
  if (!content) return { ...shown, prompt: null, args: null };
  let state: RunState | null = null;
  for (const event of events) {
    state = evolve(state, event);
    if (event.seq === seq) break;
  }
  const pending = state?.pending.get(key);
  if (state === null || pending === undefined) return { ...shown, prompt: null, args: null };
  if (kind === 'model') {
    const stored = await storedFiles(attachments, state.run);
    return { ...shown, prompt: promptOf(program, state, pending, { stored, erased: false }), args: null };
  }
  const { args = null } = inputOf(program, state, pending);
  return { ...shown, prompt: null, args };
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
