/**
 * The prompts of a loop, as expressions over the state of the task. Results of tools and memory never enter a prompt: they are
 * separate messages, marked as data.
 */
import type { Expr, Write } from '@sluice-internal/kernel/ir';
import { literal, quote } from '@sluice-internal/compile/expressions';
import { OBSERVATIONS, TALK, memoryMessages, set } from '@sluice-internal/compile/lower';
import { STATUSES, isLast, outputText } from './findings.ts';
import { toolsOf } from './intake.ts';
import type { Loop } from './model.ts';
import {
  ANSWER,
  ANSWERS_DROPPED,
  BUDGET,
  COMPRESSED,
  FINISHED,
  GOAL,
  LAST_DROPPED,
  PLAN,
  PLAN_PROBLEM,
  PROBLEM,
  RECALLED,
  REPAIRS,
  RESULTS,
  PARSED_REPLY,
  STEP,
  USER_ANSWERS,
} from './state.ts';

/** The ids and outcomes of the observations, without their content. */
const OBSERVED = observed(OBSERVATIONS);
/**
 * The observations before the talk was last dropped. The talk shows the later ones, so the prompt stays the same from one tool
 * call to the next, and providers can cache it.
 */
const EARLIER = `(${LAST_DROPPED} == null ? [] : upTo(${OBSERVATIONS}, "id", ${LAST_DROPPED}))`;

const STEP_TEXT = `${STEP}.do, ${STEP}.done_when == null ? "" : text("\\nDone when: ", ${STEP}.done_when)`;

/** Answers of people that the talk no longer shows. */
const ANSWERED = `${ANSWERS_DROPPED} == 0 ? "" : text("\\n\\nPeople have answered:\\n", join(slice(${USER_ANSWERS}, 0, ${ANSWERS_DROPPED}).map(a, text("- ", a.text)), "\\n"))`;

/** Drops the talk. From then on the prompt lists what was observed and answered so far. */
export const DROP_TALK: readonly Write[] = [
  set(TALK, '[]'),
  set(ANSWERS_DROPPED, `size(${USER_ANSWERS})`),
  set(LAST_DROPPED, `size(${OBSERVATIONS}) == 0 ? null : ${OBSERVATIONS}[size(${OBSERVATIONS}) - 1].id`),
];

function observed(list: Expr): Expr {
  const line = 'text("[", o.id, "] ", o.tool, o.ok ? " succeeded" : " failed")';
  return `cel.bind(seen, ${list}, size(seen) == 0 ? "" : text("\\n\\nObservations so far:\\n", join(seen.map(o, ${line}), "\\n")))`;
}

/** Characters of one observation in a message. */
const OBSERVATION_MAX = 20_000;
/** Observations in messages: the cited ones, and the latest of the others. */
const LATEST_MAX = 20;

/** The content of the observations as messages that are marked as data: the cited ones first, then the latest. */
export function evidenceMessages(): Expr {
  const cited = `type(${PARSED_REPLY}) == map && type(${PARSED_REPLY}.citations) == list ? ${OBSERVATIONS}.filter(o, o.id in ${PARSED_REPLY}.citations) : []`;
  return asMessages(
    `cel.bind(cited, ${cited}, cited + tail(${OBSERVATIONS}.filter(o, !(o.id in cited.map(c, c.id))), ${LATEST_MAX}))`,
  );
}

function asMessages(chosen: Expr): Expr {
  const content = `cel.bind(t, text("[", o.id, "] ", o.tool, " ", o.args, o.ok ? " succeeded: " : " failed: ", o.result == null ? o.error : o.result), size(t) > ${OBSERVATION_MAX} ? t.substring(0, ${OBSERVATION_MAX}) : t)`;
  // Of several calls with the same result, only the last is shown.
  const distinct = `cel.bind(chosen, ${chosen}, chosen.filter(o, cel.bind(same, chosen.filter(p, p.tool == o.tool && p.ok == o.ok && p.result == o.result), same[size(same) - 1].id == o.id)))`;
  return `${distinct}.map(o, {"role": "user", "content": ${content}, "source": o.tool})`;
}

/** Memory and, once the talk was dropped, the observations in full; then the talk. */
export function actionMessages(loop: Loop): Expr {
  const recalled = loop.memory === null ? '' : `${memoryMessages(RECALLED)} + `;
  return `${recalled}(${COMPRESSED} == 0 ? [] : ${asMessages(`tail(${EARLIER}, ${LATEST_MAX})`)}) + ${TALK}`;
}

/** The prompt of a turn: goal, criteria, plan, results so far, observations by id, open problem, budget. */
export function actionPrompt(loop: Loop): Expr {
  const parts: Expr[] = [quote('Goal: '), GOAL, quote(criteriaText(loop))];
  if (loop.planner !== null)
    parts.push(
      `text("\\n\\nPlan:\\n", join(${PLAN}.map(s, text(s.id in ${FINISHED} ? "- done " : "- open ", s.id, ": ", s.do)), "\\n"))`,
      `size(${RESULTS}) == 0 ? "" : text("\\n\\nResults so far:\\n", join(${RESULTS}.map(r, text("- ", r.id, ": ", r.answer)), "\\n"))`,
      `text("\\n\\nDo now: ", ${STEP_TEXT})`,
    );
  parts.push(
    ANSWERED,
    observed(EARLIER),
    `${COMPRESSED} == 0 ? "" : text("\\n\\nBudget: ", ${BUDGET}, "\\nOpen: ", ${PROBLEM} == null ? "nothing" : ${PROBLEM}, ", repairs ", ${REPAIRS})`,
    quote(outputText(loop) + protocol(loop)),
  );
  return `text(${parts.join(', ')})`;
}

/** The form of a reply. An agent that follows these instructions passes the checks of the document. */
function protocol({ grounding }: Loop): string {
  const statuses = STATUSES.map((status) => JSON.stringify(status)).join(' | ');
  const form = `{"status": ${statuses}, "answer": …, "confidence": 0 to 1, "citations": [ids of observations, as in <data id="…">], "claims": [{"tool": …}], "question": …, "reason": …}`;
  const rules = [
    !grounding.cite
      ? `Reply with the answer alone, or with one JSON object: ${form}.`
      : `Reply with one JSON object: ${form}.`,
    ...(grounding.cite ? ['`citations` is required: list the ids of the observations that support the answer.'] : []),
    ...(grounding.values === 'bound' ? [BOUND] : []),
    'Say that something was done only where an observation shows it.',
  ];
  return `\n\n${rules.join(' ')}`;
}

const BOUND =
  'Write amounts, dates, identifiers, names and other values of observations as references, and never literally: {{obs.1.total}} is the field `total` of the first result of a tool, {{obs.2.items.0.id}} the field `id` of the first item of the second. Count all results from 1.';

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
    `size(${RESULTS}) == 0 ? "" : text("\\n\\nFinished steps, which are not done again:\\n", join(${RESULTS}.map(r, text("- ", r.id, ": ", r.do)), "\\n"), "\\nGive new steps other ids.")`,
    OBSERVED,
    `${PLAN_PROBLEM} == null ? "" : text("\\n\\nThe last plan is not valid: ", ${PLAN_PROBLEM})`,
    quote(
      `\n\nPlan how to reach the goal. Reply with one JSON object: ${shape}, or {"status": "impossible" | "missing_info" | "ambiguous", "reason": …, "question": …}. Only tools that a step names will be called. A step with a tool is done when that tool has succeeded in it.`,
    ),
  ];
  return `text(${parts.join(', ')})`;
}

/** The prompt of an independent judge: goal, criteria and answer. The observations follow as data; the talk is left out. */
export function verifyPrompt(loop: Loop): Expr {
  const ask =
    '\n\nJudge the answer against the observations that follow as data. Reply with one JSON object: {"ok": true or false, "confidence": 0 to 1, "problem": …, "citations": [ids of observations]}.';
  return `text(${[judgedText(loop), OBSERVED, quote(ask)].join(', ')})`;
}

/** The goal and the answer, with what the answer must satisfy: the criteria, or in a plan the step until the last one. */
function judgedText(loop: Loop): Expr {
  const criteria = quote(criteriaText(loop));
  const step = `text("\\n\\nThe answer is the result of one step and not of the whole goal. Step: ", ${STEP_TEXT})`;
  const due = loop.planner === null ? criteria : `${isLast(loop)} ? ${criteria} : ${step}`;
  return `text(${[quote('Goal: '), GOAL, due, quote('\n\nAnswer: '), ANSWER].join(', ')})`;
}

function criteriaText({ criteria }: Loop): string {
  return criteria.length === 0 ? '' : `\n\nThe result must satisfy:\n${criteria.map((each) => `- ${each}`).join('\n')}`;
}
