/** The open questions of a run, with everything that a person needs to decide: the packet, and who may answer. */
import { allowedPeople, askOf, hasPath, inputOf, isUser, readPath } from '@sluice-internal/kernel/core';
import type { Program } from '@sluice-internal/kernel/core';
import type { Json } from '@sluice-internal/kernel/expr';
import { samePerson } from '@sluice-internal/kernel/ir';
import type { CompiledFlow, NodeId, Pending, Question, RunState, ToolDef } from '@sluice-internal/kernel/ir';
import type { Packet, Waiting } from '../ports/types.ts';
import { nameAt } from './authored.ts';

export function waitingOf(program: Program, state: RunState): Waiting[] {
  const waiting: Waiting[] = [];
  for (const pending of state.pending.values()) {
    const { question, deadline, observed } = pending;
    if (question !== null && observed === null)
      waiting.push({ ...askedOf(program, state, pending, question), ...expiryOf(question, deadline) });
  }
  return waiting;
}

function askedOf(
  program: Program,
  state: RunState,
  pending: Pending,
  question: Question,
): Omit<Waiting, 'expiresAt' | 'onExpiry'> {
  const { message = null, ...payload } = inputOf(program, state, pending);
  const text = typeof message === 'string' ? message : JSON.stringify(message);
  return {
    id: question.id,
    run: state.run,
    store: state.origin.pins?.store ?? null,
    node: nameAt(program.flow, pending.node),
    kind: question.purpose ?? 'flow_node',
    message: text,
    choices: question.choices,
    needs: needsOf(program, state, pending),
    code: question.code,
    askedBy: question.askedBy,
    askedAt: new Date(pending.notBefore).toISOString(),
    payloadHash: question.payload,
    payload,
    packet: packetOf(program.flow, state, pending, { text, payload }),
    approvers: approversOf(program.flow, state, pending),
  };
}

function needsOf(program: Program, state: RunState, pending: Pending): Waiting['needs'] {
  const { choices = [] } = askOf(program, state, pending) ?? {};
  return Object.fromEntries(choices.flatMap(({ name, needs }) => (needs === undefined ? [] : [[name, needs]])));
}

function expiryOf({ onExpiry }: Question, deadline: number | null): Pick<Waiting, 'expiresAt' | 'onExpiry'> {
  return { expiresAt: deadline === null ? null : new Date(deadline).toISOString(), onExpiry };
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

interface Shown {
  readonly text: string;
  readonly payload: { readonly [field: string]: Json };
}

/** A question about a call has these facts in its payload. For any other, they follow from the graph. */
function packetOf(flow: CompiledFlow, state: RunState, pending: Pending, { text, payload }: Shown): Packet {
  const { tool, args = null, touches, rollback = null } = payload;
  const evidence = payload['observations'] ?? payload['reply'] ?? payload['result'] ?? readBy(flow, state, pending);
  if (typeof tool === 'string')
    return { action: `call ${tool}`, parameters: args, blastRadius: touches ?? null, rollback, evidence };
  const tools = toolsAfter(flow, pending.node);
  const undo = tools.flatMap(({ def }) => def.compensate ?? []);
  return {
    action: text,
    parameters: payload['plan'] ?? null,
    blastRadius: tools.map(({ name, def }) => ({
      tool: name,
      effect: def.effect,
      reversible: def.compensate !== null,
    })),
    rollback: undo.length === 0 ? null : undo.join(', '),
    evidence,
  };
}

/** The values that the question was made from. */
function readBy({ nodes }: CompiledFlow, state: RunState, { node, thread }: Pending): Json {
  const slots = state.threads.get(thread)?.slots ?? {};
  const read = (nodes[node]?.expects ?? []).filter((path) => hasPath(slots, path));
  return read.length === 0 ? null : Object.fromEntries(read.map((path) => [path.join('.'), readPath(slots, path)]));
}

/** The tools that an answer can lead to without another question or model call in between. */
function toolsAfter(flow: CompiledFlow, from: NodeId): readonly { readonly name: string; readonly def: ToolDef }[] {
  const found = new Map<string, ToolDef>();
  const seen = new Set<NodeId>();
  const visit = (id: NodeId): void => {
    const node = flow.nodes[id];
    if (node === undefined || seen.has(id)) return;
    seen.add(id);
    if (node.op === 'pick') for (const to of [...node.cases.map((each) => each.to), node.otherwise]) visit(to);
    else if (node.op === 'let') visit(node.next);
    else if (node.op === 'do' && (id === from || node.effect.kind === 'check')) visit(node.next);
    else if (node.op === 'do' && node.effect.kind === 'tool') {
      const { tool } = node.effect;
      const def = flow.tools[tool];
      if (def !== undefined) found.set(tool, def);
    }
  };
  visit(from);
  return [...found].map(([name, def]) => ({ name, def }));
}
