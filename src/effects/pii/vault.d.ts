import type { RunId } from '../../ir/events.ts';
/** Stores sealed values. It sees no value and no key. */
export interface PiiStore {
  /** The token with this lookup, or the one that is added now with the next free number of its type. */
  add(run: RunId, type: string, lookup: string, seal: (token: string) => Uint8Array): string;
  find(run: RunId, token: string): Uint8Array | null;
  /** A token that was passed to a tool as it is. It may come back in a result. */
  release(run: RunId, token: string): void;
  isReleased(run: RunId, token: string): boolean;
  /** Deletes all values of a run for good, and returns how many there were. */
  erase(run: RunId): number;
  close(): void;
}
export interface Vault {
  tokenFor(run: RunId, type: string, value: string): string;
  /** Null if the run has no such token. */
  valueOf(run: RunId, token: string): string | null;
  release(run: RunId, token: string): void;
  isReleased(run: RunId, token: string): boolean;
}
export declare const TOKEN: RegExp;
/** The type of text that only looks like a token. */
export declare const LOOKALIKE = 'text';
export declare function createVault(store: PiiStore, key: Uint8Array): Vault;
export declare const KEY_HELP =
  'Make one with `openssl rand -base64 32`, and set it in SLUICE_PII_KEY or in a file named by `pii.key_file`.';
/** A key of 32 bytes in base64. */
export declare function readKey(text: string, where: string): Uint8Array;
/** Keeps sealed values in this process only. */
export declare function memoryPiiStore(): PiiStore;
export declare function tokenOf(type: string, number: number): string;
