/** The world of an engine whose data lies beside its journal: personal data, attachments and memory. */
import { resolve } from 'node:path';
import type { OpenVault } from '../effects/pii/pipeline.ts';
import { createVault, type TakeNumber } from '../effects/pii/vault.ts';
import { createWorld, type World, type WorldOptions } from '../effects/world.ts';
import { present } from '../expr/present.ts';
import type { AttachmentStore, PiiStore, Store } from '../runtime/ports.ts';
import { openStore } from '../stores/open-store.ts';
import { piiKey } from '../stores/pii-key.ts';
import { attachmentsBeside } from '../stores/sqlite/attachment-store.ts';
import { memoryBeside } from '../stores/sqlite/memory-store.ts';
import { openPiiStore, piiFileOf } from '../stores/sqlite/pii-store.ts';

/** Personal data, attachments and memory of the runs lie beside the journal, unless the program brings stores of its own. */
export function worldBeside(
  file: string | undefined,
  options: WorldOptions & { readonly onNotice?: (message: string) => void },
): { readonly world: World; readonly attachments: AttachmentStore | undefined; close(): Promise<void> } {
  const vault = file === undefined || options.vault !== undefined ? undefined : vaultBeside(file, options.onNotice);
  const attachments = file === undefined || options.attachments !== undefined ? undefined : attachmentsBeside(file);
  const memory = file === undefined || options.toolOptions?.memory !== undefined ? undefined : memoryBeside(file);
  const world = createWorld({
    ...options,
    ...present({ vault, attachments }),
    ...(memory === undefined ? {} : { toolOptions: { ...options.toolOptions, memory } }),
  });
  const close = async (): Promise<void> => {
    await world.close();
    await vault?.close();
    attachments?.close();
    await memory?.close();
  };
  return { world, attachments: options.attachments ?? attachments, close };
}

/** The file and the key are made when a run first needs them. */
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
