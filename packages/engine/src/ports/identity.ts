/**
 * Verifies the identity of a person when an answer enters the engine. A person with a key signs the answer; for an answer over a
 * network, a server signs the login of the person; any other person is the user of this process. The core gets the result as data,
 * and the journal keeps the signature, so it can be checked again later.
 */
import { sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { userInfo } from 'node:os';
import type { Answer, CompiledFlow, Instant, Pending, PersonDef, RunState } from '@sluice-internal/kernel/ir';
import { personIn } from '@sluice-internal/kernel/ir';
import { answerText } from '@sluice-internal/wire';
import { SluiceError } from './errors.ts';
import { privateKeyIn } from './keys.ts';
import { operate } from './cells.ts';
import type { Cells, OperatorAct, Store } from './ports.ts';
import { isLogin, isLoginOf, isSignatureOf, isSignedLogin, loginProof } from './server-proof.ts';
import type { GivenLogin } from './server-proof.ts';

/** An answer as a caller gives it. */
export interface GivenAnswer extends Omit<Answer, 'proof' | 'unproven'> {
  /** The private key of the person (Ed25519, PEM). The engine signs the answer with it. */
  readonly key?: string | KeyObject;
  /** Instead of `key`: a signature over `answerText`, in base64url, and the time at which it was made. */
  readonly signature?: string;
  readonly signedAt?: Instant;
  /** The person is not the user of this process, so that user proves nothing. */
  readonly remote?: true;
  /** The answer came over a network: the login of the person, and the key with which the server vouches for it. */
  readonly login?: GivenLogin;
}

/** The clocks of the person and of the engine may differ by this time. */
const SKEW_MS = 5 * 60_000;

export interface AnsweredRun {
  readonly flow: Pick<CompiledFlow, 'people'>;
  readonly state: RunState;
  readonly reach: Store['reach'];
  /** The public keys of the servers whose word counts. Absent: none. */
  readonly trustedServers?: (() => readonly string[]) | undefined;
  /** The public keys of people that no longer prove anything. */
  readonly revoked?: ReadonlySet<string> | undefined;
}

/** The keys of people that an operator has revoked, in all runs of the store. */
export async function revokedKeys(shared: Cells): Promise<ReadonlySet<string>> {
  const cells = await shared.list(REVOKED);
  return new Set(cells.map(({ key }) => key.slice(REVOKED.length)));
}

/** From now on no answer is proved with the key, in runs that wait too. What it has proved before stays. */
export async function revokeKey(
  shared: Cells,
  key: string,
  act: Pick<OperatorAct, 'at' | 'by' | 'why'>,
): Promise<void> {
  await operate(shared, { ...act, what: 'key.revoked', key: `${REVOKED}${key}` }, () => act.at);
}

const REVOKED = 'revoked:';

/** The answer with the proof of identity, or with the reason why the identity is not proven. */
export function identified(
  { flow, state, reach, trustedServers, revoked }: AnsweredRun,
  id: string,
  { key, signature, signedAt, remote, login, ...given }: GivenAnswer,
  at: Instant,
): Answer {
  const pending = questionOf(state, id);
  if (flow.people === undefined && (key !== undefined || signature !== undefined))
    throw new SluiceError(
      'identity-unproven',
      `the flow of run \`${state.run}\` declares no people, so it has no key to compare with`,
      'Answer without a key, or declare `people`.',
    );
  const name = personIn(Object.keys(flow.people ?? {}), given.by);
  const person = name === undefined ? undefined : flow.people?.[name];
  if (pending?.question?.approvers === undefined || name === undefined || person === undefined) return given;
  // The journal has one spelling of each person.
  const answer = { ...given, by: name };
  const now = Math.max(at, state.now);
  if (person.key !== undefined)
    return byKey(
      answer,
      { key, signature, signedAt },
      { state, pending, person: { ...person, key: person.key }, now, revoked },
    );
  if (login !== undefined) return byLogin(answer, login, { state, pending, person, now, trustedServers });
  return { ...answer, ...byUser(name, person, { state, reach, remote }) };
}

/** In a rehearsal a person who declares no proof needs none. */
function byLogin(answer: Answer, login: GivenLogin, context: LoginContext): Answer {
  const { state, pending, person, now } = context;
  if (person.login === undefined)
    return { ...answer, ...byUser(answer.by, person, { state, reach: 'network', remote: true }) };
  return checkedLogin({ ...answer, proof: loginProof(state, pending, answer, login, now) }, context);
}

function byKey(
  answer: Answer,
  { key, signature, signedAt }: Pick<GivenAnswer, 'key' | 'signature' | 'signedAt'>,
  context: CheckContext,
): Answer {
  const { state, pending, now } = context;
  if (key === undefined && signature === undefined)
    return { ...answer, unproven: `\`${answer.by}\` signs answers, and this one is not signed` };
  const time = key === undefined ? (signedAt ?? now) : now;
  const text = textToSign(state, pending, { ...answer, at: time });
  const proof = { via: 'key', signature: key === undefined ? (signature ?? '') : signed(text, key), at: time } as const;
  return checked({ ...answer, proof }, context);
}

/**
 * Proves the identity again for an answer from another process: any user who can write the database could have written that
 * row. A signature is checked again. A person without a key must be the user of this process. A database that only its owner
 * can open has no rows of other users.
 */
export function verifiedAgain(
  { flow, state, reach, trustedServers, revoked }: AnsweredRun,
  id: string,
  answer: Answer,
  at: Instant,
): Answer {
  const pending = questionOf(state, id);
  const person = ownPerson(flow, answer.by);
  if (pending?.question?.approvers === undefined || person === undefined) return withoutLogin(answer);
  const now = Math.max(at, state.now);
  if (person.key === undefined) {
    const { proof, unproven: _unproven, ...rest } = answer;
    if (isLogin(proof)) return checkedLogin({ ...rest, proof }, { state, pending, person, now, trustedServers });
    // The process that took the answer could not prove it, for example because it came over the network.
    if (proof === undefined) return answer;
    return { ...rest, ...byUser(answer.by, person, { state, reach }) };
  }
  return checked(answer, { state, pending, person: { ...person, key: person.key }, now, revoked });
}

/** Nothing checks a login where nobody has to prove who they are, so the journal must not show one. */
function withoutLogin(answer: Answer): Answer {
  if (!isLogin(answer.proof)) return answer;
  const { proof: _, ...rest } = answer;
  return rest;
}

interface LoginContext extends Omit<CheckContext, 'person' | 'revoked'>, Pick<AnsweredRun, 'trustedServers'> {
  readonly person: PersonDef;
}

function checkedLogin(answer: Answer, context: LoginContext): Answer {
  const { proof: _, ...rest } = answer;
  const problem = loginProblem(answer, context);
  return problem === null ? answer : { ...rest, unproven: problem };
}

function loginProblem(answer: Answer, { state, pending, person, now, trustedServers }: LoginContext): string | null {
  const { by, proof } = answer;
  if (!isLogin(proof)) return `nothing proves that this answer is from \`${by}\``;
  if (person.login === undefined) return `\`${by}\` has no \`login\`, and this answer came over a network`;
  if (!isLoginOf(person, proof)) return `\`${by}\` has another login than the one that gave this answer`;
  if (proof.tenant !== (state.origin.tenant ?? null))
    return `the login of \`${by}\` belongs to another tenant than the run`;
  if (!(trustedServers?.() ?? []).includes(proof.server))
    return `this process does not trust the server \`${proof.server}\` that vouches for \`${by}\``;
  if (!isSignedLogin(state, pending, answer))
    return `the signature of the server is not one for this answer of \`${by}\``;
  return isTimely(proof.at, pending, now) ? null : `the login of \`${by}\` was used at another time than this answer`;
}

/** A signature from before the question or from the future is refused. */
function isTimely(at: Instant, { notBefore }: Pending, now: Instant): boolean {
  return at >= notBefore - SKEW_MS && at <= now + SKEW_MS;
}

/** The text that a person signs. */
function textToSign(
  { run, origin }: RunState,
  { question }: Pick<Pending, 'question'>,
  answer: Pick<Answer, 'choice' | 'by' | 'edit' | 'text' | 'payload'> & { readonly at: Instant },
): string {
  const { choice, by, edit, text, at } = answer;
  const payload = answer.payload ?? question?.payload ?? null;
  const place = { store: origin.pins?.store ?? null, run, ask: question?.id ?? null };
  return answerText({ ...place, payload, choice, edit, text, by, at });
}

/**
 * The name of the user who started this process. A program that runs as its owner (setuid) was started by another one. In a
 * container the user id may have no name.
 */
function currentUser(): string | null {
  try {
    return process.getuid?.() === process.geteuid?.() ? userInfo().username : null;
  } catch {
    return null;
  }
}

function questionOf(state: RunState, id: string): Pending | undefined {
  return [...state.pending.values()].find(({ question }) => question?.id === id);
}

function ownPerson({ people = {} }: Pick<CompiledFlow, 'people'>, id: string): PersonDef | undefined {
  return Object.hasOwn(people, id) ? people[id] : undefined;
}

interface Whence {
  readonly state: RunState;
  readonly reach: Store['reach'];
  readonly remote?: true | undefined;
}

function byUser(
  by: string,
  { osUser: declared, login }: PersonDef,
  { state, reach, remote }: Whence,
): Pick<Answer, 'proof' | 'unproven'> {
  const user = currentUser();
  const osUser = declared ?? by;
  // Another machine has other users of the same names.
  const isNear = reach === 'process' || reach === 'machine';
  if (remote !== true && isNear && user === osUser) return { proof: { via: 'os_user' } };
  // A run with a script is a rehearsal, so one user can answer for every person without a declared proof.
  if (state.origin.scripted === true && declared === undefined && login === undefined)
    return { proof: { via: 'script' } };
  if (remote === true)
    return {
      unproven: `\`${by}\` has no ${login === undefined ? 'key and no login' : 'key'}, and this answer came from outside of this process`,
    };
  if (!isNear) return { unproven: `\`${by}\` has no key, and the database is not on this machine` };
  return {
    unproven: `\`${by}\` is the user \`${osUser}\` of the machine, and this process belongs to \`${user ?? 'nobody'}\``,
  };
}

function signed(text: string, key: string | KeyObject): string {
  return sign(null, Buffer.from(text), typeof key === 'string' ? privateKeyIn(key) : key).toString('base64url');
}

interface CheckContext {
  readonly state: RunState;
  readonly pending: Pending;
  readonly person: PersonDef & { readonly key: string };
  readonly now: Instant;
  readonly revoked: ReadonlySet<string> | undefined;
}

function checked(answer: Answer, { state, pending, person, now, revoked }: CheckContext): Answer {
  const { proof, ...rest } = answer;
  const unproven = (message: string): Answer => ({ ...rest, unproven: message });
  if (revoked?.has(person.key) === true) return unproven(`the key of \`${rest.by}\` was revoked`);
  if (proof?.via !== 'key' || !isSigned(state, pending, answer, person.key))
    return unproven(`the signature is not one of \`${rest.by}\` for this answer`);
  if (!isTimely(proof.at ?? 0, pending, now))
    return unproven(`the signature of \`${rest.by}\` was made at another time than this answer`);
  return answer;
}

/**
 * The problem of a signature in the journal; null if it fits, or if there is none. `servers`: the keys that an auditor trusts; with
 * none of them, only the signature is checked.
 */
export function forgedIn(
  { people = {} }: Pick<CompiledFlow, 'people'>,
  state: RunState,
  pending: Pending,
  answer: Answer,
  servers: readonly string[] = [],
): string | null {
  const { by, proof } = answer;
  const person = ownPerson({ people }, by);
  if (proof?.via === 'key' && person?.key !== undefined)
    return isSigned(state, pending, answer, person.key) ? null : `the signature of \`${by}\` does not fit the answer`;
  if (!isLogin(proof)) return null;
  if (person === undefined || !isLoginOf(person, proof) || !isSignedLogin(state, pending, answer))
    return `the signature of the server that vouches for \`${by}\` does not fit the answer`;
  const isTrusted = servers.length === 0 || servers.includes(proof.server);
  return isTrusted ? null : `the server \`${proof.server}\` that vouches for \`${by}\` is not a trusted one`;
}

/** True if the proof of the answer is a signature with this key. */
function isSigned(state: RunState, pending: Pending, { proof, ...answer }: Answer, key: string): boolean {
  const text = textToSign(state, pending, { ...answer, at: proof?.at ?? 0 });
  return isSignatureOf(key, text, proof?.signature ?? '');
}
