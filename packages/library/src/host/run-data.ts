/**
 * What runs have besides their journal: personal data, attachments and memory. A store keeps them itself, or they lie in files beside the
 * database file. Without a file they last as long as the process.
 */
import { existsSync } from 'node:fs';
import type { AttachmentStore, MemoryStore, PiiStore, Store } from '@sluice-internal/engine/ports';
import { IN_MEMORY, attachmentsBeside, memoryBeside, openPiiStore, piiFileOf } from '@sluice-internal/store-sqlite';

export interface RunData {
  readonly attachments: AttachmentStore;
  readonly memory: MemoryStore;
  /** Null if no run has personal data yet. */
  vault(): PiiStore | null;
  /** Closes what does not belong to the store. */
  close(): Promise<void>;
}

export function dataOf(store: Pick<Store, 'attachments' | 'memory' | 'pii'>, file: string | undefined): RunData {
  const { attachments = attachmentsBeside(file ?? IN_MEMORY), memory = memoryBeside(file ?? IN_MEMORY), pii } = store;
  let vault: PiiStore | null = null;
  return {
    attachments,
    memory,
    vault: () => {
      if (pii !== undefined) return pii;
      const path = piiFileOf(file ?? IN_MEMORY);
      return (vault ??= existsSync(path) ? openPiiStore(path) : null);
    },
    close: async () => {
      if (store.attachments === undefined) await attachments.close();
      if (store.memory === undefined) await memory.close?.();
      await vault?.close();
    },
  };
}
