/**
 * What can be wrong with a round, in the order in which it counts. An answer is validated before anybody is asked about it: what
 * a person would have to settle counts last, unless there is no answer or the agent can still mend it.
 */
import type { Expr } from '../../../ir/nodes.ts';
import { OBSERVATIONS } from '../../lower/agent-turn/slots.ts';
import { quote } from '../../expressions/cel-text.ts';
import type { Loop } from './model.ts';
import { outputDue } from './output.ts';
import { GIVEN, formFindings } from './reply.ts';
import { ANSWER, CROSSED, MISSED, SAID, STATUS, VIOLATION } from './slots.ts';

export interface Finding {
  readonly when: Expr;
  readonly kind: string;
  readonly words: Expr;
}

export function findings(loop: Loop): readonly Finding[] {
  const failed = `join(${OBSERVATIONS}.filter(o, o.id in ${MISSED}).map(o, text(o.tool, ": ", o.error == null ? o.result : o.error)), "; ")`;
  const open = `!${offered(loop)}`;
  return [
    {
      when: DENIED,
      kind: 'permission',
      words: `text("calls were refused ${DENIALS_MAX} times, the last one: ", ${failed})`,
    },
    { when: `size(${MISSED}) > 0 && ${STATUS} == "acting"`, kind: 'tool', words: failed },
    ...formFindings(outputDue(loop)).map((each) => ({ ...each, kind: 'criteria' })),
    ...contested(loop).map((each) => ({ ...each, when: `${each.early} && ${each.when}` })),
    { when: open, kind: 'none', words: '""' },
    ...loop.validate.map(({ when, reason }) => ({ when: `(${when}) != true`, kind: 'criteria', words: quote(reason) })),
  ];
}

/**
 * What somebody may have to settle. `early` says when it is told before the answer is validated: where there is none to
 * validate, or where the agent can still mend it.
 */
export function contested(loop: Loop): readonly (Finding & { readonly early: Expr })[] {
  const open = `!${offered(loop)}`;
  const uncrossed = `(${open} || ${CROSSED} < ${loop.reflection.conflict})`;
  return [
    {
      when: `${VIOLATION} != null`,
      kind: 'grounding',
      words: VIOLATION,
      early: loop.grounding.onViolation === 'escalate' ? open : 'true',
    },
    {
      when: `${STATUS} == "conflict"`,
      kind: 'conflict',
      words: `text("sources contradict each other: ", ${SAID}.reason)`,
      early: uncrossed,
    },
    ...(loop.conflict === null
      ? []
      : [
          {
            when: `${GIVEN} && (${loop.conflict}) == true`,
            kind: 'conflict',
            words: '"what was observed contradicts itself"',
            early: uncrossed,
          },
        ]),
  ];
}

/** The first that holds. */
export function chosen(rules: readonly Finding[], of: (finding: Finding) => Expr, otherwise: Expr): Expr {
  return rules.reduceRight<Expr>((rest, each) => `${each.when} ? ${of(each)} : (${rest})`, otherwise);
}

/** Whether there is an answer that could go out: of one that reports a conflict, when the cross-check has not settled it. */
export function offered({ reflection }: Loop): Expr {
  return `(${GIVEN} || ${STATUS} == "conflict" && ${ANSWER} != null && ${CROSSED} >= ${reflection.conflict})`;
}

/** So many refused calls are taken for an attempt and not for a slip. */
const DENIALS_MAX = 3;
const DENIED = `size(${OBSERVATIONS}.filter(o, !o.ok && type(o.error) == string && re(o.error, "(?i)^(unknown tool|not permitted|permission denied|denied by policy)"))) >= ${DENIALS_MAX}`;
