/** The open questions of a run, with everything that a person needs to decide: the packet, and who may answer. */
import { allowedPeople, askOf, inputOf, isUser } from '@sluice-internal/kernel/core';
import type { Program } from '@sluice-internal/kernel/core';
import { samePerson } from '@sluice-internal/kernel/ir';
import type { CompiledFlow, Event, Pending, Question, RunState } from '@sluice-internal/kernel/ir';
import type { Waiting } from '../ports/types.ts';
import { nameAt } from './authored.ts';
import { askingIn, packetOf } from './packet.ts';
import { madeIn } from './receipts.ts';
import type { Made } from './receipts.ts';

/** A run with its events. */
interface ReadRun {
  readonly program: Program;
  readonly state: RunState;
  readonly events: readonly Event[];
}

export function waitingOf({ program, state, events }: ReadRun, made?: Made): Waiting[] {
  const open = openIn(state);
  if (open.length === 0) return [];
  const asking = askingIn(program, state, events, made ?? madeIn(program, events));
  return open.map(({ pending, question }) => {
    const asked = askedOf(program, state, pending, question);
    const { message: text, data, node, expiresAt: expires } = asked;
    return { ...asked, packet: packetOf(asking, { pending, question, node, text, data, expires }) };
  });
}

/** The same without the packet, which needs the events of the run. */
export function questionsOf(program: Program, state: RunState): Omit<Waiting, 'packet'>[] {
  return openIn(state).map(({ pending, question }) => askedOf(program, state, pending, question));
}

function openIn(state: RunState): readonly { readonly pending: Pending; readonly question: Question }[] {
  return [...state.pending.values()].flatMap((pending) =>
    pending.question === null || pending.observed !== null ? [] : [{ pending, question: pending.question }],
  );
}

function askedOf(program: Program, state: RunState, pending: Pending, question: Question): Omit<Waiting, 'packet'> {
  const { message = null, ...data } = inputOf(program, state, pending);
  const { votes = [], deadline } = pending;
  return {
    id: question.id,
    run: state.run,
    store: state.origin.pins?.store ?? null,
    flow: program.flow.id,
    tenant: state.origin.tenant ?? null,
    node: nameAt(program.flow, pending.node),
    kind: question.purpose ?? 'flow_node',
    message: typeof message === 'string' ? message : JSON.stringify(message),
    choices: question.choices,
    needs: needsOf(program, state, pending),
    code: question.code,
    askedBy: question.askedBy,
    askedAt: new Date(pending.notBefore).toISOString(),
    payload: question.payload,
    data,
    approvers: approversOf(program.flow, state, pending),
    quorum: question.approvers?.quorum ?? 1,
    agreed: votes.map(({ by, choice, at }) => ({ by, choice, at: new Date(at).toISOString() })),
    expiresAt: deadline === null ? null : new Date(deadline).toISOString(),
    onExpiry: question.onExpiry,
  };
}

function needsOf(program: Program, state: RunState, pending: Pending): Waiting['needs'] {
  const { choices = [] } = askOf(program, state, pending) ?? {};
  return Object.fromEntries(choices.flatMap(({ name, needs }) => (needs === undefined ? [] : [[name, needs]])));
}

function approversOf({ people = {} }: CompiledFlow, state: RunState, pending: Pending): Waiting['approvers'] {
  const approvers = pending.question?.approvers;
  if (approvers === undefined) return null;
  const { votes = [], escalateAt } = pending;
  const most = votes.reduce((count, { choice, data }) => Math.max(count, agreed(pending, choice, data)), 0);
  const allowed = allowedPeople(pending).filter(
    (id) => !isUser(state, people, id) && !votes.some(({ by }) => samePerson(by, id)),
  );
  return {
    people: allowed,
    signing: allowed.filter((id) => people[id]?.key !== undefined),
    roles: approvers.roles ?? [],
    quorum: approvers.quorum,
    answers: votes.map(({ by, choice, via, at }) => ({ by, choice, via, at: new Date(at).toISOString() })),
    missing: approvers.quorum - most,
    escalation:
      escalateAt === undefined
        ? null
        : { at: new Date(escalateAt).toISOString(), people: approvers.escalation?.people ?? [] },
  };
}

function agreed({ votes = [] }: Pending, choice: string, data: string): number {
  return votes.filter((vote) => vote.choice === choice && vote.data === data).length;
}
