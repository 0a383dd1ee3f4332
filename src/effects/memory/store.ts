/** Stores for what agents remember between runs. A store keeps entries by owner and key; the memory checks choose the owner. */
import type { Json } from '../../expr/json.ts';
import { listBeneath, readBeneath, removeBeneath, writeBeneath } from '../safe-path.ts';

/**
 * Stores what agents remember between runs.
 * @example
 * const memory: MemoryStore = createMemoryStore();
 * await memory.set('tenant/user/agent', 'language', 'German');
 */
export interface MemoryStore {
  get(owner: string, key: string): Promise<Json | undefined>;
  set(owner: string, key: string, value: Json): Promise<void>;
  delete(owner: string, key: string): Promise<boolean>;
  keys(owner: string): Promise<readonly string[]>;
}

/**
 * Keeps entries until the process ends.
 * @example
 * const own = createEngine({ toolOptions: { memory: createMemoryStore() } });
 */
export function createMemoryStore(): MemoryStore {
  const owners = new Map<string, Map<string, Json>>();
  const entriesOf = (owner: string): Map<string, Json> => {
    const entries = owners.get(owner) ?? new Map<string, Json>();
    owners.set(owner, entries);
    return entries;
  };
  return {
    get: async (owner, key) => entriesOf(owner).get(key),
    set: async (owner, key, value) => {
      entriesOf(owner).set(key, value);
    },
    delete: async (owner, key) => entriesOf(owner).delete(key),
    keys: async (owner) => [...entriesOf(owner).keys()],
  };
}

const ENTRY_BYTES_MAX = 10_000_000;
const SUFFIX = '.json';

/**
 * Keeps entries as files: one folder per owner, one file per entry, written atomically.
 * @example
 * const own = createEngine({ toolOptions: { memory: fileMemory('.sluice/memory') } });
 */
export function fileMemory(root: string): MemoryStore {
  const pathOf = (owner: string, key: string): string => `${fileName(owner)}/${fileName(key)}${SUFFIX}`;
  return {
    get: async (owner, key) => {
      const file = await readBeneath(root, pathOf(owner, key), ENTRY_BYTES_MAX);
      return file === null ? undefined : (JSON.parse(file.data.toString('utf8')) as Json);
    },
    set: (owner, key, value) => writeBeneath(root, pathOf(owner, key), Buffer.from(JSON.stringify(value))),
    delete: (owner, key) => removeBeneath(root, pathOf(owner, key)),
    keys: async (owner) => {
      const entries = (await listBeneath(root, fileName(owner))) ?? [];
      return entries.flatMap(({ name, type }) =>
        type === 'file' && name.endsWith(SUFFIX) && !name.startsWith('.')
          ? [decodeURIComponent(name.slice(0, -SUFFIX.length).replaceAll('=', '%'))]
          : [],
      );
    },
  };
}

/** Encodes any text as a file name: letters, digits, `-` and `_` stay, every other byte becomes `=XX`. */
function fileName(text: string): string {
  const encoded = encodeURIComponent(text).replace(
    /[!'()*.~=]/g,
    (char) => `%${char.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
  return encoded.replaceAll('%', '=');
}
