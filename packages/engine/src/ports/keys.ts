/** Private and public keys of people and servers: Ed25519. */
import { createPrivateKey, createPublicKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { SluiceError } from './errors.ts';

/** The private key in a PEM text. */
export function privateKeyIn(text: string): KeyObject {
  let key: KeyObject;
  try {
    key = createPrivateKey(text);
  } catch (cause) {
    throw new SluiceError('bad-key-file', 'this is not a private key in PEM form', KEY_HELP, cause);
  }
  if (key.asymmetricKeyType === 'ed25519') return key;
  throw new SluiceError('bad-key-file', 'this private key is not an Ed25519 key', KEY_HELP);
}

const KEY_HELP = 'Make one with `sluice keys add NAME`.';

/** The public key as `people` writes it. */
export function publicLine(key: KeyObject): string {
  return `ed25519:${createPublicKey(key).export({ format: 'jwk' }).x ?? ''}`;
}
