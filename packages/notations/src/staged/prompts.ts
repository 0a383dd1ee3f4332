/** The prompts of the stages. An agent reads the task, its part of it, and the objection to its last reply. */
import type { Expr } from '@sluice-internal/kernel/ir';
import { quote } from '@sluice-internal/compile/expressions';
import { hasJudge, spawnMax, type Staged } from './model.ts';
import { AGGREGATE, FEEDBACK, LAST_PLAN, LOST, PLAN, REQUEST_TEXT, RESULT, SUMMARIES, TASK, TASKS } from './slots.ts';

export function textOf(...parts: readonly Expr[]): Expr {
  return `text(${parts.join(', ')})`;
}

/** A value as text: text as it is, anything else as JSON. */
function shown(value: Expr): Expr {
  return `text(${value})`;
}

export function part(title: string, value: Expr): Expr {
  return `${quote(`\n\n${title}:\n`)}, ${shown(value)}`;
}

/** A part that is left out if the value is null. */
export function optional(title: string, value: Expr): Expr {
  return `${value} == null ? "" : text(${part(title, value)})`;
}

export const TASK_PART: Expr = `${quote('Task:\n')}, ${REQUEST_TEXT}`;

export function planPrompt(staged: Staged): Expr {
  const { work } = staged;
  const spawn = spawnMax(staged);
  const most = spawn === null ? '' : ` At most ${spawn} tasks.`;
  const names =
    work.is === 'workers' && work.agents.length > 1
      ? ` Workers: ${work.agents.join(', ')}. A task may name its worker in "worker".`
      : work.is === 'teams'
        ? ` Teams: ${work.teams.map(({ id }) => id).join(', ')}. A task may name its team in "worker".`
        : '';
  const form = `Plan the work. Reply with JSON: {"tasks": [{"id": "…", "brief": "…"}]}. Each brief must be clear without the others.${most}${names}`;
  return textOf(
    TASK_PART,
    quote(`\n\n${form}`),
    optional('The last plan', LAST_PLAN),
    optional('It did not succeed. The reason', FEEDBACK),
  );
}

export function criticPrompt(): Expr {
  const form =
    'Judge this plan before work begins. Its tasks must cover the whole task, each brief must be clear without the others, and no two tasks may do the same work. Reply with JSON: {"ok": true or false, "problem": "…"}.';
  return textOf(TASK_PART, part('Plan', PLAN), quote(`\n\n${form}`));
}

export function workerPrompt(): Expr {
  return textOf(
    shown(`${TASK}.brief`),
    quote('\n\nReply with a short summary of the result.'),
    part('This is a part of the task', REQUEST_TEXT),
    optional('Your last result was not accepted. The reason', FEEDBACK),
  );
}

/** The summaries one after another, and the tasks without a result. */
function results(): Expr {
  const list = `join(${SUMMARIES}.map(s, text("[", s.id, "]\\n", s.summary)), "\\n\\n")`;
  const lost = `size(${LOST}) == 0 ? "" : text("\\n\\nWithout a result:\\n", join(${LOST}.map(t, text("- ", t.id, ": ", t.problem)), "\\n"))`;
  return `${quote('\n\nResults:\n')}, ${list}, ${lost}`;
}

export function aggregatePrompt({ work }: Staged): Expr {
  return textOf(
    TASK_PART,
    results(),
    ...(hasJudge(work) ? [part('Decision of the judge', RESULT)] : []),
    quote('\n\nCombine the results into one. Add nothing that they do not contain.'),
    optional('Your last result was not accepted. The reason', FEEDBACK),
  );
}

export function validatePrompt({ validate: { confidence } }: Staged): Expr {
  const sure = confidence === null ? '' : ' "confidence" is a number from 0 to 1.';
  const form = `Judge whether the result does the task. Reply with JSON: {"ok": true or false, "confidence": 0.9, "problem": "…"}.${sure}`;
  return textOf(TASK_PART, part('Result', AGGREGATE), lostNote(), quote(`\n\n${form}`));
}

export function finalizePrompt(): Expr {
  return textOf(
    TASK_PART,
    part('Result', AGGREGATE),
    lostNote(),
    quote('\n\nWrite the final answer from this result.'),
    optional('Your last answer was not accepted. The reason', FEEDBACK),
  );
}

function lostNote(): Expr {
  return `size(${LOST}) == 0 ? "" : text("\\n\\nThe result is partial. Missing: ", join(${LOST}.map(t, text(t.id)), ", "))`;
}

/** The tasks of the plan. Without a planner there is one task, which is the whole. */
export function tasksPart(staged: Staged): Expr {
  if (staged.plan.agent === null) return '""';
  return `text(${quote('\n\nPlan:\n')}, join(${TASKS}.map(t, text("- ", t.id, ": ", t.brief)), "\\n"))`;
}

/** The objection to the last reply, if there is one. */
export const OBJECTION: Expr = optional('Your last reply was not accepted. The reason', FEEDBACK);
