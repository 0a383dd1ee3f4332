/**
 * The problems that a round can have, in order of precedence, and the forms that a reply can take. An answer is validated
 * before a person is asked about it: problems for a person come last, unless the agent can still repair them.
 */
import type { Expr, NodeId } from '@sluice-internal/kernel/ir';
import { OBSERVATIONS, set } from '@sluice-internal/compile/lower';
import { literal, quote } from '@sluice-internal/compile/expressions';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Definitions } from '@sluice-internal/compile/document';
import type { Loop } from './model.ts';
import {
  ANSWER,
  CROSSED,
  FINISHED,
  KIND,
  MISSED,
  PLAN,
  PROBLEM,
  PARSED_REPLY,
  RETURNED,
  SINCE,
  STATUS,
  STEP,
  UNBOUND,
  VIOLATION,
} from './state.ts';
import { part, type Lowering } from './nodes.ts';

export interface Finding {
  readonly when: Expr;
  readonly kind: string;
  readonly words: Expr;
}

export function findings(loop: Loop): readonly Finding[] {
  const failed = `join(${OBSERVATIONS}.filter(o, o.id in ${MISSED}).map(o, text(o.tool, ": ", o.error == null ? o.result : o.error)), "; ")`;
  const open = `!${offered()}`;
  // A value that is nowhere goes back once.
  const unfound =
    loop.grounding.onViolation === 'mark'
      ? [{ when: `${VIOLATION} != null && !${RETURNED}`, kind: 'values', words: VIOLATION }]
      : [];
  return [
    {
      when: DENIED,
      kind: 'permission',
      words: `text("calls were refused ${DENIALS_MAX} times, the last one: ", ${failed})`,
    },
    { when: `size(${MISSED}) > 0 && ${STATUS} == "acting"`, kind: 'tool', words: failed },
    ...formFindings(outputDue(loop)).map((each) => ({ ...each, kind: 'form' })),
    { when: `${UNBOUND} != null`, kind: 'criteria', words: UNBOUND },
    ...contested(loop).map((each) => ({ ...each, when: `${each.early} && ${each.when}` })),
    ...(loop.planner === null ? [] : [unfinishedStep()]),
    ...unfound.map((each) => ({ ...each, when: `${open} && ${each.when}` })),
    { when: open, kind: 'none', words: '""' },
    ...loop.conditions.map(({ when, reason, code }) => ({
      when: `${isLast(loop)} && (${when}) != true`,
      kind: code === 'SOURCE_CONFLICT' ? 'conflict' : 'criteria',
      words: quote(reason),
    })),
    ...unfound,
  ];
}

/** A step with a tool is done only if that tool succeeded in that step. */
function unfinishedStep(): Finding {
  const succeeded = `${OBSERVATIONS}.exists(o, o.ok && o.tool == ${STEP}.tool && o.turn >= ${SINCE})`;
  return {
    when: `${STATUS} == "complete" && ${STEP}.tool != null && !${succeeded}`,
    kind: 'criteria',
    words: `text("step \`", ${STEP}.id, "\` is not done: \`", ${STEP}.tool, "\` has not succeeded in it")`,
  };
}

/**
 * Problems that a person may have to decide about. `early` holds where the problem comes before validation: there is no answer to
 * validate, or the agent can still repair it.
 */
export function contested(loop: Loop): readonly (Finding & { readonly early: Expr })[] {
  const open = `!${offered()}`;
  const uncrossed = `(${open} || !${CROSSED})`;
  const violation = {
    when: `${VIOLATION} != null`,
    kind: 'grounding',
    words: VIOLATION,
    early: loop.grounding.onViolation === 'escalate' ? open : 'true',
  };
  return [
    ...(loop.grounding.onViolation === 'mark' ? [] : [violation]),
    {
      when: `${STATUS} == "conflict"`,
      kind: 'conflict',
      words: `text("sources contradict each other: ", ${PARSED_REPLY}.reason)`,
      early: uncrossed,
    },
  ];
}

/** The first finding that holds. */
export function chosen(rules: readonly Finding[], of: (finding: Finding) => Expr, otherwise: Expr): Expr {
  return rules.reduceRight<Expr>((rest, each) => `${each.when} ? ${of(each)} : (${rest})`, otherwise);
}

/** There is an answer that could be given. One that reports a conflict counts after the cross-check. */
export function offered(): Expr {
  return `(${GIVEN} || ${STATUS} == "conflict" && ${ANSWER} != null && ${CROSSED})`;
}

/** Refused calls that end the run. */
const DENIALS_MAX = 3;
const DENIED = `size(${OBSERVATIONS}.filter(o, !o.ok && type(o.error) == string && re(o.error, "(?i)^(unknown tool|not permitted|permission denied|denied by policy)"))) >= ${DENIALS_MAX}`;

/** The values of `status` in a reply. */
export const STATUSES = ['complete', 'partial', 'impossible', 'missing_info', 'ambiguous', 'conflict'] as const;
/** Fields that mark an object as a reply in the loop's form. */
const FIELDS = ['answer', 'confidence', 'citations', 'claims', 'question', 'options', 'reason'] as const;

const NAMES = literal([...STATUSES]);
const NAMED = `type(${PARSED_REPLY}) == map && type(${PARSED_REPLY}.status) == string`;
export const SPELT = `lower(trim(${PARSED_REPLY}.status))`;

/** The reply is an object in the loop's form. */
export const STATED: Expr = `type(${PARSED_REPLY}) == map && ${PARSED_REPLY}.status in ${NAMES}`;
/** The status differs from a known one only by case or spaces. */
export const MISSPELT: Expr = `${NAMED} && !(${PARSED_REPLY}.status in ${NAMES}) && ${SPELT} in ${NAMES}`;
/** The reply has the loop's form and an unknown status. */
const STRANGE: Expr = `${NAMED} && !(${SPELT} in ${NAMES}) && ${literal([...FIELDS])}.exists(f, f in ${PARSED_REPLY})`;
const STRANGE_WORDS: Expr = `text("there is no status \\"", ${PARSED_REPLY}.status, ${quote(`"; it is one of ${STATUSES.join(', ')}`)})`;

/** The answer of an object in the loop's form. A finished one without `answer`, but with other fields, is itself the answer. */
export const STATED_ANSWER: Expr = `${PARSED_REPLY}.answer == null && ${PARSED_REPLY}.status in ["complete", "partial"] && ${PARSED_REPLY}.exists(f, !(f in ${literal(['status', ...FIELDS])})) ? ${PARSED_REPLY} : ${PARSED_REPLY}.answer`;

const GIVEN = `${STATUS} in ["complete", "partial"]`;

/** Mistakes in the form of a reply. Where an output schema applies (`due`), the schema is checked instead. */
function formFindings(due: Expr): readonly { readonly when: Expr; readonly words: Expr }[] {
  const free = `!(${due})`;
  const blank = `type(${ANSWER}) == string && trim(${ANSWER}) == ""`;
  return [
    { when: `${GIVEN} && ${STRANGE} && ${free}`, words: STRANGE_WORDS },
    {
      when: `${GIVEN} && (${blank} || ${ANSWER} == null && ${free})`,
      words: quote('the reply contains no answer: reply with the answer, or put it under `answer` in the JSON object'),
    },
  ];
}

/** Checks the answer against the executor's output schema, if it has one. */
export function addOutputCheck(l: Lowering, offered: Expr, next: NodeId): NodeId {
  const schema = outputOf(l.loop);
  if (schema === null) return next;
  const unfit = (reason: Expr): Expr => `text("the answer does not fit the output schema: ", ${reason})`;
  const broken = l.kit.set(
    part('validation_check', 'output.broken'),
    [set(KIND, quote('form')), set(PROBLEM, unfit('error.message')), set('error', 'null')],
    next,
  );
  const check = l.kit.check(part('validation_check', 'output'), {
    check: 'policy:output',
    input: { schema: literal(schema), answer: ANSWER, reply: PARSED_REPLY },
    writes: [
      set(KIND, `it.ok == true ? null : ${quote('form')}`),
      set(PROBLEM, `it.ok == true ? null : ${STRANGE} ? ${STRANGE_WORDS} : ${unfit('it.reason')}`),
      set(ANSWER, `it.ok == true ? it.value : ${ANSWER}`),
    ],
    next,
    fail: broken,
  });
  const due = `${KIND} == null && ${outputDue(l.loop, offered)}`;
  return l.kit.when(part('validation_check', 'output.look'), due, check, next);
}

/** The answer must fit the schema. In a plan, only the result of the last step must. */
export function outputDue(loop: Loop, offered: Expr = `${STATUS} in ["complete", "partial"]`): Expr {
  if (outputOf(loop) === null) return 'false';
  return `(${offered}) && ${isLast(loop)}`;
}

/** The answer ends the run: every other step of the plan is finished, or the result is partial. */
export function isLast({ planner }: Loop): Expr {
  return planner === null
    ? 'true'
    : `(${STATUS} == "partial" || ${PLAN}.all(s, s.id == ${STEP}.id || s.id in ${FINISHED}))`;
}

/** The instruction about the output schema. */
export function outputText(loop: Loop): string {
  const schema = outputOf(loop);
  if (schema === null) return '';
  const whose = loop.planner === null ? 'The answer' : 'The answer of the last step';
  return `\n\n${whose} must be JSON that fits this schema: ${JSON.stringify(schema)}`;
}

/**
 * A model that its provider holds to one schema can neither ask nor plan. So the planner and the executor reply freely, and
 * the check above enforces the schema.
 */
export function withFreeReplies({ definitions, executor, planner }: Loop): Definitions {
  const free = Object.entries(definitions.agents).map(([id, agent]) =>
    id === executor || id === planner ? [id, { ...agent, output: null }] : [id, agent],
  );
  return { ...definitions, agents: Object.fromEntries(free) as Definitions['agents'] };
}

function outputOf({ definitions, executor }: Loop): Json {
  return definitions.agents[executor]?.output ?? null;
}
