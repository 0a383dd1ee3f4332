/**
 * Where a run that did not succeed can go on: at the call that failed, or the first of them. All that succeeded before stays. A call with
 * effects that was made later, and not undone, would be made again, so such a run is refused.
 */
import { onlyReads } from '@sluice-internal/kernel/ir';
import type { EffectKey, Event } from '@sluice-internal/kernel/ir';
import { SluiceError } from '../ports/errors.ts';
import type { ReadRun } from '../journal/open-run.ts';
import { nameAt } from './authored.ts';
import { failureOf } from './failure.ts';
import { lossesOf } from './losses.ts';

type Of<Type extends Event['type']> = Extract<Event, { readonly type: Type }>;

export interface RetryPoint {
  /** The last event that both runs share. */
  readonly at: number;
  /** The node at which the new run goes on. */
  readonly node: string;
}

/** `before`: not later than this event. */
export function retryPoint(read: ReadRun, before = Infinity): RetryPoint {
  const calls = callsIn(read.events);
  const points = [...failedIn(read, calls), ...undoneIn(read.events, calls), before].filter(Number.isFinite);
  const at = Math.min(...points);
  const repeated = repeatedAfter(read, calls, at);
  if (repeated !== null) throw repeats(read, repeated);
  const event = read.events.find(({ seq }) => seq === at);
  return { at, node: event !== undefined && 'node' in event ? nameAt(read.program.flow, String(event.node)) : '' };
}

function callsIn(events: readonly Event[]): ReadonlyMap<EffectKey, Of<'effect.requested'>> {
  const calls = new Map<EffectKey, Of<'effect.requested'>>();
  for (const event of events)
    if (event.type === 'effect.requested' && !calls.has(event.key)) calls.set(event.key, event);
  return calls;
}

/** The request of the call that ended the run, and of the first call of each node that the run lost. */
function failedIn({ program, state, events }: ReadRun, calls: ReturnType<typeof callsIn>): readonly number[] {
  const { outcome } = state;
  if (outcome === null) throw refusal(`run \`${state.run}\` has not ended`, 'Continue it with `sluice resume`.');
  if (outcome.code === 'SUCCESS') throw refusal(`run \`${state.run}\` succeeded, so nothing is to be tried again`);
  if (outcome.state === 'cancelled')
    throw refusal(`run \`${state.run}\` was cancelled, and nothing failed`, 'Use `sluice fork RUN --at SEQ`.');
  const lost = new Set(lossesOf(program, events).losses.map(({ node }) => node));
  const failed = events.flatMap((event) => {
    if (event.type !== 'effect.judged' || event.verdict !== 'failed') return [];
    const call = calls.get(event.key);
    return call !== undefined && lost.has(nameAt(program.flow, call.node)) ? call.seq : [];
  });
  const failedAt = failureOf(program, events)?.seq;
  const decisive = events.find(({ seq }) => seq === failedAt);
  const last = decisive !== undefined && 'key' in decisive ? calls.get(decisive.key) : undefined;
  const points = [...failed, ...(last === undefined ? [] : [last.seq])];
  if (points.length === 0 && decisive !== undefined && decisive.seq > 1) points.push(decisive.seq - 1);
  if (points.length > 0) return points;
  throw refusal(`no call of run \`${state.run}\` failed`, 'Use `sluice fork RUN --at SEQ`.');
}

/** What the end of the run undid is done again. */
function undoneIn(events: readonly Event[], calls: ReturnType<typeof callsIn>): readonly number[] {
  return events.flatMap((event) => (event.type === 'undo.requested' ? (calls.get(event.undoes)?.seq ?? []) : []));
}

/** A call with effects that ended well after the point, or that may have happened. */
function repeatedAfter(
  { program: { flow }, events }: ReadRun,
  calls: ReturnType<typeof callsIn>,
  at: number,
): Of<'effect.requested'> | null {
  const undone = new Set(events.flatMap((event) => (event.type === 'undo.requested' ? event.undoes : [])));
  for (const event of events) {
    if (event.type !== 'effect.settled' || event.seq <= at || undone.has(event.key)) continue;
    const call = calls.get(event.key);
    const { result } = event;
    const isDone = result.ok ? result.unsent !== true : result.error.class === 'timeout' && result.error.sent !== 'no';
    if (call?.kind === 'tool' && isDone && !onlyReads(flow.tools[call.name]?.effect ?? 'write')) return call;
  }
  return null;
}

function repeats({ program, state }: ReadRun, { name, node, key, seq }: Of<'effect.requested'>): SluiceError {
  const where = nameAt(program.flow, node);
  return refusal(
    `run \`${state.run}\` called \`${name}\` at \`${where}\` after the failure (event ${seq}, ${key}), and a retry would call it again`,
    'Use `sluice fork RUN --at SEQ` after that event, or undo the call and start a new run.',
  );
}

function refusal(message: string, help?: string): SluiceError {
  return new SluiceError('bad-retry', message, help);
}
