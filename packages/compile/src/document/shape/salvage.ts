/**
 * A view of a located tree without its faulty parts, so that one mistake does not hide the next. The tree itself never
 * changes: the view records which values were taken out, which misspelt keys count as the right ones, and what was put in.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import {
  headRange,
  isPoisonValue,
  type Entry,
  type Located,
  type LocatedMap,
  type Path,
  type Segment,
} from '../../source/located.ts';
import type { Range } from '../../source/range.ts';

interface Found {
  readonly node: Located;
  /** The number of segments that lead nowhere. */
  readonly missing: number;
  readonly parents: readonly Located[];
}

export class Salvage {
  readonly #root: Located;
  readonly #removed = new Set<Located>();
  /** Values in which something was removed. */
  readonly #damaged = new Set<Located>();
  /** For each map with misspelt keys: the entry by the key that was meant. */
  readonly #renamed = new Map<Located, Map<string, Entry>>();
  /** For each map: the known keys that its unknown keys resemble. */
  readonly #meant = new Map<Located, Set<string>>();
  readonly #given = new Map<Located, Map<string, Json>>();

  constructor(root: Located) {
    this.#root = root;
    this.#removePoison(root);
  }

  plain(): Json {
    return this.#plainOf(this.#root);
  }

  /** True while nothing was removed, renamed or given. */
  whole(): boolean {
    return this.#removed.size === 0 && this.#renamed.size === 0 && this.#given.size === 0;
  }

  /** The value at a path, as far as the path leads. */
  find(path: Path): Found {
    const parents: Located[] = [];
    let node = this.#root;
    for (const [depth, segment] of path.entries()) {
      const next = this.#childAt(node, segment);
      if (next === undefined) return { node, missing: path.length - depth, parents };
      parents.push(node);
      node = next;
    }
    return { node, missing: 0, parents };
  }

  /** Removes the value at each path, or else the value around it. False if nothing would be left. */
  remove(paths: readonly Path[]): boolean {
    // All are found before any is removed, because a removal moves the indexes of later items.
    for (const { node, parents } of paths.map((path) => this.find(path))) {
      if (node === this.#root) return false;
      this.#removed.add(node);
      for (const parent of parents) this.#damaged.add(parent);
    }
    return true;
  }

  /** Reads the misspelt key at the path as `meant`. */
  rename(path: Path, meant: string): void {
    const { node, parents } = this.find(path);
    const parent = parents.at(-1);
    const entry = parent?.kind === 'map' ? parent.entries.get(String(path.at(-1))) : undefined;
    if (parent === undefined || entry === undefined) return;
    this.#renamed.set(parent, new Map([...(this.#renamed.get(parent) ?? []), [meant, entry]]));
    // The guess may be wrong, so faults of the value are not reported.
    this.#damaged.add(node);
  }

  /** Records that an unknown key at the path was probably meant to be `known`. */
  resembles(path: Path, known: string): void {
    const { node } = this.find(path.slice(0, -1));
    this.#meant.set(node, new Set([...(this.#meant.get(node) ?? []), known]));
  }

  /** Puts a value where one is missing or was removed. False where no map holds that path. */
  give(path: Path, value: Json): boolean {
    const { node, missing } = this.find(path);
    if (missing !== 1 || node.kind !== 'map') return false;
    this.#given.set(node, new Map([...(this.#given.get(node) ?? []), [String(path.at(-1)), value]]));
    return true;
  }

  /** True where a fault at the path is a consequence of an earlier removal. */
  follows(path: Path): boolean {
    const { node, missing } = this.find(path);
    if (missing === 0) return this.#damaged.has(node);
    const segment = path[path.length - missing];
    return node.kind === 'map' && segment !== undefined && this.#entryAt(node, String(segment)) !== undefined;
  }

  /** True where a value was written at the path, perhaps under a misspelt key, and was removed. */
  poisoned(path: Path): boolean {
    const { node, missing } = this.find(path);
    if (missing !== 1) return false;
    const key = String(path.at(-1));
    if (node.kind !== 'map') return node.kind === 'list' && this.#damaged.has(node);
    return this.#entryAt(node, key) !== undefined || this.#meant.get(node)?.has(key) === true;
  }

  /** True where an entry or item of the value at the path was removed. */
  damaged(path: Path): boolean {
    const { node, missing } = this.find(path);
    return missing === 0 && childrenOf(node).some((child) => this.#removed.has(child));
  }

  at(path: Path): Range {
    return headRange(this.find(path).node);
  }

  keyAt(path: Path): Range {
    const { node, missing, parents } = this.find(path);
    const parent = missing === 0 ? parents.at(-1) : undefined;
    const entry = parent?.kind === 'map' ? this.#entryAt(parent, String(path.at(-1))) : undefined;
    return entry?.keyRange ?? headRange(node);
  }

  #entryAt(node: LocatedMap, key: string): Entry | undefined {
    return this.#renamed.get(node)?.get(key) ?? node.entries.get(key);
  }

  #childAt(node: Located, segment: Segment): Located | undefined {
    if (node.kind === 'map') {
      const value = this.#entryAt(node, String(segment))?.value;
      return value === undefined || this.#removed.has(value) ? undefined : value;
    }
    if (node.kind !== 'list' || typeof segment !== 'number') return undefined;
    return this.#damaged.has(node)
      ? node.items.filter((item) => !this.#removed.has(item))[segment]
      : node.items[segment];
  }

  #plainOf(node: Located): Json {
    if (node.kind === 'scalar') return node.value;
    if (node.kind === 'list')
      return node.items.filter((item) => !this.#removed.has(item)).map((item) => this.#plainOf(item));
    const object: { [key: string]: Json } = {};
    const names = new Map([...(this.#renamed.get(node) ?? [])].map(([meant, entry]) => [entry, meant]));
    for (const [key, entry] of node.entries)
      if (!this.#removed.has(entry.value)) object[names.get(entry) ?? key] = this.#plainOf(entry.value);
    for (const [key, value] of this.#given.get(node) ?? []) object[key] = value;
    return object;
  }

  /** Removes every value that the source could not read. True where there was one. */
  #removePoison(node: Located): boolean {
    if (isPoisonValue(node)) {
      this.#removed.add(node);
      return true;
    }
    const found = childrenOf(node).filter((child) => this.#removePoison(child)).length > 0;
    if (found) this.#damaged.add(node);
    return found;
  }
}

function childrenOf(node: Located): readonly Located[] {
  if (node.kind === 'list') return node.items;
  return node.kind === 'map' ? [...node.entries.values()].map(({ value }) => value) : [];
}
