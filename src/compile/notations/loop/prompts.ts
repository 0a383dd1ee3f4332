/** What agents are told. Put together where it is asked for, from the state of the task, so that the journal never holds it. */
import type { Expr } from '../../../ir/nodes.ts';
import { OBSERVATIONS } from '../../lower/agent-turn/turn.ts';
import { literal, quote } from '../../expressions/cel-text.ts';
import { toolsOf } from './intake.ts';
import type { Loop } from './settle.ts';
import { outputText } from './findings.ts';
import { STATUSES } from './findings.ts';
import {
  ANSWER,
  BUDGET,
  COMPRESSED,
  FINISHED,
  GOAL,
  PLAN,
  PLAN_PROBLEM,
  PROBLEM,
  RECALLED,
  RESULTS,
  REPAIRS,
  STEP,
  UNFOUNDED,
} from './state.ts';

const PROTOCOL = `\n\nReply with the answer alone, or with one JSON object: {"status": ${STATUSES.map((status) => JSON.stringify(status)).join(' | ')}, "answer": …, "confidence": 0 to 1, "citations": [ids of observations], "claims": [{"tool": …}], "question": …, "reason": …}. Say that something was done only where an observation shows it.`;

/** Of what was observed, ids and outcomes; once the talk was dropped, also what the result was. */
const SHORTENED =
  'cel.bind(t, text(o.result == null ? o.error : o.result), size(t) > 600 ? text(t.substring(0, 600), " …") : t)';
const OBSERVED = `size(${OBSERVATIONS}) == 0 ? "" : text("\\n\\nObserved so far:\\n", join(${OBSERVATIONS}.map(o, text("[", o.id, "] ", o.tool, o.ok ? " succeeded" : " failed", ${COMPRESSED} == 0 ? "" : text(" ", o.args, ": ", ${SHORTENED}))), "\\n"))`;

/** What stays when the talk is dropped: goal and criteria, plan and what is finished, observations, open ends, budget. */
export function actionPrompt(loop: Loop): Expr {
  const parts: Expr[] = [quote('Goal: '), GOAL, quote(criteriaText(loop))];
  if (loop.memory)
    parts.push(
      `size(${RECALLED}.entries) == 0 ? "" : text("\\n\\nRemembered:\\n", join(${RECALLED}.entries.map(e, text("- ", e.goal, ": ", e.answer)), "\\n"))`,
    );
  if (loop.planner !== null) {
    parts.push(
      `text("\\n\\nPlan:\\n", join(${PLAN}.map(s, text(s.id in ${FINISHED} ? "- done " : "- open ", s.id, ": ", s.do)), "\\n"))`,
    );
    parts.push(
      `size(${RESULTS}) == 0 ? "" : text("\\n\\nResults so far:\\n", join(${RESULTS}.map(r, text("- ", r.id, ": ", r.answer)), "\\n"))`,
    );
    parts.push(
      `text("\\n\\nDo now: ", ${STEP}.do, ${STEP}.done_when == null ? "" : text("\\nDone when: ", ${STEP}.done_when))`,
    );
  }
  parts.push(
    OBSERVED,
    `${COMPRESSED} == 0 ? "" : text("\\n\\nBudget: ", ${BUDGET}, "\\nOpen: ", ${PROBLEM} == null ? "nothing" : ${PROBLEM}, ", repairs ", ${REPAIRS})`,
    quote(outputText(loop) + PROTOCOL),
  );
  return `text(${parts.join(', ')})`;
}

export function planPrompt(loop: Loop): Expr {
  const tools = toolsOf(loop)
    .map((name) => `- ${name}: ${loop.definitions.tools[name]?.description ?? ''}`)
    .join('\n');
  const shape =
    '{"steps": [{"id": …, "do": …, "tool": …, "after": [ids of steps that come first], "parent": …, "done_when": …}]}';
  const parts: Expr[] = [
    quote('Goal: '),
    GOAL,
    quote(`${criteriaText(loop)}\n\nTools:\n${tools}\n\nBudget: `),
    literal(JSON.parse(JSON.stringify(loop.definitions.budgets ?? {})) as { [field: string]: number }),
    `size(${FINISHED}) == 0 ? "" : text("\\n\\nFinished: ", ${FINISHED})`,
    OBSERVED,
    `${PLAN_PROBLEM} == null ? "" : text("\\n\\nThe last plan does not hold: ", ${PLAN_PROBLEM})`,
    quote(
      `\n\nPlan how to reach the goal. Reply with one JSON object: ${shape}, or {"status": "impossible" | "missing_info" | "ambiguous", "reason": …, "question": …}. Only tools that a step names will be called.`,
    ),
  ];
  return `text(${parts.join(', ')})`;
}

/** What was wrong with the verdict before. */
const UNSOUND = `${UNFOUNDED} == null ? "" : text("\\n\\nThe last verdict does not hold: ", ${UNFOUNDED})`;

/** A second look by somebody who did not do the work: the goal, the answer and the observations, and nothing of the talk. */
export function verifyPrompt(loop: Loop): Expr {
  const ask =
    '\n\nJudge the answer. Reply with one JSON object: {"ok": true or false, "confidence": 0 to 1, "problem": …, "citations": [ids of observations]}.';
  return `text(${[quote('Goal: '), GOAL, quote(criteriaText(loop)), quote('\n\nAnswer: '), ANSWER, OBSERVED, UNSOUND, quote(ask)].join(', ')})`;
}

const QUESTIONS: { readonly [kind: string]: string } = {
  confidence: 'Which acceptance criterion is not satisfied, and what would satisfy it?',
  conflict: 'Which of the sources has the higher authority, and what settles the matter?',
};

export function reflectPrompt(loop: Loop, kind: 'confidence' | 'conflict'): Expr {
  return `text(${[quote('Goal: '), GOAL, quote(criteriaText(loop)), quote('\n\nAnswer: '), ANSWER, OBSERVED, quote('\n\nWhat is wrong: '), PROBLEM, quote(`\n\n${QUESTIONS[kind] ?? ''}`)].join(', ')})`;
}

function criteriaText({ criteria }: Loop): string {
  return criteria.length === 0 ? '' : `\n\nThe result must satisfy:\n${criteria.map((each) => `- ${each}`).join('\n')}`;
}
