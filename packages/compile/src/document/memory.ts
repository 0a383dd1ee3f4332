/** The long-term memory of an agent, as its author declares it: `memory` of an agent, of a loop, or of a member of a team. */
import type { Expr } from '@sluice-internal/kernel/ir';
import type { Report } from '../source/diagnostics.ts';
import { reportConditions } from '../expressions/expression.ts';
import { durationMs } from './shape/fields.ts';
import type { ReadDocument } from './document.ts';
import { ANSWER_NAMES, type Agent, type RawMemory } from './schema/agents.ts';
import type { Boundary } from './schema/bounds.ts';

export interface MemoryDef {
  /** Entries that a run reads at most. */
  readonly recall: number;
  readonly lifetimeMs: number;
  readonly quarantine: 'untrusted' | 'all' | 'off';
  /** Conditions over `ANSWER_NAMES`. */
  readonly validate: readonly { readonly when: Expr; readonly reason: string }[];
  readonly share: { readonly name: string; readonly users: 'own' | 'all' } | null;
}

const LIFETIME = '90d';
const RECALL = 5;

/** Null if the agent has no memory. */
export function memoryOf(
  memory: boolean | RawMemory | undefined,
  ...profiles: readonly (string | undefined)[]
): MemoryDef | null {
  if (memory === undefined || memory === false) return null;
  const { recall = RECALL, expires = LIFETIME, quarantine, validate = [], share } = memory === true ? {} : memory;
  return {
    recall,
    lifetimeMs: durationMs(expires),
    // Under the research profile, an agent writes memory only after a person has approved it.
    quarantine: quarantine ?? (profiles.includes('research') ? 'all' : 'untrusted'),
    validate,
    share: share === undefined ? null : { users: 'own', ...(typeof share === 'string' ? { name: share } : share) },
  };
}

/** The memory of an agent of the document, under its own profile and that of the document. */
export function memoryOfAgent({ memory, boundary }: Agent, common: Boundary | undefined): MemoryDef | undefined {
  return memoryOf(memory, boundary?.profile, common?.profile) ?? undefined;
}

/** Reports conditions of agents that cannot be read. */
export function checkMemory({ sections }: ReadDocument, report: Report): void {
  for (const [index, { memory }] of (sections.value.agents ?? []).entries())
    if (typeof memory === 'object') {
      const located = (at: number) => sections.located('agents', index, 'memory', 'validate', at, 'when');
      reportConditions(memory.validate, located, ANSWER_NAMES, report);
    }
}
