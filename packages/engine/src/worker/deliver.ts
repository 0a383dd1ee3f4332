/** Delivers an answer, a signal or a cancellation to a run: directly, or by mail to the process that owns it. */
import { canonical } from '@sluice-internal/kernel/expr';
import { settle } from '@sluice-internal/kernel/core';
import type { Event, Fact, Refusal, RunId, RunState } from '@sluice-internal/kernel/ir';
import { samePerson } from '@sluice-internal/kernel/ir';
import { isErrorCode, SluiceError } from '../ports/errors.ts';
import type { ReadRun } from '../journal/open-run.ts';
import { movedTo } from '../journal/fork-events.ts';
import { copyState } from '../journal/snapshot.ts';
import type { MailFact } from '../ports/ports.ts';
import { isTaken, unknownRun } from './host.ts';
import { identified, revokedKeys } from '../ports/identity.ts';
import type { AnsweredRun } from '../ports/identity.ts';
import type { Host } from './host.ts';
import type { OwnedRun } from './owned-run.ts';
import { POLL_MS } from './ownership.ts';
import { holdsText, protectedFact } from './protected-fact.ts';
import type { Ownership } from './ownership.ts';

/** Resolves when the fact is stored. Rejects when it is refused. */
export async function deliver(host: Host, ownership: Ownership, run: RunId, given: MailFact): Promise<void> {
  const { store } = host;
  if (given.type === 'answer') requirePerson(given.answer);
  const safe = await withoutPersonalData(host, run, given);
  let fact: MailFact | null = null;
  let posted = false;
  let postedAfter = 0;
  for (;;) {
    await host.ensureOpen();
    if ((await store.index.find(run)) === null) throw unknownRun(run);
    // The owner may have read the mail and released the run since.
    if (posted && fact !== null && (await isRecorded(host, run, fact))) return;
    const owned = await ownership.acquire(run, { checks: given.type !== 'cancel' });
    if (owned !== null) {
      fact ??= await identifiedIn(host, ownership, owned, safe);
      if (await deliverHere(host, ownership, owned, fact, posted)) return;
      continue;
    }
    const { program, state, events } = await host.read(run);
    fact ??= await withIdentity(safe, { flow: program.flow, state }, host);
    if (posted) refuseAsThere(fact, state, events, postedAfter);
    await judgeThere(host, { program, state }, fact, posted);
    if (!posted) {
      postedAfter = state.seq;
      await store.mail.post(run, fact);
    }
    posted = true;
    await host.hints.next(run, POLL_MS);
  }
}

/** The journal names the person behind every answer. A program in JavaScript can leave the name out. */
function requirePerson(answer: { readonly by?: unknown } | undefined): void {
  const by = answer?.by;
  if (typeof by === 'string' && by.trim() !== '') return;
  throw new SluiceError('bad-answer', 'the answer does not name the person who gives it', 'Pass `by`, or `--as NAME`.');
}

/** The owner does not report a refusal of mail, so the fact is judged here as far as the stored events allow. */
async function judgeThere(
  host: Host,
  { program, state }: Pick<ReadRun, 'program' | 'state'>,
  fact: MailFact,
  posted: boolean,
): Promise<void> {
  const { run } = state;
  const refusal = settle(program, copyState(state), [fact], host.clock.now()).refusals.get(0) ?? null;
  if (refusal === null || (posted && (await isRecorded(host, run, fact)))) return;
  // The owner records the refusal.
  if (refusal.events !== undefined) await host.store.mail.post(run, fact);
  throw await refusalError(host, run, fact, refusal);
}

/** The owner verifies a proof again, with the keys that it trusts. Its refusal is in the journal. */
function refuseAsThere(fact: MailFact, state: RunState, events: readonly Event[], after: number): void {
  if (fact.type !== 'answer') return;
  const { by, choice } = fact.answer;
  const key = [...state.pending.values()].find(({ question }) => question?.id === fact.id)?.key;
  for (const event of events) {
    if (event.type !== 'answer.refused' || event.seq <= after || event.key !== key) continue;
    const { answer, reason } = event;
    if (answer.unproven !== undefined && answer.by === by && answer.choice === choice)
      throw errorOf({ refused: reason, message: answer.unproven });
  }
}

/** Text of a person enters the journal, so personal data in it is protected as in the run's input. */
async function withoutPersonalData(host: Host, run: RunId, fact: MailFact): Promise<MailFact> {
  const { store, performer } = host;
  if (performer.protect === undefined || !holdsText(fact)) return fact;
  if ((await store.index.find(run)) === null) throw unknownRun(run);
  const { program, state } = await host.read(run);
  if (program.flow.pii === undefined) return fact;
  return protectedFact(performer, fact, { program, run, state });
}

/** A person with a key signs what enters the journal, so this comes after the protection of personal data. */
async function withIdentity(
  fact: MailFact,
  answered: Omit<AnsweredRun, 'reach' | 'trustedServers' | 'revoked'>,
  { clock, store: { reach, shared }, trustedServers }: Host,
): Promise<MailFact> {
  if (fact.type !== 'answer') return fact;
  const where = { ...answered, reach, trustedServers, revoked: await revokedKeys(shared) };
  return { ...fact, answer: identified(where, fact.id, fact.answer, clock.now()) };
}

async function identifiedIn(host: Host, ownership: Ownership, owned: OwnedRun, fact: MailFact): Promise<MailFact> {
  const { program, state } = owned;
  if (state === null) return fact;
  try {
    return await withIdentity(fact, { flow: program.flow, state }, host);
  } catch (error) {
    await ownership.release(owned);
    throw error;
  }
}

/** The run continues only after the fact is stored. False when another process claimed the run first. */
async function deliverHere(
  host: Host,
  ownership: Ownership,
  owned: OwnedRun,
  fact: MailFact,
  posted: boolean,
): Promise<boolean> {
  let refusal: Refusal | null;
  try {
    refusal = refusalOfEnded(owned) ?? (await host.send(owned, fact));
  } catch (error) {
    if (isTaken(host, error)) return false;
    throw error;
  }
  // A refused fact may have arrived by mail before, or be a second cancellation.
  const stands = refusal === null || (posted && (await isRecorded(host, owned.run, fact))) || isStopping(owned, fact);
  if (!stands && refusal !== null) {
    await ownership.release(owned);
    throw await refusalError(host, owned.run, fact, refusal);
  }
  // A remark does not take up a run whose process has crashed.
  if (fact.type === 'guide' && !owned.begun) await ownership.release(owned);
  else host.worker.begin(owned);
  return true;
}

/** True when the journal holds this fact. An answer that came second is not recorded. */
async function isRecorded(host: Host, run: RunId, fact: MailFact): Promise<boolean> {
  const { state, events } = await host.read(run);
  if (fact.type === 'cancel') return state.outcome !== null || state.threads.get('0')?.doing.is === 'unwinding';
  if (fact.type === 'signal') {
    const waits = events.flatMap((event) => (isWaitFor(event, fact) ? [event.key] : []));
    const { data, by } = fact;
    return events.some((event) => settles(event, waits, { data, by }));
  }
  if (fact.type === 'guide') return events.some((event) => isRemark(event, fact));
  if (fact.type === 'note') return events.some((event) => canonical(noteOf(event)) === canonical(fact.note));
  const request = events.find((event) => event.type === 'effect.requested' && event.question?.id === fact.id);
  const { payload: _, ...answer } = fact.answer;
  const keys = request?.type === 'effect.requested' ? [request.key] : [];
  return events.some((event) => settles(event, keys, answer) || counts(event, keys, answer));
}

function counts(event: Event, keys: readonly string[], answer: object): boolean {
  return event.type === 'answer.counted' && keys.includes(event.key) && canonical(event.answer) === canonical(answer);
}

function noteOf({ seq: _seq, at: _at, ...body }: Event): object {
  return body;
}

function isRemark(event: Event, { by, text, agent }: Extract<MailFact, { type: 'guide' }>): boolean {
  return event.type === 'guidance.given' && event.by === by && event.text === text && event.agent === agent;
}

type Requested = Extract<Event, { type: 'effect.requested' }>;

function isWaitFor(event: Event, { key, name }: Extract<MailFact, { type: 'signal' }>): event is Requested {
  if (event.type !== 'effect.requested' || event.signal === undefined) return false;
  if (key !== undefined) return event.key === key;
  return event.signal === name || event.name === name || event.name.endsWith(`/${name}`);
}

function settles(event: Event, keys: readonly string[], value: object): boolean {
  if (event.type !== 'effect.settled' || !event.result.ok || !keys.includes(event.key)) return false;
  const { together: _, ...answer } = (event.result.value ?? {}) as { readonly together?: unknown };
  return canonical(answer) === canonical(value);
}

function isStopping({ state }: OwnedRun, { type }: Fact): boolean {
  return type === 'cancel' && state?.outcome === null && state.threads.get('0')?.doing.is === 'unwinding';
}

function refusalOfEnded({ run, state }: OwnedRun): Refusal | null {
  const outcome = state?.outcome ?? null;
  return outcome === null ? null : { refused: 'run-ended', message: `run \`${run}\` has ended with ${outcome.code}` };
}

/** A closed question names the answer that closed it, also if the run has ended since. */
async function refusalError(host: Host, run: RunId, fact: MailFact, refusal: Refusal): Promise<SluiceError> {
  const isClosed = refusal.refused === 'approval-closed' || refusal.refused === 'run-ended';
  if (fact.type !== 'answer') return errorOf(refusal);
  const { state, events } = await host.read(run);
  if (!isClosed) return errorOf(refusal, openDetails(state, fact, refusal));
  const moved = movedTo(events);
  if (moved !== null) {
    const id = `a_${moved}${fact.id.slice(2 + run.length)}`;
    const message = `run \`${run}\` was moved to \`${moved}\`, which asks \`${id}\` instead`;
    return new SluiceError('run-ended', message, `Answer \`${id}\`.`);
  }
  const request = events.find((event) => event.type === 'effect.requested' && event.question?.id === fact.id);
  const key = request?.type === 'effect.requested' ? request.key : '';
  const closed = events.find((event) => event.type === 'effect.settled' && event.key === key);
  if (closed?.type !== 'effect.settled' || !closed.result.ok) return errorOf(refusal);
  const { choice, by, expired } = closed.result.value as { choice?: string; by?: string; expired?: boolean };
  const how = expired === true ? 'has expired and counts' : `was answered by \`${by ?? ''}\``;
  const message = `\`${fact.id}\` ${how} as \`${choice ?? ''}\``;
  return errorOf({ refused: 'approval-closed', message }, { by: by ?? '', choice: choice ?? '', at: isoOf(closed.at) });
}

/** What an answer to an open question does not fit. */
function openDetails(
  state: RunState,
  { id, answer: { by } }: Extract<MailFact, { type: 'answer' }>,
  { refused }: Refusal,
): SluiceError['details'] {
  const pending = [...state.pending.values()].find(({ question }) => question?.id === id);
  if (refused === 'stale-payload') return { payload: pending?.question?.payload ?? null };
  const vote = refused === 'already-answered' ? pending?.votes?.find((each) => samePerson(each.by, by)) : undefined;
  return vote === undefined ? {} : { by: vote.by, choice: vote.choice, at: isoOf(vote.at) };
}

function isoOf(at: number): string {
  return new Date(at).toISOString();
}

const HELP: { readonly [code: string]: string } = {
  'run-ended': 'Start another run. `sluice show RUN` prints the result of this one.',
  'approval-closed': 'List the open questions with `sluice approvals`.',
  'not-a-choice': 'Answer with one of the choices in the message.',
  'bad-answer': '`--edit` passes data as JSON, and `--text` passes text.',
  'stale-payload': 'Read the question again with `sluice approvals`.',
  'self-approval': 'Let another person answer, with `--as`.',
  'already-answered': 'Let another person answer, with `--as`.',
  'bad-guidance': 'Say something to an agent of the run, with `--agent ID` to one of them.',
  'signal-not-awaited': 'List the waits of the run with `sluice show RUN`.',
  'not-an-approver': 'Let one of these people answer, with `--as`.',
  'bad-budget': 'Give an amount above zero to a budget that the run has, as in `--budget tool_calls=20`.',
  'resume-not-stopped': '`sluice show RUN` tells how it ended. `sluice retry` and `sluice fork` start another run.',
  'resume-undone':
    'It cannot go on where it stopped. Start again with `sluice retry RUN`, or from an earlier event with `sluice fork RUN --at N`.',
  'identity-unproven':
    'A person with a key signs with `--key FILE`. Any other answers as the own user of the machine, or over a server by the own login.',
};

export function errorOf({ refused, message }: Refusal, details: SluiceError['details'] = {}): SluiceError {
  return new SluiceError(isErrorCode(refused) ? refused : 'internal-error', message, HELP[refused], undefined, details);
}
