/** An entry of memory as stores keep it: its text with a hash that shows a change from outside. */
import { hash } from 'node:crypto';
import { parseJson } from '@sluice-internal/kernel/expr';
import { entryHash, isOperator } from './memory.ts';
import type { MemoryCaller, MemoryEntry, MemoryScope, MemoryStore } from './memory.ts';
import { refuseEmpty } from './options.ts';

/** The columns that queries use. They have priority over the text of the entry. */
interface MemoryRow {
  readonly id: string;
  readonly owner: string;
  readonly run: string;
  readonly state: string;
  readonly expiresAt: number;
  readonly body: string;
}

/** The text of an entry. */
export function memoryBody(entry: MemoryEntry): string {
  return JSON.stringify({ ...entry, seal: sealOf(entry) });
}

/** No agent gets an entry that was changed: it counts as quarantined. */
export function memoryEntry({ id, owner, run, state, expiresAt, body: text }: MemoryRow): MemoryEntry {
  const kept = {
    owner: scopeOf(owner),
    state: state === 'active' ? 'active' : 'quarantined',
    expiresAt,
  } as const;
  try {
    const { seal, ...body } = parseJson(text) as unknown as MemoryEntry & { readonly seal?: string };
    const entry: MemoryEntry = { ...body, ...kept };
    return seal === sealOf(entry) ? entry : { ...entry, ...CHANGED };
  } catch {
    return { ...UNREADABLE, ...kept, ...CHANGED, id, run };
  }
}

/** An operator whose tenant is there without a value would reach the memory of all tenants. */
export function guardedMemory<Guarded extends MemoryStore>(store: Guarded): Guarded {
  const checked = <Caller extends MemoryCaller>(caller: Caller): Caller => {
    if (isOperator(caller)) refuseEmpty('memory', caller);
    return caller;
  };
  return {
    ...store,
    add: async (caller, entry, vector) => store.add(checked(caller), entry, vector),
    get: async (caller, id, now) => store.get(checked(caller), id, now),
    find: async (caller, query) => store.find(checked(caller), query),
    quarantined: async (caller, limit) => store.quarantined(checked(caller), limit),
    release: async (caller, id, at) => store.release(checked(caller), id, at),
    forget: async (caller, id) => store.forget(checked(caller), id),
  };
}

function sealOf(entry: MemoryEntry): string {
  const { state, released } = entry;
  return hash('sha256', JSON.stringify([entryHash(entry), state, released?.by, released?.at]), 'base64url');
}

const CHANGED = { state: 'quarantined', reason: 'the entry was changed outside of Sluice' } as const;
const UNREADABLE = {
  goal: null,
  answer: null,
  sources: [],
  trust: 'untrusted',
  validator: '',
  at: 0,
  released: null,
} as const;

function scopeOf(owner: string): MemoryScope {
  const [tenant, user, agent, share] = JSON.parse(owner) as (string | null)[];
  return { tenant: tenant ?? null, user: user ?? null, agent: agent ?? null, share: share ?? null };
}
