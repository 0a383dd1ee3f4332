/** What agents remember across runs, as files: a folder for each owner, a file for each entry, each written at once. */
import type { Json } from '../../expr/json.ts';
import { listBeneath, readBeneath, removeBeneath, writeBeneath } from '../safe-path.ts';
import type { MemoryStore } from './scoped-memory.ts';

const ENTRY_MAX = 10_000_000;
const END = '.json';

export function fileMemory(root: string): MemoryStore {
  const path = (owner: string, key: string): string => `${named(owner)}/${named(key)}${END}`;
  return {
    get: async (owner, key) => {
      const file = await readBeneath(root, path(owner, key), ENTRY_MAX);
      return file === null ? undefined : (JSON.parse(file.data.toString('utf8')) as Json);
    },
    set: (owner, key, value) => writeBeneath(root, path(owner, key), Buffer.from(JSON.stringify(value))),
    delete: (owner, key) => removeBeneath(root, path(owner, key)),
    keys: async (owner) => {
      const entries = (await listBeneath(root, named(owner))) ?? [];
      return entries.flatMap(({ name, type }) =>
        type === 'file' && name.endsWith(END) && !name.startsWith('.')
          ? [decodeURIComponent(name.slice(0, -END.length).replaceAll('=', '%'))]
          : [],
      );
    },
  };
}

/** Any text as the name of a file: letters, digits and a few marks stay, everything else is spelt out. */
function named(text: string): string {
  const spelt = encodeURIComponent(text).replace(
    /[!'()*.~=]/g,
    (char) => `%${char.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
  return spelt.replaceAll('%', '=');
}
