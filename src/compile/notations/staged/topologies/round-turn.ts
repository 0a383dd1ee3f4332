/** One turn of an agent in a round of a debate or of a board. */
import type { Json } from '../../../../expr/json.ts';
import type { Expr, NodeId } from '../../../../ir/nodes.ts';
import { quote } from '../../../expressions/cel-text.ts';
import { nameOf, type Lowering } from '../lowering.ts';
import { OBJECTION, TASK_PART, tasksPart, textOf } from '../prompts.ts';
import { SUMMARY } from '../slots.ts';
import { addStageTurn } from '../stage.ts';

export interface RoundTurn {
  readonly agent: string;
  /** The slot with the number of the round. */
  readonly round: string;
  readonly rounds: number;
  /** The text in the prompt between the task and the objection to the agent's last reply. */
  readonly prompt: readonly Expr[];
  readonly schema?: Json;
  readonly next: NodeId;
  readonly fail: NodeId;
}

/** The reply is in the slot `summary`. */
export function addRoundTurn(l: Lowering, { agent, round, rounds, prompt, schema, next, fail }: RoundTurn): NodeId {
  const { working } = l.staged;
  const name = nameOf(l, `${working.id}.${agent}`);
  const runs = l.visits.work * l.startsMax * rounds;
  return addStageTurn(l, {
    stage: working,
    agent,
    hint: name,
    enters: `${working.id}/${agent}`,
    prompt: textOf(TASK_PART, tasksPart(l.staged), ...prompt, OBJECTION),
    ...(schema === undefined ? {} : { schema }),
    result: SUMMARY,
    turn: `text(${quote(`${working.id}/${agent} `)}, ${round})`,
    charges: [l.kit.visits(`runs:${name}`, runs, fail, `turns of ${agent}`)],
    visitsMax: runs,
    next,
    fail,
  });
}
