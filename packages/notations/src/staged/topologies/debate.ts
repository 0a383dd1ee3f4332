/**
 * A debate. In each round every agent gives a statement, all at once, and sees the statements of the round before. The
 * judge decides after the last round; without a judge, the last statements are the result.
 */
import type { NodeId } from '@sluice-internal/kernel/ir';
import { quote } from '@sluice-internal/compile/expressions';
import { set } from '@sluice-internal/compile/lower';
import { nameOf, stepOf, type Lowering } from '../lowering.ts';
import type { Work } from '../model.ts';
import { OBJECTION, TASK_PART, part, tasksPart, textOf } from '../prompts.ts';
import { RESULT, SUMMARIES, SUMMARY, TASKS } from '../slots.ts';
import { COMMON_GATHER, addStage, addStageTurn, addRoundTurn } from '../stage.ts';

type Debate = Extract<Work, { is: 'debate' }>;
/** `[{ id, round, summary }]` of all rounds, and the number of the round. */
const STATEMENTS = 'statements';
const ROUND_NUMBER = 'debate_round';
const OUTCOME = '_debate';

export function addDebate(l: Lowering, debate: Debate, next: NodeId): NodeId {
  const { working } = l.staged;
  return addStage(l, {
    stage: working,
    listed: false,
    value: TASKS,
    result: debate.judge === null ? SUMMARIES : RESULT,
    gather: [{ slot: SUMMARIES, mode: 'last' }],
    body: (done, fail) => addRounds(l, debate, done, fail),
    next,
  });
}

function addRounds(l: Lowering, debate: Debate, done: NodeId, fail: NodeId): NodeId {
  const { working } = l.staged;
  const step = (what: string) => stepOf(l, working.id, what);
  const fork = l.builder.fresh(`${nameOf(l, working.id)}.round`);
  const starts = l.visits.work * l.startsMax;
  const rounds = l.kit.visits(`rounds:${nameOf(l, working.id)}`, debate.rounds * starts, fail, 'rounds of the debate');
  const latest = `${STATEMENTS}.filter(s, s.round == ${ROUND_NUMBER})`;
  const closing = l.kit.set(
    step('closing'),
    [set(SUMMARIES, `${latest}.map(s, {"id": s.id, "summary": s.summary})`)],
    debate.judge === null ? done : addJudge(l, debate.judge, done, fail),
  );
  const again = l.kit.set(step('next'), [set(ROUND_NUMBER, `${ROUND_NUMBER} + 1`)], fork);
  const judged = l.kit.when(step('more'), `${ROUND_NUMBER} < ${debate.rounds}`, again, closing);
  const stored = l.kit.set(
    step('stored'),
    [
      set(
        STATEMENTS,
        `${STATEMENTS} + ${OUTCOME}.map(b, {"id": b.output.id, "round": ${ROUND_NUMBER}, "summary": b.output.summary})`,
      ),
    ],
    judged,
  );
  l.kit.fork(
    { ...step('round'), id: fork, charges: [rounds] },
    {
      over: { heads: debate.agents.map((agent) => ({ name: agent, to: addSpeaker(l, debate, agent) })) },
      eager: true,
      into: OUTCOME,
      gather: COMMON_GATHER,
      next: stored,
      fail: l.kit.branchError(step('round.failed'), OUTCOME, fail),
    },
  );
  return l.kit.set(step('opening'), [set(STATEMENTS, '[]'), set(ROUND_NUMBER, '1')], fork);
}

function addSpeaker(l: Lowering, { rounds }: Debate, agent: string): NodeId {
  const others = `${STATEMENTS}.filter(s, s.round == ${ROUND_NUMBER} - 1 && s.id != ${quote(agent)})`;
  const own = `${STATEMENTS}.filter(s, s.round == ${ROUND_NUMBER} - 1 && s.id == ${quote(agent)})`;
  const shown = (list: string): string => `join(${list}.map(s, text("[", s.id, "]\\n", s.summary)), "\\n\\n")`;
  const before = `${ROUND_NUMBER} == 1 ? "" : text(${part('You said', shown(own))}, ${part('The others said', shown(others))})`;
  return addRoundTurn(l, {
    agent,
    round: ROUND_NUMBER,
    rounds,
    prompt: [before, quote('\n\nGive your statement. Answer what the others said.')],
    next: l.builder.end({
      state: 'completed',
      code: 'SUCCESS',
      output: `{"id": ${quote(agent)}, "summary": ${SUMMARY}}`,
      origin: nameOf(l, `${l.staged.working.id}.${agent}`),
    }),
    fail: l.builder.failedEnd(),
  });
}

function addJudge(l: Lowering, judge: string, done: NodeId, fail: NodeId): NodeId {
  const { working } = l.staged;
  const all = `join(${STATEMENTS}.map(s, text("[", s.id, ", round ", s.round, "]\\n", s.summary)), "\\n\\n")`;
  return addStageTurn(l, {
    stage: working,
    agent: judge,
    hint: nameOf(l, `${working.id}.judge`),
    enters: `${working.id}/${judge}`,
    prompt: textOf(
      TASK_PART,
      tasksPart(l.staged),
      part('The debate', all),
      quote('\n\nDecide. Reply with the result and the reason.'),
      OBJECTION,
    ),
    schema: working.output,
    result: RESULT,
    turn: quote(`${working.id}/judge`),
    runs: { of: `${working.id}.judge`, max: l.visits.work * l.startsMax, label: `turns of ${judge}` },
    next: done,
    fail,
  });
}
