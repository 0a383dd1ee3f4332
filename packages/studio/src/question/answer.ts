/** Answers of a person to a question. */
import { SluiceError } from '@sluice-internal/client';
import { useMutation, type UseMutationResult } from '@tanstack/react-query';
import { post, queries } from '../data/server.ts';
import type { OpenQuestion } from '../data/types.ts';

export interface Given {
  readonly choice: string;
  readonly edit?: unknown;
  readonly text?: string;
}

export interface Answered {
  readonly state: 'answered' | 'open';
  readonly missing: number;
}

/** The answer names the payload that was read, so it cannot be meant for another version of the question. */
export function useAnswer({ id, payload }: OpenQuestion): UseMutationResult<Answered, Error, Given> {
  return useMutation({
    mutationFn: (given: Given) => post<Answered>(`/questions/${encodeURIComponent(id)}/answer`, { ...given, payload }),
    onSettled: () =>
      Promise.all([['questions'], ['question'], ['report']].map((queryKey) => queries.invalidateQueries({ queryKey }))),
  });
}

/** Who was first, if somebody else has answered. */
export function wasFirst(error: unknown): string | null {
  if (!(error instanceof SluiceError) || error.code !== 'approval-closed') return null;
  const { by, choice } = error.details;
  return typeof by === 'string' ? `${by} was first, and answered ${String(choice)}.` : 'Somebody else was first.';
}

/** A yes to this cannot be taken back, or is about money. */
export function isGrave({ packet }: OpenQuestion): boolean {
  return packet.effects.some(({ effect, reversible }) => effect === 'financial' || !reversible);
}

/** What an edit begins with: the arguments of the call that is asked about. */
export function proposed({ packet: { effects }, data }: OpenQuestion): unknown {
  const call = effects.find(({ args }) => args !== null);
  return call?.args ?? data['proposed'] ?? data['args'] ?? {};
}
