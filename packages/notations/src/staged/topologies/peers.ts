/**
 * Handoffs between peers. One agent at a time has the task; it finishes, or hands the task to another peer. The monitor stops a
 * chain that is longer than the hop limit, and a cycle of handoffs that occurs twice.
 */
import type { Expr, NodeId } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { literal, quote } from '@sluice-internal/compile/expressions';
import { append, set } from '@sluice-internal/compile/lower';
import { nameOf, stepOf, type Lowering } from '../lowering.ts';
import type { Work } from '../model.ts';
import { OBJECTION, TASK_PART, optional, tasksPart, textOf } from '../prompts.ts';
import { FEEDBACK, PEER, RESULT, SUMMARY, TASKS } from '../slots.ts';
import { addStage, addStageTurn } from '../stage.ts';

type Peers = Extract<Work, { is: 'peers' }>;
const MESSAGE = 'message';
/** The handoffs of this round: `["a>b", "b>a"]`. */
const HANDOFFS = 'handoffs';
const WRONG = '_wrong_names';
/** Handoffs if the hop limit is switched off. */
const HOPS_MAX = 100;
/** Replies in a row that name no peer, until the stage fails. */
const WRONG_MAX = 2;

const REPLY: Json = {
  type: 'object',
  anyOf: [{ required: ['handoff'], properties: { handoff: { type: 'string' } } }, { required: ['done'] }],
};

export function addPeers(l: Lowering, peers: Peers, next: NodeId): NodeId {
  return addStage(l, {
    stage: l.staged.working,
    listed: false,
    value: TASKS,
    result: RESULT,
    opening: [set(PEER, quote(peers.start))],
    gather: [{ slot: PEER, mode: 'last' }],
    body: (done, fail) => addChain(l, peers, done, fail),
    next,
  });
}

function hopsMax({ staged }: Lowering): number {
  return staged.working.protections.hops?.max ?? HOPS_MAX;
}

function addChain(l: Lowering, { agents }: Peers, done: NodeId, fail: NodeId): NodeId {
  const { working } = l.staged;
  const step = (what: string) => stepOf(l, working.id, what);
  const dispatch = l.builder.fresh(nameOf(l, `${working.id}.dispatch`));
  const replied = addReplied(l, agents, dispatch, done, fail);
  const runs = l.visits.work * l.startsMax * (hopsMax(l) + 1 + WRONG_MAX * (hopsMax(l) + 1));
  const cases = agents.map((agent) => ({
    when: `${PEER} == ${quote(agent)}`,
    to: addStageTurn(l, {
      stage: working,
      agent,
      hint: nameOf(l, `${working.id}.${agent}`),
      enters: `${working.id}/${agent}`,
      prompt: promptOf(l, agents),
      schema: REPLY,
      samples: [
        { done: 'The work is done.' },
        ...agents.flatMap((peer) => (peer === agent ? [] : { handoff: peer, message: `This is for ${peer}.` })),
      ],
      result: SUMMARY,
      turn: `text(${quote(`${working.id}/${agent} `)}, size(${HANDOFFS}))`,
      runs: { of: working.id, max: runs, label: 'turns of the peers' },
      next: replied,
      fail,
    }),
  }));
  l.kit.pick({ ...step('dispatch'), id: dispatch }, cases, fail);
  return l.kit.set(step('opening'), [set(HANDOFFS, '[]'), set(MESSAGE, 'null'), set(WRONG, '0')], dispatch);
}

function promptOf({ staged }: Lowering, agents: readonly string[]): Expr {
  const form = `Peers: ${agents.join(', ')}. Finish with JSON {"done": "…"}, or hand over with JSON {"handoff": "peer", "message": "…"}.`;
  return textOf(
    TASK_PART,
    tasksPart(staged),
    optional('Handed to you with this message', MESSAGE),
    quote(`\n\n${form}`),
    OBJECTION,
  );
}

/** After a turn: the task is done, or handed over, or the monitor stops the chain. */
function addReplied(l: Lowering, agents: readonly string[], dispatch: NodeId, done: NodeId, fail: NodeId): NodeId {
  const { working } = l.staged;
  const { deadlock } = working.protections;
  const step = (what: string) => stepOf(l, working.id, what);
  const finished = l.kit.set(step('done'), [set(RESULT, `${SUMMARY}.done`)], done);
  const node = nameOf(l, working.id);
  const stopped = (what: string, type: string, message: Expr): NodeId =>
    l.kit.fail(step(what), { type, message, node }, fail);
  const edge = `text(${PEER}, ">", ${SUMMARY}.handoff)`;
  const chain = `join(${HANDOFFS} + [${edge}], ", ")`;
  const hops = stopped('hops', 'HopsError', `text("more than ${hopsMax(l)} handoffs: ", ${chain})`);
  const cycle = stopped('cycle', 'DeadlockError', `text("the peers hand the task round in a cycle: ", ${chain})`);
  const over = l.kit.set(
    step('handoff'),
    [
      append(HANDOFFS, edge),
      set(PEER, `${SUMMARY}.handoff`),
      set(MESSAGE, `${SUMMARY}.message`),
      set(FEEDBACK, 'null'),
      set(WRONG, '0'),
    ],
    dispatch,
  );
  return l.kit.pick(
    step('replied'),
    [
      { when: `type(${SUMMARY}) == map && ${SUMMARY}.done != null`, to: finished },
      { when: `!(${SUMMARY}.handoff in ${literal([...agents])})`, to: addWrong(l, agents, dispatch, fail) },
      ...(deadlock === null ? [] : [{ when: repeats(edge, deadlock.cycle), to: cycle }]),
      { when: `size(${HANDOFFS}) >= ${hopsMax(l)}`, to: hops },
    ],
    over,
  );
}

/** A block of up to `most` handoffs that leads back to where it began, and that occurs twice in a row. */
function repeats(edge: Expr, most: number): Expr {
  const blocks = Array.from({ length: most }, (_, index) => index + 1).map(
    (size) => `(size(all) >= ${2 * size} && slice(all, -${2 * size}, -${size}) == slice(all, -${size}))`,
  );
  return `cel.bind(all, ${HANDOFFS} + [${edge}], ${blocks.join(' || ')})`;
}

/** A name that is not a peer's is corrected, never replaced. */
function addWrong(l: Lowering, agents: readonly string[], dispatch: NodeId, fail: NodeId): NodeId {
  const { working } = l.staged;
  const step = (what: string) => stepOf(l, working.id, what);
  const reason = `text("there is no peer \`", ${SUMMARY}.handoff, ${quote(`\`; the peers are ${agents.join(', ')}`)})`;
  const given = l.kit.fail(
    step('unknown'),
    { type: 'SchemaError', message: reason, node: nameOf(l, working.id) },
    fail,
  );
  const again = l.kit.set(step('correct'), [set(FEEDBACK, reason), set(WRONG, `${WRONG} + 1`)], dispatch);
  return l.kit.when(step('wrong'), `${WRONG} < ${WRONG_MAX}`, again, given);
}
