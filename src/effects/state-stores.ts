/**
 * The seven kinds of state that a run has, who may do what with each, and how long it lives. All of it is read from the
 * journal and the memory; nobody is handed more than the table allows, and what may not be written cannot be.
 */
import type { CompiledFlow } from '../ir/nodes.ts';
import type { Json } from '../expr/json.ts';
import type { Event } from '../ir/events.ts';
import { PerformError } from '../runtime/failures.ts';
import type { ReadRun } from '../runtime/journal/read.ts';
import { ScopedMemory } from './memory/scoped-memory.ts';
import type { MemoryStore } from './memory/scoped-memory.ts';

export type Actor = 'model' | 'system' | 'compliance';
type Right = 'read' | 'write' | 'append' | 'discard';

export interface Category {
  readonly tenure: 'step' | 'run' | 'archived' | 'long' | 'permanent';
  readonly may: { readonly [actor in Actor]: readonly Right[] };
}

export const CATEGORIES = {
  scratchpad: { tenure: 'step', may: { model: ['read', 'write'], system: ['read', 'discard'], compliance: [] } },
  task: { tenure: 'run', may: { model: ['read'], system: ['read', 'write'], compliance: ['read'] } },
  evidence: { tenure: 'run', may: { model: ['read'], system: ['read'], compliance: ['read'] } },
  observations: { tenure: 'archived', may: { model: ['read'], system: ['read', 'append'], compliance: ['read'] } },
  memory: { tenure: 'long', may: { model: ['read'], system: ['read', 'write'], compliance: ['read'] } },
  trace: { tenure: 'permanent', may: { model: [], system: ['read', 'append'], compliance: ['read'] } },
  audit: { tenure: 'permanent', may: { model: [], system: ['append'], compliance: ['read'] } },
} as const satisfies { readonly [name: string]: Category };
export type CategoryName = keyof typeof CATEGORIES;

export class StateViolation extends PerformError {
  constructor(actor: Actor, right: Right, category: CategoryName, why = 'the table does not allow it') {
    super({ class: 'policy', type: 'StateViolation', message: `the ${actor} may not ${right} ${category}: ${why}` });
  }
}

export function demandRight(actor: Actor, right: Right, category: CategoryName): void {
  const rights: readonly Right[] = CATEGORIES[category].may[actor];
  if (!rights.includes(right)) throw new StateViolation(actor, right, category);
}

export interface StateStores {
  read(actor: Actor, category: CategoryName): Promise<Json>;
  /** Long-term memory, and nothing else: what a run holds is changed by its journal alone. */
  remember(actor: Actor, key: string, value: Json): Promise<void>;
}

/** The stores of one run, as whoever looks at it may see them. */
export function openState({ program, state, events }: ReadRun, owner: string, store: MemoryStore): StateStores {
  const { flow } = program;
  const memory = new ScopedMemory(owner, store);
  const slots = (category: 'scratchpad' | 'task' | 'observations'): Json => {
    const root = state.threads.get('0')?.slots ?? {};
    const named = Object.entries(flow.stores ?? {}).filter(([, each]) => each === category);
    // Notes of a step are gone with it, and with the run.
    if (category === 'scratchpad' && state.outcome !== null) return {};
    return Object.fromEntries(named.map(([slot]) => [slot, root[slot] ?? null]));
  };
  return {
    read: async (actor, category) => {
      demandRight(actor, 'read', category);
      switch (category) {
        case 'scratchpad':
        case 'task':
        case 'observations':
          return slots(category);
        case 'evidence':
          return evidenceIn(flow, events);
        case 'memory':
          return Object.fromEntries(
            await Promise.all(
              (await memory.keys(owner)).map(async (key) => [key, (await memory.get(owner, key)) ?? null] as const),
            ),
          );
        case 'trace':
          return events as unknown as Json;
        case 'audit':
          return auditIn(events);
      }
    },
    remember: async (actor, key, value) => {
      demandRight(actor, 'write', 'memory');
      if (state.outcome === null) throw new StateViolation(actor, 'write', 'memory', 'the run has not ended');
      await memory.set(owner, key, value);
    },
  };
}

/** What was read, with where it is from, when, and under which permission. */
function evidenceIn(flow: CompiledFlow, events: readonly Event[]): Json {
  const asked = new Map<string, string>();
  const found: Json[] = [];
  for (const event of events) {
    if (event.type === 'effect.requested' && event.kind === 'tool' && flow.tools[event.name]?.effect === 'read')
      asked.set(event.key, event.name);
    if (event.type !== 'effect.settled' || !event.result.ok) continue;
    const tool = asked.get(event.key);
    if (tool !== undefined)
      found.push({
        source: tool,
        key: event.key,
        at: event.at,
        permission: flow.tools[tool]?.permission ?? tool,
        value: event.result.value,
      });
  }
  return found;
}

/** Who decided what, and how the run was bounded: what somebody is accountable for. */
function auditIn(events: readonly Event[]): Json {
  const asked = new Map<string, Json>();
  const found: Json[] = [];
  for (const event of events) {
    if (event.type === 'run.started')
      found.push({ at: event.at, event: 'started', flow: event.flow, origin: { ...event.origin } });
    if (event.type === 'effect.requested' && event.question !== undefined)
      asked.set(event.key, {
        about: event.question.about,
        payload: event.question.payload,
        askedBy: event.question.askedBy,
      });
    if (event.type === 'effect.settled' && asked.has(event.key))
      found.push({
        at: event.at,
        event: 'answered',
        question: asked.get(event.key) ?? null,
        answer: event.result.ok ? event.result.value : null,
      });
    if (event.type === 'meter.raised')
      found.push({ at: event.at, event: 'raised', raises: event.raises.map((each) => ({ ...each })) });
    if (event.type === 'run.halted') found.push({ at: event.at, event: 'halted', by: event.by, why: event.why });
    if (event.type === 'run.ended') found.push({ at: event.at, event: 'ended', code: event.code });
  }
  return found;
}
