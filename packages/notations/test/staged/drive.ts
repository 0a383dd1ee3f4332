/** Compiles a staged document, runs it under a script, and answers its questions. */
import { expect } from 'vitest';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import type { Json } from '@sluice-internal/kernel/expr';
import type { ChainedEvent } from '@sluice-internal/engine/ports';
import type { Script } from '@sluice-internal/testing';
import type { Report } from '@sluice-internal/library';
import { playOn } from '../../../../test/support/harness.ts';

export const AGENTS = ['planner', 'worker', 'editor', 'critic', 'writer', 'ann', 'bob', 'cat'].map((id) => ({
  id,
  instructions: `You are ${id}.`,
}));

export const PLAN = '{"tasks": [{"id": "a", "brief": "Find A."}, {"id": "b", "brief": "Find B."}]}';
export const ONE = '{"tasks": [{"id": "a", "brief": "Find A."}]}';
export const YES = '{"ok": true, "confidence": 0.9}';
export const NO = '{"ok": false, "confidence": 0.9, "problem": "no sources"}';

/** A supervisor with all five agents. */
export const SUPERVISOR = {
  id: 'demo',
  plan: { agent: 'planner' },
  workers: { agent: 'worker' },
  aggregate: { agent: 'editor' },
  validate: { agent: 'critic' },
  finalize: { agent: 'writer' },
};
export const GOOD: NonNullable<Script['agents']> = {
  planner: [PLAN],
  worker: ['A is 1.', 'B is 2.'],
  editor: ['A is 1, B is 2.'],
  critic: [YES],
  writer: ['Done: 1 and 2.'],
};

export interface Answered {
  readonly choice: string;
  readonly edit?: Json;
  readonly text?: string;
}

export interface Played {
  readonly report: Report;
  readonly events: readonly ChainedEvent[];
}

export async function play(
  document: object,
  script: Script,
  answers: readonly Answered[] = [],
  input: Json = 'Compare A and B.',
): Promise<Played> {
  const { flow, diagnostics } = compile({ agents: AGENTS, ...document });
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  const engine = createEngine({ journal: openMemory(), script });
  return playOn(engine, flow as NonNullable<typeof flow>, { input, seed: 1, answers });
}

/** Runs stages of the supervisor with changes, under the good script with changes. */
export async function supervise(
  changes: object,
  agents: NonNullable<Script['agents']> = {},
  answers: readonly Answered[] = [],
): Promise<Report> {
  const { report } = await play({ staged: { ...SUPERVISOR, ...changes } }, { agents: { ...GOOD, ...agents } }, answers);
  return report;
}

export function actions({ decisions }: Report): readonly string[] {
  return decisions.map(({ failure, action }) => `${failure}: ${action}`);
}
