/**
 * Signed checkpoints. A person who can write the database can write a valid chain, but not a signature: a checkpoint binds the end of
 * a chain to the store, the run, the number of events and the time, under an Ed25519 key.
 */
import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { RunId } from '@sluice-internal/kernel/ir';
import { checkpointText } from '@sluice-internal/wire';
import { SluiceError } from '../ports/errors.ts';
import type { Checkpoint, Signer } from '../ports/ports.ts';

const PREFIX = 'ed25519:';

/** Takes a private key as PKCS8 PEM. */
export function createSigner(pem: string): Signer {
  const secret = readPrivateKey(pem);
  const key = `${PREFIX}${createPublicKey(secret).export({ format: 'jwk' }).x ?? ''}`;
  return {
    key,
    sign: (store, run, { seq, head, at }) => {
      const unsigned = { seq, head, at, key };
      return { ...unsigned, signature: sign(null, textOf(store, run, unsigned), secret).toString('base64') };
    },
  };
}

export function isSignedBy(store: string, run: RunId, checkpoint: Checkpoint): boolean {
  try {
    const signature = Buffer.from(checkpoint.signature, 'base64');
    // Base64 has other spellings of the same bytes.
    if (signature.toString('base64') !== checkpoint.signature) return false;
    return verify(null, textOf(store, run, checkpoint), readPublicKey(checkpoint.key), signature);
  } catch {
    return false;
  }
}

/** A public key in its one spelling, as `sluice keys list` prints it. Throws if the text is not one. */
export function publicKeyText(text: string): string {
  const raw = text.startsWith(PREFIX) ? Buffer.from(text.slice(PREFIX.length), 'base64') : Buffer.alloc(0);
  if (raw.length === 32) return `${PREFIX}${raw.toString('base64url')}`;
  throw new SluiceError(
    'bad-signing-key',
    `\`${text}\` is not a public key`,
    'It looks like `ed25519:` and 43 characters of base64.',
  );
}

function readPublicKey(text: string): KeyObject {
  const x = publicKeyText(text).slice(PREFIX.length);
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
}

function readPrivateKey(pem: string): KeyObject {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {
    // Reported below, without the text of the key.
  }
  throw new SluiceError(
    'bad-signing-key',
    'the signing key is not an Ed25519 private key in PEM',
    'Make one: `sluice keys add signing --out signing.key`.',
  );
}

function textOf(store: string, run: RunId, checkpoint: Omit<Checkpoint, 'signature'>): Buffer {
  return Buffer.from(checkpointText(store, run, checkpoint));
}
