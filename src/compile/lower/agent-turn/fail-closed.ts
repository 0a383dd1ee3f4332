/**
 * Conditions under which nothing is called any more. They fail closed in the strict sense: the way on is open only where it
 * is certain that none of them holds, so a condition that cannot be evaluated ends the run as well, and so does one that
 * compares what has no order.
 */
import type { Expr, NodeId } from '../../../ir/nodes.ts';
import { OBSERVATIONS } from './slots.ts';
import { CALL, addStop } from './told.ts';
import { literal, quote } from '../../expressions/cel-text.ts';
import { strictly, withInputFields } from '../../expressions/reads.ts';
import { name, pick } from './gate.ts';
import type { Gate } from './gate.ts';
import { rewriteNames } from '../../expressions/rewrite.ts';

/** `workspace` and `tests` are the names of the agent's tools that change its files, and of those that run something there. */
export const GUARD_NAMES = [
  'tool',
  'args',
  'effect',
  'category',
  'approval',
  'observations',
  'input',
  'workspace',
  'tests',
] as const;

export function addGuards(gate: Gate, approval: boolean, next: NodeId): NodeId {
  const { builder, turn, tool, boundary } = gate;
  if (boundary.failClosed.length === 0) return next;
  const effect = builder.toolDef(tool)?.effect ?? 'write';
  const names: { readonly [root: string]: Expr } = {
    tool: quote(tool),
    args: `${CALL}.args`,
    effect: quote(effect),
    category: quote(builder.toolDef(tool)?.category ?? ''),
    approval: literal(approval),
    observations: OBSERVATIONS,
    workspace: literal(namesOf(gate, 'file_system')),
    tests: literal(namesOf(gate, 'sandbox')),
  };
  const closings = boundary.failClosed.map(({ what, when, code }, index) => ({
    when: strictly(
      withInputFields(rewriteNames(when, ([root = '']) => (Object.hasOwn(names, root) ? (names[root] as Expr) : null))),
    ),
    to: stop(`closed.${index + 1}`, code, what),
  }));
  const closed = pick(
    gate,
    'closed',
    closings,
    stop('closed', 'UNSAFE_DETECTION', 'a condition that fails closed cannot be evaluated'),
  );
  return pick(gate, 'guards', [{ when: closings.map(({ when }) => `!(${when})`).join(' && '), to: next }], closed);

  function stop(hint: string, code: string, what: string): NodeId {
    return addStop(builder, turn, {
      hint: name(gate, hint),
      class: 'guardrail',
      type: 'FailClosedError',
      code,
      message: quote(`${what}: ${tool} was not called`),
    });
  }
}

/** The agent's tools of a kind that change something. */
function namesOf({ builder, turn }: Gate, category: string): string[] {
  return turn.tools.filter((each) => {
    const def = builder.toolDef(each);
    return def?.category === category && def.effect !== 'read';
  });
}
