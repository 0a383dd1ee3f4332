/**
 * The form that the final answer must have: the executor's `output`. An answer that does not fit is given back with the
 * place where it does not, as often as any other that breaks a rule, and then ends the run.
 */
import type { Expr, NodeId } from '../../../ir/nodes.ts';
import type { Json } from '../../../expr/json.ts';
import { literal, quote } from '../../expressions/cel-text.ts';
import type { Definitions } from '../../document/definitions.ts';
import { NO_RETRY, addLet, addPick } from './lowering.ts';
import type { Lowering } from './lowering.ts';
import type { Loop } from './model.ts';
import { STRANGE, STRANGE_WORDS } from './reply.ts';
import { ANSWER, FINISHED, KIND, PLAN, PROBLEM, SAID, STATUS, set } from './slots.ts';

/** Adds the check in front of `next`; where nothing is promised, there is nothing to check. */
export function addOutputCheck(l: Lowering, offered: Expr, next: NodeId): NodeId {
  const schema = outputOf(l.loop);
  if (schema === null) return next;
  const { builder, at } = l;
  const unfit = (reason: Expr): Expr => `text("the answer does not have the form that it must have: ", ${reason})`;
  const broken = addLet(
    l,
    builder.fresh('output.broken'),
    'validation_check',
    [set(KIND, quote('criteria')), set(PROBLEM, unfit('error.message')), set('error', 'null')],
    next,
  );
  const check = builder.add(
    builder.fresh('output'),
    {
      op: 'do',
      label: { name: 'validation_check' },
      effect: {
        kind: 'check',
        check: 'policy:output',
        input: { schema: literal(schema), answer: ANSWER, said: SAID },
        reserve: {},
      },
      writes: [
        set(KIND, `it.ok == true ? null : ${quote('criteria')}`),
        set(PROBLEM, `it.ok == true ? null : ${STRANGE} ? ${STRANGE_WORDS} : ${unfit('it.reason')}`),
        set(ANSWER, `it.ok == true ? it.value : ${ANSWER}`),
      ],
      timeoutMs: null,
      retry: NO_RETRY,
      next,
      failed: [],
      fail: broken,
    },
    at,
  );
  const due = `${KIND} == null && ${outputDue(l.loop, offered)}`;
  return addPick(l, builder.fresh('output.look'), 'validation_check', [{ when: due, to: check }], next);
}

/** Whether an answer that is `offered` has to have that form. What a step of a plan comes to has none; the last one is the answer. */
export function outputDue(loop: Loop, offered: Expr = `${STATUS} in ["complete", "partial"]`): Expr {
  if (outputOf(loop) === null) return 'false';
  return loop.planner === null ? `(${offered})` : `(${offered}) && size(${FINISHED}) + 1 >= size(${PLAN})`;
}

/** What agents are told about the form. */
export function outputText(loop: Loop): string {
  const schema = outputOf(loop);
  if (schema === null) return '';
  const whose = loop.planner === null ? 'The answer' : 'The answer of the last step';
  return `\n\n${whose} must be JSON that fits this schema: ${JSON.stringify(schema)}`;
}

/**
 * A model that is held to one form cannot say that it lacks something, nor make a plan: so that whoever plans or acts is
 * held to it by the check above, and not by its provider.
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
