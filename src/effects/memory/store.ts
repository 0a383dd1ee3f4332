/** A memory store that lasts as long as the process. `openMemoryStore` keeps entries in a file. */
import { isVisible, mayAccess, MemoryViolation, similarity, textOf, wordsOf } from '../../runtime/memory.ts';
import type { MemoryCaller, MemoryEntry, MemoryQuery, MemoryStore, OnViolation } from '../../runtime/memory.ts';

interface Kept {
  entry: MemoryEntry;
  readonly order: number;
  readonly vector: readonly number[] | undefined;
}

/**
 * Keeps entries until the process ends.
 * @example
 * const own = createEngine({ toolOptions: { memory: createMemoryStore() } });
 */
export function createMemoryStore(options: { readonly onViolation?: OnViolation } = {}): MemoryStore {
  const entries = new Map<string, Kept>();
  const demandAccess = (caller: MemoryCaller, operation: string, { id, owner }: MemoryEntry): void => {
    if (mayAccess(caller, owner)) return;
    const violation = new MemoryViolation(caller, operation, id);
    options.onViolation?.(violation);
    throw violation;
  };
  const accessed = (caller: MemoryCaller, operation: string, id: string): Kept | null => {
    const kept = entries.get(id);
    if (kept !== undefined) demandAccess(caller, operation, kept.entry);
    return kept ?? null;
  };
  const ownedBy = (caller: MemoryCaller): readonly Kept[] =>
    [...entries.values()].filter(({ entry }) => mayAccess(caller, entry.owner));
  const erase = (which: (entry: MemoryEntry) => boolean): number => {
    const gone = [...entries.values()].filter(({ entry }) => which(entry));
    for (const { entry } of gone) entries.delete(entry.id);
    return gone.length;
  };
  return {
    add: async (caller, entry, vector) => {
      demandAccess(caller, 'write', entry);
      const known = accessed(caller, 'write', entry.id);
      if (known !== null) return known.entry;
      entries.set(entry.id, { entry, order: entries.size, vector });
      return entry;
    },
    get: async (caller, id, now) => {
      const kept = accessed(caller, 'read', id);
      return kept !== null && isVisible(caller, kept.entry, now) ? kept.entry : null;
    },
    find: async (caller, query) =>
      ranked(
        ownedBy(caller).filter(({ entry }) => isVisible(caller, entry, query.now)),
        query,
      ),
    quarantined: async (caller, limit) =>
      newest(ownedBy(caller).filter(({ entry }) => entry.state === 'quarantined'))
        .slice(0, limit)
        .map(({ entry }) => entry),
    release: async (caller, id, at) => {
      const kept = accessed(caller, 'release', id);
      if (kept === null) return null;
      if (kept.entry.state === 'quarantined')
        kept.entry = { ...kept.entry, state: 'active', released: { by: caller.operator, at } };
      return kept.entry;
    },
    forget: async (caller, id) => accessed(caller, 'forget', id) !== null && entries.delete(id),
    eraseRuns: async (runs) => erase(({ run }) => runs.includes(run)),
    eraseExpired: async (now) => erase(({ expiresAt }) => expiresAt <= now),
  };
}

/** Entries that fit come first, by the number of common words or by the vector; then the newest. */
function ranked(
  found: readonly Kept[],
  { text = '', vector, only, limit = found.length }: MemoryQuery,
): readonly MemoryEntry[] {
  const words = new Set(wordsOf(text));
  const scoreOf = ({ entry, vector: own }: Kept): number => {
    if (vector !== undefined && own !== undefined) return 1 + similarity(vector, own);
    return wordsOf(`${textOf(entry.goal)} ${textOf(entry.answer)}`).filter((word) => words.has(word)).length;
  };
  const scores = new Map(found.map((kept) => [kept, scoreOf(kept)]));
  const least = vector === undefined ? 0 : 1;
  return newest(found)
    .filter((kept) => only !== true || (scores.get(kept) ?? 0) > least)
    .toSorted((a, b) => (scores.get(b) ?? 0) - (scores.get(a) ?? 0))
    .slice(0, limit)
    .map(({ entry }) => entry);
}

function newest(found: readonly Kept[]): readonly Kept[] {
  return found.toSorted((a, b) => b.entry.at - a.entry.at || b.order - a.order);
}
