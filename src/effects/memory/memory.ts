/**
 * Long-term memory. `memory.write` runs after the answer and keeps it only if successful observations support it.
 * `memory.read` returns the latest entries of the same tenant, user and agent that have not expired.
 */
import type { Json } from '../../expr/json.ts';
import type { Origin, Settled } from '../../ir/events.ts';
import { PerformError } from '../../runtime/failures.ts';
import type { Call, Performer } from '../../runtime/ports.ts';
import type { MemoryStore } from './store.ts';

const MEMORY_WRITE = 'memory.write';
const MEMORY_READ = 'memory.read';

/** A stored entry: the answer and the observations that support it. */
export interface MemoryEntry {
  readonly goal: Json;
  readonly answer: Json;
  readonly sources: readonly { readonly id: string; readonly tool: string }[];
  /** `trusted` only if every source is a trusted tool. */
  readonly trust: 'trusted' | 'untrusted';
  readonly run: string;
  readonly validator: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly expiresAt: number;
}

const RECALLED_MAX = 5;
const LIFETIME_MS = 90 * 24 * 60 * 60 * 1000;

export function isMemoryCheck({ kind, name }: Call['command']): boolean {
  return kind === 'check' && (name === MEMORY_WRITE || name === MEMORY_READ);
}

export function memoryPerformer(store: MemoryStore): Performer {
  return {
    perform: async (call): Promise<Settled> => {
      const { command, clock } = call;
      const { owner: agent } = command.input;
      if (typeof agent !== 'string')
        throw new PerformError({ class: 'fatal', type: 'MemoryError', message: 'The memory check names no owner.' });
      const owner = memoryOwner(command.origin ?? {}, agent);
      // A file or network store takes real time; a virtual clock must not advance meanwhile.
      const done = clock.busy?.();
      try {
        if (command.name === MEMORY_READ)
          return { ok: true, value: { entries: await recall(store, owner, clock.now()) } };
        return { ok: true, value: await write(store, owner, call) };
      } finally {
        done?.();
      }
    },
  };
}

/** The owner of an agent's entries: tenant, user and agent. */
export function memoryOwner({ tenant, user }: Origin, agent: string): string {
  return JSON.stringify([tenant ?? null, user ?? null, agent]);
}

async function write(store: MemoryStore, owner: string, { command, flow, clock }: Call): Promise<Json> {
  const { input, run } = command;
  const sources = supportOf(input);
  if (typeof sources === 'string') return { ok: false, reason: sources };
  const entry: MemoryEntry = {
    goal: input['goal'] ?? null,
    answer: input['answer'] ?? null,
    sources,
    trust: sources.every(({ tool }) => flow.tools[tool]?.trust === 'trusted') ? 'trusted' : 'untrusted',
    run,
    validator: MEMORY_WRITE,
    at: clock.now(),
    expiresAt: clock.now() + LIFETIME_MS,
  };
  // The run id is the key, so a repeated write after a crash changes nothing.
  await store.set(owner, run, entry as unknown as Json);
  return { ok: true, key: run };
}

interface Observation {
  readonly id: string;
  readonly tool: string;
  readonly ok: boolean;
}

/** The observations that support the answer, or the reason why it must not be stored. */
function supportOf({ answer, citations, observations }: Call['command']['input']): MemoryEntry['sources'] | string {
  if (answer === undefined || answer === null || answer === '') return 'there is no answer';
  const cited = Array.isArray(citations) ? citations : [];
  if (cited.length === 0) return 'no observation supports the answer';
  const all = Array.isArray(observations) ? (observations as unknown as readonly Observation[]) : [];
  const known = new Map(all.map((each) => [each.id, each]));
  const sources: { id: string; tool: string }[] = [];
  for (const id of cited) {
    const observation = known.get(String(id));
    if (observation === undefined) return `observation ${String(id)} does not exist`;
    if (!observation.ok) return `observation ${String(id)} is a failure`;
    sources.push({ id: observation.id, tool: observation.tool });
  }
  return sources;
}

async function recall(store: MemoryStore, owner: string, now: number): Promise<Json[]> {
  const entries: MemoryEntry[] = [];
  for (const key of await store.keys(owner)) {
    const entry = (await store.get(owner, key)) as unknown as MemoryEntry | undefined;
    if (entry !== undefined && entry.expiresAt > now) entries.push(entry);
  }
  const latest = entries.toSorted((a, b) => a.at - b.at || a.run.localeCompare(b.run)).slice(-RECALLED_MAX);
  return latest.map(({ goal, answer, run, trust }) => ({ goal, answer, run, trust }));
}
