/**
 * Decides if a person may answer a question, and if enough people have agreed (L1). The runtime has already verified the
 * identity. A refused answer becomes an event, and the question stays open.
 */
import { sortedText } from '../expr/json.ts';
import type { Answer, EventBody, Pending, Question, Refusal, RunState } from '../ir/events.ts';
import type { Approvers, PeopleDef } from '../ir/people.ts';
import { personIn, samePerson } from '../ir/identity.ts';
import { approvingChoices } from '../ir/people.ts';
import { guidedValue } from './guidance.ts';
import type { Program } from './program.ts';
import type { AnswerRefusal } from '../ir/questions.ts';

export interface AnswerObjection {
  readonly refused: AnswerRefusal;
  readonly message: string;
}

/** Null if the person may give this answer. */
export function refusalOf(program: Program, state: RunState, pending: Pending, given: Answer): AnswerObjection | null {
  const { question } = pending;
  if (given.proof?.via === 'script' && state.origin.scripted !== true)
    return {
      refused: 'identity-unproven',
      message: `a script cannot answer \`${question?.id ?? ''}\`: the run started without one`,
    };
  if (question?.approvers === undefined) return null;
  return objection(program, state, pending, { question, approvers: question.approvers, given });
}

/** Records the data only if the refusal depends on it: a replay must refuse the answer again. */
export function recorded({ key }: Pending, given: Answer, { refused, message }: AnswerObjection): Refusal {
  const { edit, text: _, ...rest } = given;
  const isKept = edit !== undefined && (refused === 'already-answered' || refused === 'bad-answer');
  const answer = isKept ? { ...rest, edit } : rest;
  return { refused, message, events: [{ type: 'answer.refused', key, answer, reason: refused }] };
}

/** The event of an answer that is not enough yet; null if the answer takes effect. */
export function countedOnly(pending: Pending, given: Answer): EventBody | null {
  const approvers = pending.question?.approvers;
  if (approvers === undefined || !approvers.counted.includes(given.choice)) return null;
  const missing = approvers.quorum - agreeing(pending, given).length;
  if (missing <= 0) return null;
  const { payload: _payload, unproven: _unproven, ...answer } = given;
  return { type: 'answer.counted', key: pending.key, answer, missing };
}

/** The people who agreed on the answer, the last one included; nothing if one person was enough. */
export function together(pending: Pending, given: Answer): { readonly together?: readonly string[] } {
  const approvers = pending.question?.approvers;
  if (approvers === undefined || approvers.quorum < 2 || !approvers.counted.includes(given.choice)) return {};
  return { together: agreeing(pending, given) };
}

/** The people who may answer now. */
export function allowedPeople({ question, escalated }: Pick<Pending, 'question' | 'escalated'>): readonly string[] {
  const { people = [], escalation } = question?.approvers ?? {};
  return escalated === true ? [...new Set([...people, ...(escalation?.people ?? [])])] : people;
}

/** The user of the run must not approve, also not under the user name of the operating system or under a login. */
export function isUser({ origin }: RunState, people: PeopleDef, id: string): boolean {
  return origin.user !== undefined && isNamed(origin.user, people, id);
}

/** True if this name is one of the person: the id, the user name of the operating system, or a login. */
function isNamed(user: string, people: PeopleDef, id: string): boolean {
  const { osUser, login } = people[id] ?? {};
  const subject = login?.replace(/^(?:token:|[^#]*#)/, '');
  return [id, osUser, login, subject].some((name) => name !== undefined && samePerson(user, name));
}

/** A value of the approved calls that comes from a remark of the person who approves; null if there is none. */
function ownWords(program: Program, state: RunState, pending: Pending, given: Answer): string | null {
  const { question } = pending;
  const remarks = (state.remarks ?? []).filter(({ by }) => isNamed(by, program.flow.people ?? {}, given.by));
  if (remarks.length === 0 || question === null) return null;
  if (!approvingChoices(question.choices, question.onExpiry).includes(given.choice)) return null;
  return guidedValue(program, state, pending, remarks);
}

/** The data of an answer as canonical text. */
export function voteData({ edit }: Answer): string {
  return edit === undefined ? '' : sortedText(edit);
}

function agreeing({ votes = [] }: Pending, given: Answer): readonly string[] {
  const data = voteData(given);
  const others = votes.filter(
    (vote) => !samePerson(vote.by, given.by) && vote.choice === given.choice && vote.data === data,
  );
  return [...others.map(({ by }) => by), given.by];
}

interface Guarded {
  readonly question: Question;
  readonly approvers: Approvers;
  readonly given: Answer;
}

function objection(
  program: Program,
  state: RunState,
  pending: Pending,
  { question, approvers, given }: Guarded,
): AnswerObjection | null {
  const { people = {} } = program.flow;
  const { id, askedBy, payload } = question;
  const { by, proof, unproven } = given;
  if (samePerson(by, askedBy))
    return { refused: 'self-approval', message: `\`${by}\` asked \`${id}\` and may not answer it` };
  const allowed = allowedPeople(pending);
  if (personIn(allowed, by) === undefined)
    return {
      refused: 'not-an-approver',
      message: `\`${by}\` may not answer \`${id}\`: ${mayAnswer(allowed, approvers)}`,
    };
  if (isUser(state, people, by))
    return { refused: 'self-approval', message: `the run is for \`${by}\`, who may not answer \`${id}\`` };
  const guided = ownWords(program, state, pending, given);
  if (guided !== null)
    return {
      refused: 'self-approval',
      message: `\`${guided}\` comes from a remark of \`${by}\`, who may not approve \`${id}\``,
    };
  if (proof === undefined)
    return { refused: 'identity-unproven', message: unproven ?? `nothing proves that this answer is from \`${by}\`` };
  if (given.payload !== undefined && given.payload !== payload)
    return { refused: 'stale-payload', message: `the question \`${id}\` is not the one of this answer` };
  const same = pending.votes?.some(
    (vote) => samePerson(vote.by, by) && vote.choice === given.choice && vote.data === voteData(given),
  );
  if (same === true)
    return { refused: 'already-answered', message: `\`${by}\` has answered \`${id}\`; another person must agree` };
  return proof.nonce !== undefined && pending.nonces?.includes(proof.nonce) === true
    ? { refused: 'identity-unproven', message: `the login of \`${by}\` has already proved another answer to \`${id}\`` }
    : null;
}

function mayAnswer(allowed: readonly string[], { roles = [] }: Approvers): string {
  const names = `${allowed.map((name) => `\`${name}\``).join(', ')} may`;
  return roles.length === 0 ? names : `${names} (${roles.join(', ')})`;
}
