/**
 * What a server says about an answer that came over a network: which login gave it. The server signs it, and the process that
 * owns the run verifies it again with the keys that it trusts. The database is not among the places where those keys come from.
 */
import { createPublicKey, generateKeyPairSync, randomBytes, sign, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { canonical } from '@sluice-internal/kernel/expr';
import type { Answer, Instant, Pending, PersonDef, Proof, RunState } from '@sluice-internal/kernel/ir';
import { privateKeyIn, publicLine } from './keys.ts';

/** A person as a server knows him. */
export interface Login {
  readonly via: 'token' | 'oidc';
  /** Who vouches for the subject: the address of an OIDC issuer, or the server itself. */
  readonly issuer: string;
  /** The subject of the issuer; of a token `token:NAME`. */
  readonly subject: string;
  /** The id of the token. */
  readonly token: string;
  readonly tenant: string | null;
}

/** The key of a server. */
export interface ServerKey {
  /** `ed25519:` and the 32 bytes of the public key in base64url. */
  readonly key: string;
  sign(text: string): string;
}

/** A login, and where to find the key that vouches for it. */
export interface GivenLogin extends Login {
  readonly server: () => ServerKey;
}

type LoginProof = Login & Required<Pick<Proof, 'signature' | 'at' | 'nonce' | 'server'>>;
type Asked = Pick<Pending, 'question'>;

/** Takes a private key as PKCS8 PEM. */
export function serverKey(pem: string | KeyObject): ServerKey {
  const secret = typeof pem === 'string' ? privateKeyIn(pem) : pem;
  return { key: publicLine(secret), sign: (text) => sign(null, Buffer.from(text), secret).toString('base64url') };
}

/** A new private key as PKCS8 PEM. */
export function newServerKey(): string {
  return generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** The proof of a login for one answer. */
export function loginProof(
  state: RunState,
  asked: Asked,
  answer: Answer,
  { server, ...login }: GivenLogin,
  at: Instant,
): Proof {
  const own = server();
  const unsigned = { ...login, at, nonce: randomBytes(16).toString('base64url'), server: own.key };
  return { ...unsigned, signature: own.sign(loginText(state, asked, answer, unsigned)) };
}

/** The text that a server signs. Every field of the answer is in it, and each place in which the answer may be valid. */
function loginText(
  { run, origin }: RunState,
  { question }: Asked,
  { choice, by, edit, text, payload }: Answer,
  { via, issuer, subject, token, tenant, at, nonce, server }: Omit<LoginProof, 'signature'>,
): string {
  const place = { store: origin.pins?.store ?? null, run, ask: question?.id ?? null };
  const given = { payload: payload ?? question?.payload ?? null, choice, by, edit, text };
  return `sluice-login-1\n${canonical({ ...place, ...given, via, issuer, subject, token, tenant, at, nonce, server })}`;
}

export function isLogin(proof: Proof | undefined): proof is LoginProof {
  return proof?.via === 'token' || proof?.via === 'oidc';
}

/** True if the server that the proof names has signed exactly this answer. Says nothing about the server. */
export function isSignedLogin(state: RunState, asked: Asked, answer: Answer): boolean {
  const { proof } = answer;
  if (!isLogin(proof)) return false;
  return isSignatureOf(proof.server, loginText(state, asked, answer, proof), proof.signature);
}

/** True if this login is the one of the person. */
export function isLoginOf({ login }: PersonDef, { via, issuer, subject }: Login): boolean {
  if (login === undefined) return false;
  if (via === 'token') return login.startsWith('token:') && login === subject;
  // A subject may contain `#`, and an issuer may not, so the first one ends the issuer.
  const end = login.indexOf('#');
  return end >= 0 && login.slice(0, end) === issuer && login.slice(end + 1) === subject;
}

export function isSignatureOf(publicKey: string, text: string, signature: string): boolean {
  const x = publicKey.slice('ed25519:'.length);
  try {
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    const bytes = Buffer.from(signature, 'base64url');
    return verify(null, Buffer.from(text), key, bytes);
  } catch {
    return false;
  }
}
