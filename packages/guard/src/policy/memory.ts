/**
 * Long-term memory of agents. `memory.read` gives a run the entries of the same tenant, user and agent; `memory.write` takes
 * the answer through the write gate. Both are recorded in the journal, so that a replay reads no store.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import type { Settled } from '@sluice-internal/kernel/ir';
import { MemoryViolation, entryHash, entryId, fail, textOf } from '@sluice-internal/engine/ports';
import type { Call, Embedder, MemoryEntry, MemoryScope, MemoryStore, Performer } from '@sluice-internal/engine/ports';
import { judgeWrite, type MemoryRules } from './memory-gate.ts';

const MEMORY_WRITE = 'memory.write';
const MEMORY_READ = 'memory.read';

const RECALLED_MAX = 5;
/** A repeated run writes equal entries. This many times the limit is read, so that they can be left out. */
const EQUAL_MAX = 4;
/** Quarantined entries whose values count as untrusted in the run. */
const WITHHELD_MAX = 10;
const LIFETIME_MS = 90 * 24 * 60 * 60 * 1000;

export function isMemoryCheck({ kind, name }: Call['command']): boolean {
  return kind === 'check' && (name === MEMORY_WRITE || name === MEMORY_READ);
}

export function memoryPerformer(store: MemoryStore, embedder?: Embedder): Performer {
  return {
    perform: async (call): Promise<Settled> => {
      const { command, clock } = call;
      const owner = scopeOf(command);
      // A file or network store takes real time; a virtual clock must not advance meanwhile.
      const done = clock.busy?.();
      try {
        const memory = { store, embedder, owner };
        const value = command.name === MEMORY_READ ? await read(memory, call) : await write(memory, call);
        return { ok: true, value };
      } catch (error) {
        throw error instanceof MemoryViolation ? fail('policy', 'MemoryViolation', error.message) : error;
      } finally {
        done?.();
      }
    },
  };
}

interface Memory {
  readonly store: MemoryStore;
  readonly embedder: Embedder | undefined;
  readonly owner: MemoryScope;
}

/** Tenant and user come from the start of the run, agent and share from the compiled graph. A model chooses none of them. */
function scopeOf({ input, origin = {} }: Call['command']): MemoryScope {
  const { owner: agent, share, users } = input;
  if (typeof agent !== 'string') throw fail('fatal', 'MemoryError', 'The memory check names no owner.');
  const tenant = origin.tenant ?? null;
  const user = origin.user ?? null;
  if (typeof share !== 'string') return { tenant, user, agent, share: null };
  return { tenant, user: users === 'all' ? null : user, agent: null, share };
}

async function read({ store, embedder, owner }: Memory, { command, clock, signal }: Call): Promise<Json> {
  const { query = null, limit } = command.input;
  const text = textOf(query);
  const { vector, problem } = await embedded(embedder, text, signal);
  const most = typeof limit === 'number' ? limit : RECALLED_MAX;
  const found = await store.find(owner, { text, vector, limit: most * EQUAL_MAX, now: clock.now() });
  const withheld = await store.quarantined(owner, WITHHELD_MAX);
  return {
    entries: distinct(found)
      .slice(0, most)
      .toSorted((a, b) => a.at - b.at || a.run.localeCompare(b.run))
      .map(({ id, goal, answer, run, trust, at }) => ({ id, goal, answer, run, trust, at })),
    ...(withheld.length === 0 ? {} : { withheld: withheld.map(({ id, goal, answer }) => ({ id, goal, answer })) }),
    ...(problem === null ? {} : { problem }),
  };
}

/** The newest of entries with the same content. */
function distinct(found: readonly MemoryEntry[]): readonly MemoryEntry[] {
  const newest = new Map<string, MemoryEntry>();
  for (const entry of found) {
    const text = JSON.stringify([entry.goal, entry.answer]);
    if (entry.at > (newest.get(text)?.at ?? -Infinity)) newest.set(text, entry);
  }
  return found.filter((entry) => newest.get(JSON.stringify([entry.goal, entry.answer])) === entry);
}

async function write({ store, embedder, owner }: Memory, call: Call): Promise<Json> {
  const { run, key } = call.command;
  const now = call.clock.now();
  const rules = rulesOf(call.command.input['rules'] ?? null);
  const judged = judgeWrite(call, rules, now);
  if (judged.state === 'refused') return { ok: false, state: 'refused', reason: judged.reason };
  const { supported, ...fields } = judged;
  const { vector } = await embedded(embedder, `${textOf(fields.goal)}\n${textOf(fields.answer)}`, call.signal);
  // The id follows from the run and the effect, so a repeated write after a crash changes nothing.
  const entry: MemoryEntry = {
    id: entryId(owner, run, key),
    owner,
    ...fields,
    run,
    validator: rules.validator,
    at: now,
    released: null,
  };
  const stored = await store.add(owner, entry, vector);
  const { id, state, reason, sources, trust, expiresAt } = stored;
  return {
    ok: state === 'active',
    state,
    entry: id,
    hash: entryHash(stored),
    supported,
    trust,
    sources: sources.map(({ id: source, tool }) => ({ id: source, tool })),
    validator: stored.validator,
    expiresAt,
    ...(reason === null ? {} : { reason }),
  };
}

function rulesOf(given: Json): MemoryRules {
  const {
    lifetimeMs = LIFETIME_MS,
    quarantine = 'untrusted',
    validator = MEMORY_WRITE,
  } = (given ?? {}) as Partial<MemoryRules>;
  return { lifetimeMs, quarantine, validator };
}

/** Searches by words if there is no embedder, or if it fails. */
async function embedded(
  embedder: Embedder | undefined,
  text: string,
  signal: AbortSignal,
): Promise<{ readonly vector: readonly number[] | undefined; readonly problem: string | null }> {
  if (embedder === undefined || text.trim() === '') return { vector: undefined, problem: null };
  try {
    const [vector] = await embedder.embed([text], signal);
    return { vector, problem: null };
  } catch (error) {
    return { vector: undefined, problem: `the embedder failed: ${(error as Error).message}` };
  }
}
