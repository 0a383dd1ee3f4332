/** The key that signs checkpoints: from the environment, or from the folder of the database. Without one, nothing is signed. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createSigner } from '@sluice-internal/engine/journal';
import { SluiceError } from '@sluice-internal/engine/ports';
import type { EngineOptions } from '@sluice-internal/engine/ports';

const VARIABLE = 'SLUICE_SIGNING_KEY';

/** `SLUICE_SIGNING_KEY` is the path of a PEM file, or its text. */
export function signingFor(journal: string | undefined): Pick<EngineOptions, 'signing'> {
  const given = process.env[VARIABLE] ?? '';
  if (given.includes('-----BEGIN')) return { signing: { signer: createSigner(given) } };
  const beside = journal === undefined ? '' : join(dirname(journal), 'signing.key');
  const file = given === '' ? beside : given;
  if (given === '' && !existsSync(file)) return {};
  return { signing: { signer: createSigner(readKey(file)) } };
}

function readKey(file: string): string {
  try {
    if ((statSync(file).mode & 0o077) === 0) return readFileSync(file, 'utf8');
  } catch (error) {
    throw new SluiceError(
      'bad-signing-key',
      `the signing key \`${file}\` cannot be read: ${(error as Error).message}`,
      `Name the file in \`${VARIABLE}\`.`,
    );
  }
  throw new SluiceError(
    'bad-signing-key',
    `other users can read the signing key \`${file}\``,
    `Run \`chmod 600 ${file}\`.`,
  );
}
