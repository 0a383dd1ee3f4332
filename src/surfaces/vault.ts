/** The vault of personal data that belongs to a journal. The file and the key are made when a run first needs them. */
import { resolve } from 'node:path';
import type { OpenVault } from '../effects/pii/pipeline.ts';
import { createVault } from '../effects/pii/vault.ts';
import type { PiiStore } from '../runtime/ports.ts';
import { piiKey } from '../stores/pii-key.ts';
import { openPiiStore, piiFileOf } from '../stores/sqlite/pii-store.ts';

export interface VaultOptions {
  readonly journal: string;
  readonly onNotice?: ((message: string) => void) | undefined;
}

export function vaultBeside({ journal, onNotice }: VaultOptions): OpenVault & { close(): void } {
  let store: PiiStore | null = null;
  const open: OpenVault = (keyFile, documentDir = '.') => {
    const key = piiKey({
      journal,
      keyFile: keyFile === undefined ? undefined : resolve(documentDir, keyFile),
      onNotice,
    });
    store ??= openPiiStore(piiFileOf(journal));
    return createVault(store, key);
  };
  return Object.assign(open, { close: () => store?.close() });
}
