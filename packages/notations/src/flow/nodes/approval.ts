/** An approval node: a question to a person, whose answer is one of the declared choices. */
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Choice, Expr, Write } from '@sluice-internal/kernel/ir';
import type { EscalationId } from '@sluice-internal/kernel/catalog';
import { didYouMean } from '@sluice-internal/compile/source';
import {
  POISON,
  approvers,
  checkApprovers,
  givenApprovers,
  jsonSchema,
  list,
  listed,
  name,
  number,
  text,
} from '@sluice-internal/compile/document';
import { path } from '@sluice-internal/compile/expressions';
import { rowOfTool, set, setField } from '@sluice-internal/compile/lower';
import { asText } from '../expressions.ts';
import { SECONDS_MAX, nodeSchema, type FlowNode } from '../model.ts';
import { nodeType, type Checking, type Lowering, type Prepared } from '../node-type.ts';
import { SLOT } from '../slots.ts';
import type * as z from 'zod';

const REJECT = 'reject';
const CHOICES = ['approve', REJECT];

const schema = nodeSchema('approval', () => ({
  message: text({ min: 1 }).describe('The question. Templates work.'),
  choices: list(name(), { min: 2 }).default(CHOICES).describe('The answers to choose from.'),
  timeout: number({ above: 0, max: SECONDS_MAX })
    .optional()
    .describe('Seconds to wait for an answer. Default: no limit.'),
  on_timeout: name().optional().describe('The choice that counts if no answer comes in time. Default: `reject`.'),
  approvers: approvers.optional(),
  fields: jsonSchema()
    .optional()
    .describe(
      'The JSON Schema of the data that comes with an answer, for example `{ type: object, properties: { amount: { type: number } } }`. Read it as `<id>.data`. Default: no data.',
    ),
}));
type Value = z.output<typeof schema>;

/** The message. */
type Parts = Expr;

export const approvalNode = nodeType<typeof schema, Parts>({
  type: 'approval',
  schema,
  words: true,
  idle: ['retry'],
  shape: 'approval',
  poison: { message: POISON },
  check: checkApproval,
  expanded: ({ message }) => message,
  prepare: (node, { expressions, definitions, report }) => {
    const { message, approvers: given, timeout } = node.value;
    const place = { at: node.under('approvers').at, of: `flow node '${node.id}'`, timeout };
    checkApprovers(given, definitions.people, place, report);
    return asText(message, expressions.template(node.id, node.located('message'), message));
  },
  lower: lowerApproval,
  output: (_, id) => path('approvals', id),
  readable: ({ value }) => ({
    data: value.fields ?? { type: 'null' },
    text: { type: ['string', 'null'] },
    by: { type: ['string', 'null'] },
  }),
  draw: ({ message }) => ({ detail: message }),
  choices: ({ choices }) => choices,
});

function checkApproval(node: FlowNode<Value>, { report }: Checking): void {
  const { choices, timeout, on_timeout: expiry } = node.value;
  for (const [index, choice] of choices.entries()) {
    if (choices.indexOf(choice) < index)
      report.error(
        'bad-value',
        node.at('choices', index),
        `the choice \`${choice}\` is listed twice on flow node '${node.id}'`,
        { help: 'Remove one of the two.' },
      );
  }
  if (node.poisoned('choices') || node.poisoned('on_timeout')) return;
  if (expiry === undefined) return checkSilence(node, report);
  if (!choices.includes(expiry)) {
    report.error(
      'unknown-choice',
      node.at('on_timeout'),
      `\`on_timeout\` names \`${expiry}\`, which is not a choice of flow node '${node.id}'`,
      { help: didYouMean(expiry, choices, `Choices: ${listed(choices)}.`) },
    );
  } else if (timeout === undefined && !node.poisoned('timeout')) {
    report.warning('bad-value', node.at('on_timeout'), '`on_timeout` has no effect without `timeout`', {
      help: 'Add `timeout`, in seconds.',
    });
  } else if (expiry !== REJECT && expiry === choices[0])
    report.warning(
      'silence-approves',
      node.at('on_timeout'),
      `an expired question counts as \`${expiry}\` on flow node '${node.id}'`,
      {
        help: 'Keep it only if no person has to agree.',
      },
    );
}

/** An expired question counts as `reject`. If there is no such choice, the author must name the choice that counts. */
function checkSilence(node: FlowNode<Value>, report: Checking['report']): void {
  const { choices, timeout } = node.value;
  if (timeout === undefined || choices.includes(REJECT)) return;
  report.error(
    'unclear-expiry',
    node.at('timeout'),
    `flow node '${node.id}' has a timeout, but no choice is \`reject\``,
    {
      help: `Name the choice that counts without an answer: \`on_timeout: ${choices.at(-1) ?? ''}\`.`,
    },
  );
}

function lowerApproval(lowering: Lowering, prepared: Prepared<Value, Parts>): void {
  const { id, choices, timeout, on_timeout: expiry, approvers: given } = prepared.node.value;
  lowering.kit.ask(lowering.entered(prepared), {
    about: lowering.name(id),
    askedBy: lowering.askedBy,
    choices: choicesOf(prepared.node.value),
    onExpiry: expiry ?? (choices.includes(REJECT) ? REJECT : (choices.at(-1) ?? '')),
    code: 'CONFIRM_REQUIRED',
    ...givenApprovers(given, lowering.kit.builder.definitions.people),
    row: rowOf(lowering, prepared.node),
    message: prepared.parts,
    writes: [
      setField('approvals', [id], 'it.choice'),
      ...answerOf(lowering, id),
      ...(lowering.tellsAgents(id) ? [set(SLOT.said, '{"choice": it.choice, "text": it.text}')] : []),
      ...lowering.out('it.choice', 'set'),
    ],
    timeoutMs: timeout === undefined ? null : Math.ceil(timeout * 1000),
    next: lowering.routes(prepared),
    ...lowering.errors(prepared),
  });
}

/** Data comes with any choice. A choice other than `reject` needs it if the schema does not accept an answer without fields. */
function choicesOf({ choices, fields }: Value): readonly (string | Choice)[] {
  if (fields === undefined) return choices;
  const isNeeded = isRecord(fields) && Array.isArray(fields['required']) && fields['required'].length > 0;
  return choices.map((name) => ({
    name,
    edit: fields,
    ...(isNeeded && name !== REJECT ? { needs: 'edit' as const } : {}),
  }));
}

/** The parts of the answer that the flow reads. */
function answerOf({ slots, expressions }: Lowering, id: string): readonly Write[] {
  const slot = slots.of(id);
  if (!expressions.uses.slots.has(slot)) return [];
  return [setField(slot, ['data'], 'it.edit'), setField(slot, ['text'], 'it.text'), setField(slot, ['by'], 'it.by')];
}

/** The row of the most severe tool that an answer can lead to. */
function rowOf({ kit, flow }: Lowering, { value }: FlowNode<Value>): EscalationId {
  const { builder } = kit;
  const rows = value.routes.map(({ to }): EscalationId => {
    const next = flow.nodes.get(to);
    const tool = next?.facts.tool?.(next.value);
    return tool === undefined
      ? 'high_impact_mutation'
      : rowOfTool(builder.toolDef(tool), builder.definitions.toolCosts[tool]);
  });
  const graver = ['financial_commitment', 'external_communication'] as const;
  return graver.find((row) => rows.includes(row)) ?? 'high_impact_mutation';
}
