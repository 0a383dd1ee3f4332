/**
 * A blackboard: shared task state with a version. The agents take turns; each reads the board and may write to it. A write must
 * name the version that it read; a write to an older version is refused, and the agent reads why in its next turn. A round
 * without a change is no progress.
 */
import type { NodeId } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { quote } from '@sluice-internal/compile/expressions';
import { append, decided, set, setField } from '@sluice-internal/compile/lower';
import { nameOf, stepOf, type Lowering } from '../lowering.ts';
import type { Work } from '../model.ts';
import { optional, part } from '../prompts.ts';
import { RESULT, SUMMARY, TASKS } from '../slots.ts';
import { addStage, addRoundTurn } from '../stage.ts';

type Board = Extract<Work, { is: 'board' }>;
/** `{ version, data }`. */
const BOARD = 'board';
const ROUND_NUMBER = 'board_round';
/** The version at the start of the round. */
const SINCE = '_since';
/** The refusal that an agent has to read, by agent. */
const REFUSED = 'refused';
/** Refused writes: `[{ agent, version, current, keys }]`. */
const CONFLICTS = 'conflicts';

const REPLY: Json = {
  type: 'object',
  properties: { writes: { type: ['object', 'null'] }, version: { type: 'integer' }, done: { type: 'boolean' } },
  required: ['version'],
};

export function addBoard(l: Lowering, board: Board, next: NodeId): NodeId {
  return addStage(l, {
    stage: l.staged.working,
    listed: false,
    value: TASKS,
    result: RESULT,
    gather: [
      { slot: BOARD, mode: 'last' },
      { slot: CONFLICTS, mode: 'last' },
    ],
    body: (done, fail) => addRounds(l, board, done, fail),
    next,
  });
}

function addRounds(l: Lowering, { agents, rounds }: Board, done: NodeId, fail: NodeId): NodeId {
  const { working } = l.staged;
  const step = (what: string) => stepOf(l, working.id, what);
  const begin = l.builder.fresh(nameOf(l, `${working.id}.round`));
  const finished = l.kit.set(step('done'), [set(RESULT, `${BOARD}.data`)], done);
  const stuck = l.kit.fail(
    step('stuck'),
    {
      type: 'NoProgressError',
      message: `text("no agent changed the board in round ", ${ROUND_NUMBER})`,
      node: nameOf(l, working.id),
    },
    fail,
  );
  const again = l.kit.set(step('next'), [set(ROUND_NUMBER, `${ROUND_NUMBER} + 1`)], begin);
  const over = l.kit.pick(
    step('over'),
    [
      { when: `${BOARD}.version == ${SINCE}`, to: stuck },
      { when: `${ROUND_NUMBER} < ${rounds}`, to: again },
    ],
    finished,
  );
  const runs = l.visits.work * l.startsMax * rounds;
  const first = agents.reduceRight<NodeId>(
    (after, agent) => addTurnOf(l, agent, rounds, { after, finished, fail }),
    over,
  );
  const meter = l.kit.visits(`rounds:${nameOf(l, working.id)}`, runs, finished, 'rounds of the board');
  l.kit.set({ ...step('round'), id: begin, charges: [meter] }, [set(SINCE, `${BOARD}.version`)], first);
  return l.kit.set(
    step('opening'),
    [set(BOARD, '{"version": 0, "data": {}}'), set(ROUND_NUMBER, '1'), set(REFUSED, '{}'), set(CONFLICTS, '[]')],
    begin,
  );
}

interface Ways {
  readonly after: NodeId;
  readonly finished: NodeId;
  readonly fail: NodeId;
}

function addTurnOf(l: Lowering, agent: string, rounds: number, { after, finished, fail }: Ways): NodeId {
  const { working } = l.staged;
  const step = (what: string) => stepOf(l, working.id, `${agent}.${what}`);
  const looked = l.kit.when(step('look'), `${SUMMARY}.done == true`, finished, after);
  const written = l.kit.set(
    step('write'),
    [
      set(BOARD, `{"version": ${BOARD}.version + 1, "data": merge(${BOARD}.data, ${SUMMARY}.writes)}`),
      setField(REFUSED, [agent], 'null'),
    ],
    looked,
  );
  const reason = `text("your write named version ", ${SUMMARY}.version, ", and the board has version ", ${BOARD}.version)`;
  const conflict = l.kit.set(
    decided(step('conflict'), 'schema_or_grounding', 'block', 'stale_write'),
    [
      setField(REFUSED, [agent], reason),
      append(CONFLICTS, {
        agent: quote(agent),
        version: `${SUMMARY}.version`,
        current: `${BOARD}.version`,
        writes: `${SUMMARY}.writes`,
      }),
    ],
    after,
  );
  const judged = l.kit.pick(
    step('judge'),
    [
      { when: `${SUMMARY}.writes == null || size(${SUMMARY}.writes) == 0`, to: looked },
      { when: `${SUMMARY}.version == ${BOARD}.version`, to: written },
    ],
    conflict,
  );
  const form =
    'Reply with JSON {"writes": {…}, "version": n, "done": true or false}. "version" is the version of the board that you read. "done" ends the work.';
  return addRoundTurn(l, {
    agent,
    round: ROUND_NUMBER,
    rounds,
    prompt: [
      part('Version of the board', `${BOARD}.version`),
      part('The board', `${BOARD}.data`),
      optional('Your last write was refused', `${REFUSED}[${quote(agent)}]`),
      quote(`\n\n${form}`),
    ],
    schema: REPLY,
    next: judged,
    fail,
  });
}
