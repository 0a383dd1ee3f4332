/** A fail node: ends the run failed, or the branch, item or sub-flow that it is in. */
import { TERMINAL_CODES } from '@sluice-internal/kernel/ir';
import type { Expr, TerminalCode } from '@sluice-internal/kernel/ir';
import { name, oneOf } from '@sluice-internal/compile/document';
import { asText } from '../expressions.ts';
import { nodeSchema } from '../model.ts';
import { nodeType } from '../node-type.ts';

/** The codes of a failed run. A cancelled run ends with USER_CANCEL, so no node can. */
type FailCode = Exclude<TerminalCode, 'SUCCESS' | 'PARTIAL_SUCCESS' | 'USER_CANCEL'>;
const CODES = TERMINAL_CODES.filter(
  (code) => code !== 'SUCCESS' && code !== 'PARTIAL_SUCCESS' && code !== 'USER_CANCEL',
) as readonly string[] as readonly [FailCode, ...FailCode[]];

const schema = nodeSchema('fail', () => ({
  code: oneOf(CODES).default('VALIDATION_FAIL').describe('The code that the run ends with.'),
  message: name().default('the flow failed').describe('The reason. Templates work.'),
}));

export const failNode = nodeType<typeof schema, Expr>({
  type: 'fail',
  schema,
  words: true,
  idle: ['retry', 'timeout'],
  shape: 'terminal',
  leaves: false,
  check: (node, { report }) => {
    if (node.value.routes.length > 0)
      report.warning(
        'unreachable-route',
        node.at('routes', 0),
        `flow node '${node.id}' fails, so its routes are never taken`,
        { help: 'Remove the routes; `on_error` is never taken either.' },
      );
  },
  expanded: ({ message }) => message,
  prepare: ({ id, value, located }, { expressions }) =>
    asText(value.message, expressions.template(id, located('message'), value.message)),
  lower: ({ kit, entered, name: nameOf }, prepared) => {
    const { code, id } = prepared.node.value;
    kit.fail(entered(prepared), {
      type: 'FlowError',
      code,
      message: prepared.parts,
      node: nameOf(id),
    });
  },
  output: () => 'null',
  readable: () => ({}),
  draw: ({ code }) => ({ detail: code }),
});
