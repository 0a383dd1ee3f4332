/**
 * An agent reads and writes no memory but its own (L12). The check is made on every operation, where the memory is, so that
 * knowing another agent's id is of no use to anybody.
 */
import type { Json } from '../../expr/json.ts';
import { PerformError } from '../../runtime/failures.ts';

/** Where memories are kept; it does not know who asks. */
export interface MemoryStore {
  get(owner: string, key: string): Promise<Json | undefined>;
  set(owner: string, key: string, value: Json): Promise<void>;
  delete(owner: string, key: string): Promise<boolean>;
  keys(owner: string): Promise<readonly string[]>;
}

/** Thrown inside an effect, it becomes that effect's failure on the journal. */
export class MemoryViolation extends PerformError {
  readonly caller: string;
  readonly owner: string;

  constructor(caller: string, owner: string, operation: string) {
    super({
      class: 'policy',
      type: 'MemoryViolation',
      message: `\`${caller}\` may not ${operation} the memory of \`${owner}\``,
    });
    this.caller = caller;
    this.owner = owner;
  }
}

export class ScopedMemory {
  readonly owner: string;
  readonly #store: MemoryStore;

  constructor(owner: string, store: MemoryStore) {
    this.owner = owner;
    this.#store = store;
  }

  async get(caller: string, key: string): Promise<Json | undefined> {
    this.#check(caller, 'read');
    return this.#store.get(this.owner, key);
  }

  async set(caller: string, key: string, value: Json): Promise<void> {
    this.#check(caller, 'write');
    await this.#store.set(this.owner, key, value);
  }

  async delete(caller: string, key: string): Promise<boolean> {
    this.#check(caller, 'delete from');
    return this.#store.delete(this.owner, key);
  }

  async keys(caller: string): Promise<readonly string[]> {
    this.#check(caller, 'list');
    return this.#store.keys(this.owner);
  }

  #check(caller: string, operation: string): void {
    if (caller !== this.owner) throw new MemoryViolation(caller, this.owner, operation);
  }
}

/** Memories that live as long as the process. */
export function createMemoryStore(): MemoryStore {
  const owners = new Map<string, Map<string, Json>>();
  const of = (owner: string): Map<string, Json> => {
    const known = owners.get(owner) ?? new Map<string, Json>();
    owners.set(owner, known);
    return known;
  };
  return {
    get: async (owner, key) => of(owner).get(key),
    set: async (owner, key, value) => {
      of(owner).set(key, value);
    },
    delete: async (owner, key) => of(owner).delete(key),
    keys: async (owner) => [...of(owner).keys()],
  };
}
