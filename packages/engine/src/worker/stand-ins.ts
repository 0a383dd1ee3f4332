/** The people whom a script replaces: the people that it names, or as many approvers as must agree. */
import { allowedPeople, isUser } from '@sluice-internal/kernel/core';
import { personIn } from '@sluice-internal/kernel/ir';
import type { Answer, CompiledFlow, Pending, RunState } from '@sluice-internal/kernel/ir';
import type { ScriptedAnswer } from '../ports/ports.ts';

const SCRIPT = 'script';

export function standIns(
  { people = {} }: Pick<CompiledFlow, 'people'>,
  state: RunState,
  pending: Pending,
  { by, ...answer }: ScriptedAnswer,
): readonly Answer[] {
  const approvers = pending.question?.approvers;
  const named = by === undefined ? undefined : typeof by === 'string' ? [by] : by;
  const proof = { via: SCRIPT } as const;
  if (approvers === undefined) return [{ ...answer, by: named?.[0] ?? SCRIPT, proof }];
  const allowed = allowedPeople(pending);
  const free = allowed.filter((id) => !isUser(state, people, id));
  const needed = approvers.counted.includes(answer.choice) ? approvers.quorum : 1;
  // After a restart, the answers that count already are not given again.
  const voted = new Set(pending.votes?.map((vote) => vote.by));
  const given = named?.map((name) => personIn(allowed, name) ?? name) ?? free.slice(0, needed);
  return given.filter((id) => !voted.has(id)).map((id) => ({ ...answer, by: id, proof }));
}
