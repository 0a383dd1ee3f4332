/**
 * Conditions that stop all calls (`fail_closed`). A call goes on only if every condition is known to be false; a condition
 * that cannot be evaluated ends the run.
 */
import { onlyReads } from '@sluice-internal/kernel/ir';
import type { Expr, NodeId, TerminalCode } from '@sluice-internal/kernel/ir';
import { literal, quote } from '../../expressions/cel-text.ts';
import { strictExpr, withInputFields } from '../../expressions/reads.ts';
import { rewriteNames } from '../../expressions/rewrite.ts';
import { name, pick, type Gate } from './gate.ts';
import { addStop } from './outcome.ts';
import { CALL, OBSERVATIONS } from './turn.ts';

/** `workspace` lists the agent's tools that change its files, `tests` those that run commands there. */
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
  const { boundary } = gate;
  if (boundary.failClosed.length === 0) return next;
  const names = namesOf(gate, approval);
  const closings = boundary.failClosed.map(({ what, when, code }, index) => ({
    when: strictExpr(
      withInputFields(rewriteNames(when, ([root = '']) => (Object.hasOwn(names, root) ? (names[root] as Expr) : null))),
    ),
    to: addClosed(gate, `closed.${index + 1}`, code, what),
  }));
  const unknown = addClosed(gate, 'closed', 'UNSAFE_DETECTION', 'a fail_closed condition cannot be evaluated');
  const closed = pick(gate, 'closed', closings, unknown);
  return pick(gate, 'guards', [{ when: closings.map(({ when }) => `!(${when})`).join(' && '), to: next }], closed);
}

function addClosed(gate: Gate, hint: string, code: TerminalCode, what: string): NodeId {
  return addStop(gate.kit, gate.turn, name(gate, hint), {
    type: 'FailClosedError',
    code,
    message: quote(`${what}: ${gate.tool} was not called`),
  });
}

function namesOf(gate: Gate, approval: boolean): { readonly [root: string]: Expr } {
  const def = gate.kit.builder.toolDef(gate.tool);
  return {
    tool: quote(gate.tool),
    args: `${CALL}.args`,
    effect: quote(def?.effect ?? 'write'),
    category: quote(def?.category ?? ''),
    approval: literal(approval),
    observations: OBSERVATIONS,
    workspace: literal(changingTools(gate, 'file_system')),
    tests: literal(changingTools(gate, 'sandbox')),
  };
}

/** The agent's tools of a category that change something. */
function changingTools({ kit, turn }: Gate, category: string): string[] {
  return turn.tools.filter((each) => {
    const def = kit.builder.toolDef(each);
    return def?.category === category && !onlyReads(def.effect);
  });
}
