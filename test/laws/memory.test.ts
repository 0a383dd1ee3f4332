/** L12: 10,000 random operations of memory under random callers and tenants. No caller reaches an entry of another owner. */
import { describe, expect, test } from 'vitest';
import { createMemoryStore } from '@sluice-internal/store-sqlite';
import { MemoryViolation, mayAccess } from '@sluice-internal/engine/ports';
import type { MemoryCaller, MemoryEntry, MemoryScope, MemoryStore, OnViolation } from '@sluice-internal/engine/ports';
import { createChance } from '@sluice-internal/testing/chance';

/** Names that would be the same owner if fields were joined without a border, or read as SQL or as a search. */
const NAMES = ['a', 'b', 'ab', '', 'null', '["a"', 'a,b', 'a\n', "' OR 1=1 --", 'A', 'ä', '%', '"a" OR "b"'] as const;
const OPERATIONS = ['add', 'get', 'find', 'find', 'quarantined', 'forget', 'release'] as const;

const seed = Number(process.env['SEED'] ?? 1);

const STORES: readonly (readonly [string, (onViolation: OnViolation) => MemoryStore])[] = [
  ['the store of a process', (onViolation) => createMemoryStore({ onViolation })],
];

describe.each(STORES)('L12: %s', (_, open) => {
  test(`no entry reaches another tenant, user or agent (seed ${seed})`, async () => {
    const violations: MemoryViolation[] = [];
    const life = new Life(
      open((violation) => violations.push(violation)),
      violations,
    );
    for (let step = 0; step < 10_000; step++) await life.step(step);
    expect(life.read).toBeGreaterThan(1000);
    expect(life.denied).toBeGreaterThan(500);
    expect(life.denied).toBe(violations.length);
  });
});

/** Random operations on a store, compared with a list of all entries. */
class Life {
  readonly #store: MemoryStore;
  readonly #violations: readonly MemoryViolation[];
  readonly #chance = createChance(seed);
  readonly #entries = new Map<string, MemoryEntry>();
  read = 0;
  denied = 0;

  constructor(store: MemoryStore, violations: readonly MemoryViolation[]) {
    this.#store = store;
    this.#violations = violations;
  }

  async step(step: number): Promise<void> {
    const caller = this.#caller();
    const operation = this.#pick(OPERATIONS);
    if (operation === 'add') return this.#add(caller, step);
    if (operation === 'find' || operation === 'quarantined') return this.#search(caller, operation, step);
    const id = this.#chance.below(50) === 0 ? 'm_unknown' : `m_${this.#chance.below(step + 1)}`;
    const target = this.#entries.get(id);
    const act = async (): Promise<unknown> => {
      if (operation === 'get') return this.#store.get(caller, id, step);
      if (operation === 'forget') return this.#store.forget(caller, id);
      return 'operator' in caller ? this.#store.release(caller, id, step) : null;
    };
    if (operation === 'release' && !('operator' in caller)) return;
    const before = this.#violations.length;
    if (target !== undefined && !mayAccess(caller, target.owner)) {
      await mustBeDenied(act);
      if (this.#violations.length !== before + 1) throw new Error('a violation was not announced');
      this.denied += 1;
      return;
    }
    const result = await act();
    if (target === undefined && result !== null && result !== false) throw new Error('an entry that does not exist');
    if (target === undefined) return;
    if (operation === 'forget') this.#entries.delete(id);
    else if (operation === 'release') this.#entries.set(id, { ...target, state: 'active' });
  }

  async #add(caller: MemoryCaller, step: number): Promise<void> {
    const isForeign = this.#chance.below(5) === 0;
    const owner = isForeign || 'operator' in caller ? this.#scope() : caller;
    const entry = entryOf(owner, step, this.#chance.below(3) === 0 ? 'quarantined' : 'active');
    if (!mayAccess(caller, owner)) {
      await mustBeDenied(() => this.#store.add(caller, entry));
      this.denied += 1;
      return;
    }
    await this.#store.add(caller, entry);
    this.#entries.set(entry.id, entry);
  }

  async #search(caller: MemoryCaller, operation: 'find' | 'quarantined', now: number): Promise<void> {
    const isOperator = 'operator' in caller;
    const found =
      operation === 'find'
        ? await this.#store.find(caller, { text: this.#pick(NAMES), now })
        : await this.#store.quarantined(caller, 1_000_000);
    for (const { owner } of found) if (!mayAccess(caller, owner)) throw new Error('an entry of another owner');
    const isSeen = ({ state, expiresAt }: MemoryEntry): boolean =>
      operation === 'quarantined' ? state === 'quarantined' : isOperator || (state === 'active' && expiresAt > now);
    const all = [...this.#entries.values()].filter((entry) => mayAccess(caller, entry.owner) && isSeen(entry));
    const seen = new Set(found.map(({ id }) => id));
    if (seen.size !== all.length || all.some(({ id }) => !seen.has(id))) throw new Error('other entries than expected');
    if (!isOperator) this.read += found.length;
  }

  #caller(): MemoryCaller {
    if (this.#chance.below(20) > 0) return this.#scope();
    return { operator: 'anna', ...(this.#chance.below(4) === 0 ? {} : { tenant: this.#pick(NAMES.filter(Boolean)) }) };
  }

  #scope(): MemoryScope {
    const maybe = (): string | null => (this.#chance.below(2) === 0 ? null : this.#pick(NAMES.slice(0, 4)));
    const shared = this.#chance.below(4) === 0;
    const name = this.#pick(NAMES);
    return { tenant: maybe(), user: maybe(), agent: shared ? null : name, share: shared ? name : null };
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#chance.below(list.length)] as T;
  }
}

async function mustBeDenied(act: () => Promise<unknown>): Promise<void> {
  const error = await act().then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof MemoryViolation)) throw new Error('an entry of another owner was reached');
}

function entryOf(owner: MemoryScope, step: number, state: MemoryEntry['state']): MemoryEntry {
  return {
    id: `m_${step}`,
    owner,
    goal: `goal of ${owner.agent ?? owner.share ?? ''}`,
    answer: JSON.stringify(owner),
    sources: [],
    trust: 'untrusted',
    run: `r_${step}`,
    validator: 'memory.write',
    at: step,
    expiresAt: step + 5000,
    state,
    reason: null,
    released: null,
  };
}
