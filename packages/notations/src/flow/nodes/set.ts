/** A set node: computes values without a model, a tool or a decision. */
import type { Expr } from '@sluice-internal/kernel/ir';
import { jsonMap } from '@sluice-internal/compile/document';
import { isIdentifier, object, path } from '@sluice-internal/compile/expressions';
import { setField } from '@sluice-internal/compile/lower';
import { nodeSchema } from '../model.ts';
import { nodeType } from '../node-type.ts';

const schema = nodeSchema('set', () => ({
  values: jsonMap().describe('The values by name, read as `<id>.<name>`. Templates work.'),
}));

/** The values by name. */
type Parts = readonly (readonly [string, Expr])[];

export const setNode = nodeType<typeof schema, Parts>({
  type: 'set',
  schema,
  idle: ['retry', 'timeout'],
  shape: 'tool',
  poison: { values: {} },
  check: (node, { report }) => {
    for (const key of Object.keys(node.value.values))
      if (!isIdentifier(key))
        report.error('bad-value', node.at('values', key), `\`${key}\` cannot be the name of a value`, {
          help: 'Use letters, digits and underscores.',
        });
  },
  expanded: ({ values }) => values,
  prepare: ({ id, value, located }, { expressions }) =>
    Object.entries(value.values).map(([key, each]) => [key, expressions.template(id, located('values', key), each)]),
  lower: (lowering, prepared) => {
    const { kit, slots } = lowering;
    const { parts: values } = prepared;
    const slot = slots.of(prepared.node.id);
    kit.set(
      lowering.entered(prepared),
      [...values.map(([key, expr]) => setField(slot, [key], expr)), ...lowering.out(object(values), 'set')],
      lowering.routes(prepared),
      lowering.unevaluated(prepared),
    );
  },
  output: (slots, id) => path(slots.of(id)),
  readable: ({ value }) => Object.fromEntries(Object.keys(value.values).map((key) => [key, true])),
  draw: ({ values }) => ({ detail: Object.keys(values).join(', ') }),
});
