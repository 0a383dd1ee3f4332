/**
 * Persistent memory behind its gate. Nobody writes it while a run goes on: when the answer stands, the gate looks whether
 * observations that went well support it, and only then keeps it, with its sources. An agent is read back its own memory only.
 */
import type { Json } from '../../expr/json.ts';
import type { Settled } from '../../ir/events.ts';
import { PerformError } from '../../runtime/failures.ts';
import type { Call, Performer } from '../../runtime/ports.ts';
import { ScopedMemory } from './scoped-memory.ts';
import type { MemoryStore } from './scoped-memory.ts';

export const MEMORY_WRITE = 'memory.write';
export const MEMORY_READ = 'memory.read';

/** What is remembered, and what it rests on. */
export interface Remembered {
  readonly goal: Json;
  readonly answer: Json;
  readonly sources: readonly { readonly id: string; readonly tool: string }[];
  readonly run: string;
  readonly validator: string;
}

const RECALLED_MAX = 5;

export function isMemoryCheck({ kind, name }: Call['command']): boolean {
  return kind === 'check' && (name === MEMORY_WRITE || name === MEMORY_READ);
}

export function memoryPerformer(store: MemoryStore): Performer {
  return {
    perform: async ({ command, clock }): Promise<Settled> => {
      const { owner } = command.input;
      if (typeof owner !== 'string')
        throw new PerformError({ class: 'fatal', type: 'MemoryError', message: 'a memory has an owner' });
      const memory = new ScopedMemory(owner, store);
      // A store may be files or another machine: it takes real time, during which a script's clock stands still.
      const done = clock.busy?.();
      try {
        if (command.name === MEMORY_READ) return { ok: true, value: { entries: await recall(memory, owner) } };
        return { ok: true, value: await keep(memory, owner, command) };
      } finally {
        done?.();
      }
    },
  };
}

async function keep(memory: ScopedMemory, owner: string, { input, run }: Call['command']): Promise<Json> {
  const judged = judge(input);
  if (typeof judged === 'string') return { ok: false, reason: judged };
  const entry: Remembered = {
    goal: input['goal'] ?? null,
    answer: input['answer'] ?? null,
    sources: judged,
    run,
    validator: MEMORY_WRITE,
  };
  // Named after the run, so that doing it again after a crash changes nothing.
  await memory.set(owner, run, entry as unknown as Json);
  return { ok: true, key: run };
}

/** What supports the answer, or why it is not to be kept. */
function judge(input: Call['command']['input']): Remembered['sources'] | string {
  const { answer, citations, observations } = input;
  if (answer === undefined || answer === null || answer === '') return 'there is no answer';
  const cited = Array.isArray(citations) ? citations : [];
  if (cited.length === 0) return 'nothing that was observed supports it';
  const known = new Map(
    (Array.isArray(observations) ? (observations as unknown as readonly Observation[]) : []).map((each) => [
      each.id,
      each,
    ]),
  );
  const sources: { id: string; tool: string }[] = [];
  for (const id of cited) {
    const observation = known.get(String(id));
    if (observation === undefined) return `${String(id)} was never observed`;
    if (!observation.ok) return `${String(id)} is no success`;
    sources.push({ id: observation.id, tool: observation.tool });
  }
  return sources;
}

interface Observation {
  readonly id: string;
  readonly tool: string;
  readonly ok: boolean;
}

async function recall(memory: ScopedMemory, owner: string): Promise<Json[]> {
  const keys = (await memory.keys(owner)).toSorted().slice(-RECALLED_MAX);
  const entries: Json[] = [];
  for (const key of keys) {
    const entry = (await memory.get(owner, key)) as unknown as Remembered | undefined;
    if (entry !== undefined) entries.push({ goal: entry.goal, answer: entry.answer, run: entry.run });
  }
  return entries;
}
