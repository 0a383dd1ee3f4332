/** The vault of personal data that belongs to a journal. The file and the key are made when a run first needs them. */
import { resolve } from 'node:path';
import type { OpenVault } from '../effects/pii/pipeline.ts';
import { createVault, type TakeNumber } from '../effects/pii/vault.ts';
import type { PiiStore, Store } from '../runtime/ports.ts';
import { openStore } from '../stores/open-store.ts';
import { piiKey } from '../stores/pii-key.ts';
import { openPiiStore, piiFileOf } from '../stores/sqlite/pii-store.ts';

export function vaultBeside(
  journal: string,
  onNotice?: (message: string) => void,
): OpenVault & { close(): Promise<void> } {
  let store: PiiStore | null = null;
  let database: Store | null = null;
  const takeNumber: TakeNumber = async (run, type, last) => {
    database ??= openStore(journal);
    return database.shared.update(`${NUMBERS_PREFIX}${run}`, (value) => {
      const numbers = (value ?? {}) as { readonly [type: string]: number };
      const next = (numbers[type] ?? last) + 1;
      return [{ ...numbers, [type]: next }, next];
    });
  };
  const open: OpenVault = (keyFile, documentDir = '.') => {
    const key = piiKey({
      journal,
      keyFile: keyFile === undefined ? undefined : resolve(documentDir, keyFile),
      onNotice,
    });
    store ??= openPiiStore(piiFileOf(journal));
    return createVault(store, key, takeNumber);
  };
  const close = async (): Promise<void> => {
    store?.close();
    await database?.close();
  };
  return Object.assign(open, { close });
}

/** The numbers of tokens are counted in the journal's database: a vault that was changed or replaced gives no number twice. */
const NUMBERS_PREFIX = 'pii.numbers:';
