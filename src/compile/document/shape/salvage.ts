/**
 * A located tree from which faulty parts can be taken out, so that one mistake does not hide the next. The tree itself is
 * never changed: parts are marked dead, and every view (the plain value, navigation by path) leaves the dead out.
 */
import type { Json } from '../../../expr/json.ts';
import {
  headRange,
  isHole,
  type Entry,
  type Located,
  type LocatedMap,
  type Path,
  type Segment,
} from '../../source/located.ts';
import type { Range } from '../../source/range.ts';

export interface Salvage {
  plain(): Json;
  /** True while nothing was taken out. */
  whole(): boolean;
  /** The living value at a path, as far as it leads; `missing` counts the segments that led nowhere. */
  find(path: Path): { readonly node: Located; readonly missing: number; readonly parents: readonly Located[] };
  /** Takes out what is at each path, or what should have held it. False where nothing would be left. */
  kill(paths: readonly Path[]): boolean;
  /** Reads the misspelt key at the path as the one that was meant. */
  rename(path: Path, meant: string): void;
  /** Puts a value where one is missing or was taken out. False where nothing could hold it. */
  give(path: Path, value: Json): boolean;
  /** True where what is wrong at the path follows from an earlier kill. */
  follows(path: Path): boolean;
  at(path: Path): Range;
  keyAt(path: Path): Range;
}

export function createSalvage(root: Located): Salvage {
  const dead = new Set<Located>();
  const hurt = new Set<Located>();
  /** For each map with misspelt keys: the entry by the key that was meant. */
  const renamed = new Map<Located, Map<string, Entry>>();
  const given = new Map<Located, Map<string, Json>>();

  const entryAt = (node: LocatedMap, key: string): Entry | undefined =>
    renamed.get(node)?.get(key) ?? node.entries.get(key);

  const alive = (node: Located, segment: Segment): Located | undefined => {
    if (node.kind === 'map') {
      const value = entryAt(node, String(segment))?.value;
      return value === undefined || dead.has(value) ? undefined : value;
    }
    if (node.kind !== 'list' || typeof segment !== 'number') return undefined;
    return hurt.has(node) ? node.items.filter((item) => !dead.has(item))[segment] : node.items[segment];
  };

  const find: Salvage['find'] = (path) => {
    const parents: Located[] = [];
    let node = root;
    for (const [depth, segment] of path.entries()) {
      const next = alive(node, segment);
      if (next === undefined) return { node, missing: path.length - depth, parents };
      parents.push(node);
      node = next;
    }
    return { node, missing: 0, parents };
  };

  const plain = (node: Located): Json => {
    if (node.kind === 'scalar') return node.value;
    if (node.kind === 'list') return node.items.filter((item) => !dead.has(item)).map(plain);
    const object: { [key: string]: Json } = {};
    const names = new Map([...(renamed.get(node) ?? [])].map(([meant, entry]) => [entry, meant]));
    for (const [key, entry] of node.entries)
      if (!dead.has(entry.value)) object[names.get(entry) ?? key] = plain(entry.value);
    for (const [key, value] of given.get(node) ?? []) object[key] = value;
    return object;
  };

  const bury = (node: Located): boolean => {
    if (isHole(node)) return dead.add(node).has(node);
    const inner =
      node.kind === 'map'
        ? [...node.entries.values()].map((entry) => entry.value)
        : node.kind === 'list'
          ? node.items
          : [];
    const holed = inner.filter(bury).length > 0;
    if (holed) hurt.add(node);
    return holed;
  };
  bury(root);

  return {
    plain: () => plain(root),
    whole: () => dead.size === 0 && renamed.size === 0 && given.size === 0,
    find,
    kill(paths) {
      // All are found before any dies: a death moves the indexes of what comes after it.
      for (const { node, parents } of paths.map(find)) {
        if (node === root) return false;
        dead.add(node);
        for (const parent of parents) hurt.add(parent);
      }
      return true;
    },
    rename(path, meant) {
      const { node, parents } = find(path);
      const parent = parents.at(-1);
      const entry = parent?.kind === 'map' ? parent.entries.get(String(path.at(-1))) : undefined;
      if (parent === undefined || entry === undefined) return;
      renamed.set(parent, new Map([...(renamed.get(parent) ?? []), [meant, entry]]));
      // The guess may be wrong, so that nothing is held against the value.
      hurt.add(node);
    },
    give(path, value) {
      const { node, missing } = find(path);
      if (missing !== 1 || node.kind !== 'map') return false;
      given.set(node, new Map([...(given.get(node) ?? []), [String(path.at(-1)), value]]));
      return true;
    },
    follows(path) {
      const { node, missing } = find(path);
      if (missing === 0) return hurt.has(node);
      const segment = path[path.length - missing];
      return node.kind === 'map' && segment !== undefined && entryAt(node, String(segment)) !== undefined;
    },
    at: (path) => headRange(find(path).node),
    keyAt(path) {
      const { node, missing, parents } = find(path);
      const parent = missing === 0 ? parents.at(-1) : undefined;
      const entry = parent?.kind === 'map' ? entryAt(parent, String(path.at(-1))) : undefined;
      return entry?.keyRange ?? headRange(node);
    },
  };
}
