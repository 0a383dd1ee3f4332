/**
 * What a tool that the author put into a flow goes through: it is authorised by its author, so only what others have said
 * about it applies, in this order: whether the user may, and how often it may be called.
 */
import type { DoNode, Expr, NodeId } from '../../../../ir/nodes.ts';
import { quote } from '../../../expressions/cel-text.ts';
import { NO_RETRY } from './lowering.ts';
import { entered, raise } from './errors.ts';
import type { Lowering } from './lowering.ts';
import type { Prepared } from '../prepare.ts';

const VERDICT = '_verdict';
const DEFERRALS_MAX = 3;

/** Whether anything has to be asked before the tool is called. */
export function isGated({ builder }: Lowering, tool: string): boolean {
  return builder.hasPolicies() || builder.toolDef(tool)?.rate !== undefined;
}

/** Adds the gates at the authored node; `next` is where the call goes on. */
export function addGates(lowering: Lowering, prepared: Prepared, tool: string, args: Expr, next: NodeId): void {
  const { builder } = lowering;
  const { id } = prepared.node;
  const policed = builder.hasPolicies();
  const limited = builder.toolDef(tool)?.rate !== undefined;
  const first = builder.idOf(id);
  const check = (at: NodeId, which: string, more: Partial<DoNode>): void => {
    const node: DoNode = {
      op: 'do',
      ...(at === first ? entered(lowering, prepared) : { label: { name: id } }),
      effect: { kind: 'check', check: which, input: { tool: quote(tool), args }, reserve: {} },
      writes: [],
      timeoutMs: null,
      retry: NO_RETRY,
      next,
      ...lowering.errors(prepared),
      ...more,
    };
    builder.add(at, node, prepared.node.at('id'));
  };
  const rate = policed ? builder.fresh(`${id} rate`) : first;
  if (limited) check(rate, 'policy:rate', { retry: { max: DEFERRALS_MAX, baseMs: 0, capMs: 0, on: ['rate_limit'] } });
  if (!policed) return;
  const denied = raise(lowering, prepared, {
    class: 'policy',
    type: 'PermissionError',
    message: `the call of \`${tool}\` is not permitted`,
    code: 'PERMISSION_DENIED',
  });
  const judged = builder.add(builder.fresh(`${id} permitted`), {
    op: 'pick',
    label: { name: id },
    cases: [{ when: `${VERDICT}.ok == true`, to: limited ? rate : next }],
    otherwise: denied,
  });
  check(first, 'policy:authorize', { writes: [{ slot: VERDICT, mode: 'set', value: 'it' }], next: judged });
}
