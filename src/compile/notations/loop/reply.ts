/**
 * What a reply is. Text is the answer. An object with a `status` that the loop knows says how far the work has come, and its
 * answer is in it. One with another status is either data, and then the answer itself, or meant for the loop and misspelt:
 * that one is given back, as is a reply that answers nothing. Whatever it is, nothing of it is lost.
 */
import type { Expr } from '../../../ir/nodes.ts';
import { literal, quote } from '../../expressions/cel-text.ts';
import { ANSWER, SAID, STATUS } from './slots.ts';

/** How an answer can say more than an answer. */
export const STATUSES = ['complete', 'partial', 'impossible', 'missing_info', 'ambiguous', 'conflict'] as const;
/** The fields by which an object is known to be meant for the loop. */
const FIELDS = ['answer', 'confidence', 'citations', 'claims', 'question', 'options', 'reason'] as const;

const NAMES = literal([...STATUSES]);
const NAMED = `type(${SAID}) == map && type(${SAID}.status) == string`;
export const SPELT = `lower(trim(${SAID}.status))`;

/** Whether it is an object of the loop's own form. */
export const STATED: Expr = `type(${SAID}) == map && ${SAID}.status in ${NAMES}`;
/** Whether it would be, but for capitals and blanks. */
export const MISSPELT: Expr = `${NAMED} && !(${SAID}.status in ${NAMES}) && ${SPELT} in ${NAMES}`;
/** Whether it has the loop's form and no status that the loop knows. */
export const STRANGE: Expr = `${NAMED} && !(${SPELT} in ${NAMES}) && ${literal([...FIELDS])}.exists(f, f in ${SAID})`;
export const STRANGE_WORDS: Expr = `text("there is no status \\"", ${SAID}.status, ${quote(`"; it is one of ${STATUSES.join(', ')}`)})`;

/** The answer of an object of the loop's own form. One that is finished and has only fields of its own is itself the answer. */
export const STATED_ANSWER: Expr = `${SAID}.answer == null && ${SAID}.status in ["complete", "partial"] && ${SAID}.exists(f, !(f in ${literal(['status', ...FIELDS])})) ? ${SAID} : ${SAID}.answer`;

export const GIVEN = `${STATUS} in ["complete", "partial"]`;

/** What is wrong with the form of a reply; where a schema says what that form is, `due`, that is asked instead. */
export function formFindings(due: Expr): readonly { readonly when: Expr; readonly words: Expr }[] {
  const free = `!(${due})`;
  const blank = `type(${ANSWER}) == string && trim(${ANSWER}) == ""`;
  return [
    { when: `${GIVEN} && ${STRANGE} && ${free}`, words: STRANGE_WORDS },
    {
      when: `${GIVEN} && (${blank} || ${ANSWER} == null && ${free})`,
      words: quote('nothing was answered: reply with the answer, or with `answer` in the JSON object'),
    },
  ];
}
