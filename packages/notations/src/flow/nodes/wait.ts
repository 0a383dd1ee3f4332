/** A wait node: pauses for a time, until an instant, or until a signal is sent to the run. */
import * as z from 'zod';
import { instantOf } from '@sluice-internal/kernel/expr';
import type { Expr, Input, NodeId } from '@sluice-internal/kernel/ir';
import { name, number, text } from '@sluice-internal/compile/document';
import { path, quote } from '@sluice-internal/compile/expressions';
import { setField } from '@sluice-internal/compile/lower';
import { asText } from '../expressions.ts';
import { SECONDS_MAX, nodeSchema, type FlowNode } from '../model.ts';
import { nodeType, type Checking, type ErrorWays, type Lowering, type Prepared } from '../node-type.ts';

const KINDS = ['for', 'until', 'signal'] as const;

const schema = nodeSchema('wait', () => ({
  for: z
    .union([number({ min: 0, max: SECONDS_MAX }), text({ min: 1 })])
    .optional()
    .describe('Seconds: a number, or a template that gives one.'),
  until: text({ min: 1 })
    .optional()
    .describe('An instant with its time zone, as `2026-12-01T09:00:00Z`. Templates work.'),
  signal: text({ min: 1 }).optional().describe('The name of the signal that ends the wait. Templates work.'),
  on_timeout: name()
    .optional()
    .describe('The node that follows if the signal does not come within `timeout`; without it that is an error.'),
}));
type Value = z.output<typeof schema>;

/** The input of the wait: `for`, `until` or `signal`. */
type Parts = Input;

export const waitNode = nodeType<typeof schema, Parts>({
  type: 'wait',
  schema,
  shape: 'tool',
  edges: [{ field: 'on_timeout', kind: 'late', single: true, optional: true }],
  check: checkWait,
  expanded: ({ for: seconds, until, signal }) => [seconds ?? null, until ?? null, signal ?? null],
  prepare: (node, { expressions }) => {
    const kind = KINDS.find((each) => node.value[each] !== undefined) ?? 'for';
    const given = node.value[kind] ?? 0;
    const value = typeof given === 'number' ? String(given) : expressions.template(node.id, node.located(kind), given);
    return { [kind]: kind === 'for' ? value : asText(String(given), value) };
  },
  lower: lowerWait,
  output: (slots, id) => path(slots.of(id), 'data'),
  readable: () => ({ data: true }),
  draw: ({ for: seconds, until, signal }) => ({
    detail: signal !== undefined ? `signal ${signal}` : until !== undefined ? `until ${until}` : `${seconds ?? 0} s`,
  }),
});

function checkWait(node: FlowNode<Value>, { report }: Checking): void {
  const { signal, until, timeout, on_timeout: late } = node.value;
  const given = KINDS.filter((each) => node.located(each) !== undefined || node.poisoned(each));
  if (given.length !== 1)
    report.error(
      'bad-value',
      given.length === 0 ? node.at('id') : node.at(given[1] ?? 'for'),
      given.length === 0
        ? `flow node '${node.id}' does not say what it waits for`
        : `flow node '${node.id}' waits for ${given.map((each) => `\`${each}\``).join(' and ')} at once`,
      { help: 'Write one of `for` (seconds), `until` (an instant) and `signal` (a name).' },
    );
  if (until !== undefined && !until.includes('{{') && instantOf(until) === null)
    report.error('bad-value', node.at('until'), `\`${until}\` is not an instant`, {
      help: 'Write date, time and time zone, as `2026-12-01T09:00:00Z`.',
    });
  if (typeof node.value.for === 'string' && !node.value.for.includes('{{'))
    report.error('wrong-type', node.at('for'), '`for` is a number of seconds', {
      help: 'Write a number, or a template that gives one.',
    });
  if (late !== undefined && (signal === undefined || timeout === undefined) && !node.poisoned('timeout'))
    report.warning('bad-value', node.at('on_timeout'), '`on_timeout` has no effect without `signal` and `timeout`', {
      help: 'Add `timeout`, in seconds, or remove it.',
    });
}

function lowerWait(lowering: Lowering, prepared: Prepared<Value, Parts>): void {
  const { id, signal } = prepared.node.value;
  const data: Expr = signal === undefined ? 'null' : 'it.data';
  lowering.kit.call(lowering.entered(prepared), {
    effect: { kind: 'wait', about: lowering.name(id), input: prepared.parts, reserve: {} },
    timeoutMs: lowering.timeoutMs(prepared),
    retry: lowering.retry(prepared),
    writes: [setField(lowering.slots.of(id), ['data'], data), ...lowering.out(data, 'set')],
    next: lowering.routes(prepared),
    ...timeoutRoutes(lowering, prepared),
  });
}

/** A signal that does not come in time leads to `on_timeout`; every other failure to the error routes. */
function timeoutRoutes(lowering: Lowering, prepared: Prepared<Value, Parts>): ErrorWays {
  const { failed, fail } = lowering.errors(prepared);
  const { on_timeout: late, signal } = prepared.node.value;
  if (late === undefined || signal === undefined) return { failed, fail };
  const to: NodeId = lowering.target(late, prepared);
  return { failed: [{ when: `error.type == ${quote('TimeoutError')}`, to }, ...failed], fail };
}
