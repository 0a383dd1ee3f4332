/** The world of an engine whose data lies beside its journal: personal data, attachments and memory. */
import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { createVault } from '@sluice-internal/pii';
import type { OpenVault, TakeNumber, Vault } from '@sluice-internal/pii';
import { SluiceError, piiKey, update } from '@sluice-internal/engine/ports';
import type { AttachmentStore, EngineOptions, PiiStore, Store } from '@sluice-internal/engine/ports';
import { IN_MEMORY, openPiiStore, piiFileOf } from '@sluice-internal/store-sqlite';
import { dataOf } from './run-data.ts';
import { createWorld, type World, type WorldOptions } from './world.ts';
import { openStore } from './open-store.ts';
import { openMemory } from '@sluice-internal/engine/memory';

/**
 * Personal data, attachments and memory of the runs lie beside the journal, unless the program brings stores of its own. Without a
 * file, they last as long as the process.
 */
export function worldBeside(
  file: string | undefined,
  options: WorldOptions & { readonly onNotice?: EngineOptions['onNotice'] },
  store: Pick<Store, 'attachments' | 'memory' | 'pii' | 'reach' | 'shared'> = openMemory(),
): { readonly world: World; readonly attachments: AttachmentStore; close(): Promise<void> } {
  const data = dataOf(store, file);
  const { attachments = data.attachments, toolOptions: { memory = data.memory } = {} } = options;
  const vault =
    options.vault ??
    (store.pii !== undefined || store.reach === 'network'
      ? vaultIn(store)
      : file === undefined
        ? vaultInProcess()
        : vaultBeside(file, (message) => options.onNotice?.(message, 'key')));
  const world = createWorld(options, { vault, attachments, memory });
  const close = async (): Promise<void> => {
    await world.close();
    if (options.vault === undefined) await (vault as ClosingVault).close();
    await data.close();
  };
  return { world, attachments, close };
}

type ClosingVault = OpenVault & { close(): Promise<void> };

/** The values and their key last as long as the process. */
export function vaultInProcess(): ClosingVault {
  let store: PiiStore | null = null;
  let vault: Vault | null = null;
  const open: OpenVault = () => (vault ??= createVault((store = openPiiStore(IN_MEMORY)), randomBytes(32)));
  return Object.assign(open, { close: async () => store?.close() });
}

/** The file and the key are made when a run first needs them. */
export function vaultBeside(journal: string, onNotice?: (message: string) => void): ClosingVault {
  let store: PiiStore | null = null;
  let database: Store | null = null;
  const open: OpenVault = (keyFile, documentDir = '.') => {
    const key = piiKey({
      journal,
      keyFile: keyFile === undefined ? undefined : resolve(documentDir, keyFile),
      onNotice,
    });
    store ??= openPiiStore(piiFileOf(journal));
    return createVault(
      store,
      key,
      counterIn(() => (database ??= openStore(journal)).shared),
    );
  };
  const close = async (): Promise<void> => {
    await store?.close();
    await database?.close();
  };
  return Object.assign(open, { close });
}

/** The store that the program opened keeps the values. The program closes it. */
function vaultIn(store: Pick<Store, 'pii' | 'reach' | 'shared'>): ClosingVault {
  const { pii, reach, shared } = store;
  const open: OpenVault = (keyFile, documentDir = '.') => {
    const key = piiKey({ reach, keyFile: keyFile === undefined ? undefined : resolve(documentDir, keyFile) });
    if (pii !== undefined)
      return createVault(
        pii,
        key,
        counterIn(() => shared),
      );
    throw new SluiceError('pii-key', 'this store keeps no personal data', 'Use another store for this document.');
  };
  return Object.assign(open, { close: async () => undefined });
}

function counterIn(cells: () => Store['shared']): TakeNumber {
  return (run, type, last) =>
    update(cells(), `${NUMBERS_PREFIX}${run}`, (value) => {
      const numbers = (value ?? {}) as { readonly [type: string]: number };
      const next = (numbers[type] ?? last) + 1;
      return [{ ...numbers, [type]: next }, next];
    });
}

/** The numbers of tokens are counted in the journal's database: a vault that was changed or replaced gives no number twice. */
const NUMBERS_PREFIX = 'pii.numbers:';
