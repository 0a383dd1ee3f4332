/**
 * The port of long-term memory. Every operation names its caller, and the store compares it with the owner of the entry. An
 * agent gets entries of its own that are active and have not expired; an operator manages the entries of a tenant.
 */
import { hash } from 'node:crypto';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Instant, RunId } from '@sluice-internal/kernel/ir';
import { SluiceError } from './errors.ts';

/**
 * The owner of entries: an agent, for one tenant and one user, or a shared memory of a tenant.
 * @example
 * const owner: MemoryScope = { tenant: 'acme', user: 'anna', agent: 'clerk', share: null };
 */
export interface MemoryScope {
  readonly tenant: string | null;
  /** Null for runs without a user, and for a memory that all users of a tenant share. */
  readonly user: string | null;
  /** Null for a shared memory. */
  readonly agent: string | null;
  /** The name of a shared memory. */
  readonly share: string | null;
}

/**
 * A person who manages memory. Without `tenant`: all tenants.
 * @example
 * const operator: MemoryOperator = { operator: 'anna', tenant: 'acme' };
 */
export interface MemoryOperator {
  readonly operator: string;
  readonly tenant?: string;
}

/** @example const caller: MemoryCaller = { operator: 'anna' }; */
export type MemoryCaller = MemoryScope | MemoryOperator;

/**
 * An observation that supports an entry.
 * @example
 * const source: MemorySource = { id: 'act.1.1.0', tool: 'orders.find' };
 */
export interface MemorySource {
  readonly id: string;
  readonly tool: string;
}

/**
 * A remembered answer with its sources.
 * @example
 * const shown = ({ goal, answer, run }: MemoryEntry) => `${run}: ${String(goal)} ${String(answer)}`;
 */
export interface MemoryEntry {
  readonly id: string;
  readonly owner: MemoryScope;
  readonly goal: Json;
  readonly answer: Json;
  readonly sources: readonly MemorySource[];
  /** `trusted` only if the run read no text from outside. */
  readonly trust: 'trusted' | 'untrusted';
  readonly run: RunId;
  /** The gate or the agent that accepted the answer. */
  readonly validator: string;
  readonly at: Instant;
  readonly expiresAt: Instant;
  readonly state: MemoryState;
  /** The reason of the quarantine; null for an entry that was active from the start. */
  readonly reason: string | null;
  readonly released: { readonly by: string; readonly at: Instant } | null;
}

/** `quarantined`: an operator must release the entry before an agent gets it. */
type MemoryState = 'active' | 'quarantined';

/**
 * A search in memory. Entries that fit `text` or `vector` come first, then the newest.
 * @example
 * const query: MemoryQuery = { text: 'orders of Ann', limit: 5, now: Date.now() };
 */
export interface MemoryQuery {
  readonly text?: string;
  /** The embedding of the query; entries that were stored with one are compared by cosine. */
  readonly vector?: readonly number[] | undefined;
  /** Leaves out entries that do not fit. */
  readonly only?: boolean;
  readonly limit?: number;
  readonly now: Instant;
}

/**
 * Turns texts into vectors, for a search by meaning.
 * @example
 * const embedder: Embedder = { embed: async (texts) => texts.map((text) => [text.length]) };
 */
export interface Embedder {
  embed(texts: readonly string[], signal?: AbortSignal): Promise<readonly (readonly number[])[]>;
}

/**
 * Stores what agents remember between runs.
 * @example
 * const memory: MemoryStore = createMemoryStore();
 * const own = createEngine({ toolOptions: { memory } });
 */
export interface MemoryStore {
  /** Adds an entry once: a second entry with the same id changes nothing. Returns the stored one. */
  add(caller: MemoryCaller, entry: MemoryEntry, vector?: readonly number[]): Promise<MemoryEntry>;
  /** Null if there is no such entry. An agent gets no entry that is quarantined or expired. */
  get(caller: MemoryCaller, id: string, now: Instant): Promise<MemoryEntry | null>;
  /** Active entries of an agent. For an operator: all entries of the tenant, also quarantined and expired ones. */
  find(caller: MemoryCaller, query: MemoryQuery): Promise<readonly MemoryEntry[]>;
  /** The newest quarantined entries. Their text must not enter a prompt; their values are not trusted. */
  quarantined(caller: MemoryCaller, limit: number): Promise<readonly MemoryEntry[]>;
  /** Makes a quarantined entry active. Only an operator can. Null if there is no such entry. */
  release(caller: MemoryOperator, id: string, at: Instant): Promise<MemoryEntry | null>;
  /** Deletes an entry. Returns false if there is no entry with this id. */
  forget(caller: MemoryCaller, id: string): Promise<boolean>;
  /** Deletes all entries that came from these runs, and returns how many there were. */
  eraseRuns(runs: readonly RunId[]): Promise<number>;
  /** Deletes entries that have expired, and returns how many there were. */
  eraseExpired(now: Instant): Promise<number>;
  close?(): Promise<void>;
}

/**
 * A caller asked for an entry of another owner. The error contains nothing of the entry.
 * @example
 * const isDenied = (error: unknown) => error instanceof MemoryViolation;
 */
export class MemoryViolation extends SluiceError {
  readonly caller: MemoryCaller;
  readonly operation: string;
  readonly entry: string;

  constructor(caller: MemoryCaller, operation: string, entry: string) {
    super('memory-violation', `${callerName(caller)} may not ${operation} the memory entry \`${entry}\``);
    this.name = 'MemoryViolation';
    this.caller = caller;
    this.operation = operation;
    this.entry = entry;
  }
}

/** Called before a violation is thrown. */
export type OnViolation = (violation: MemoryViolation) => void;

export function isOperator(caller: MemoryCaller): caller is MemoryOperator {
  return 'operator' in caller;
}

/** The one rule of access. */
export function mayAccess(caller: MemoryCaller, owner: MemoryScope): boolean {
  if (isOperator(caller)) return caller.tenant === undefined || caller.tenant === owner.tenant;
  return (
    caller.tenant === owner.tenant &&
    caller.user === owner.user &&
    caller.agent === owner.agent &&
    caller.share === owner.share
  );
}

/** An agent gets active entries that have not expired; an operator gets all. */
export function isVisible(caller: MemoryCaller, { state, expiresAt }: MemoryEntry, now: Instant): boolean {
  return isOperator(caller) || (state === 'active' && expiresAt > now);
}

/** One text for each owner; no two owners have the same. */
export function ownerKey({ tenant, user, agent, share }: MemoryScope): string {
  return JSON.stringify([tenant, user, agent, share]);
}

/** The id of the entry that an effect of a run writes. The same effect after a crash has the same id. */
export function entryId(owner: MemoryScope, run: RunId, key: string): string {
  return `m_${hash('sha256', JSON.stringify([ownerKey(owner), run, key]), 'hex').slice(0, 24)}`;
}

/** Covers all of an entry that never changes. The journal records it, so that `audit verify` finds a changed entry. */
export function entryHash(entry: MemoryEntry): string {
  const { id, owner, goal, answer, sources, trust, run, validator, at, expiresAt, reason } = entry;
  const parts = sources.map(({ id: source, tool }) => [source, tool]);
  const fields = [id, ownerKey(owner), goal, answer, parts, trust, run, validator, at, expiresAt, reason];
  return `sha256:${hash('sha256', JSON.stringify(fields), 'hex')}`;
}

/** The words of an entry or of a query, for a search in full text. */
export function wordsOf(value: Json): readonly string[] {
  return [
    ...new Set(
      textOf(value)
        .normalize('NFKC')
        .toLowerCase()
        .match(/[\p{L}\p{N}]+/gu) ?? [],
    ),
  ];
}

/** The texts of a value, without the names of fields. */
export function textOf(value: Json): string {
  if (value === null || typeof value !== 'object') return value === null ? '' : String(value);
  return (Array.isArray(value) ? value : Object.values(value)).map(textOf).join('\n');
}

/** From -1 to 1; -1 for vectors of different length. */
export function similarity(a: readonly number[], b: readonly number[]): number {
  if (a.length !== b.length || a.length === 0) return -1;
  let [product, squareA, squareB] = [0, 0, 0];
  for (const [index, value] of a.entries()) {
    const other = b[index] as number;
    product += value * other;
    squareA += value * value;
    squareB += other * other;
  }
  const size = Math.sqrt(squareA) * Math.sqrt(squareB);
  return size === 0 ? -1 : product / size;
}

function callerName(caller: MemoryCaller): string {
  if (isOperator(caller))
    return `operator \`${caller.operator}\`${caller.tenant === undefined ? '' : ` of tenant \`${caller.tenant}\``}`;
  return caller.agent === null ? `shared memory \`${caller.share ?? ''}\`` : `agent \`${caller.agent}\``;
}
