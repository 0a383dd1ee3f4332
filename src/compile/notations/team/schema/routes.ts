/** Routes of the keyword and the structured strategy, and what may stand between a signal and its effect. */
import type * as z from 'zod';
import { bool, name, phrase, record, some, text } from '../../../document/shape/fields.ts';

/** What keyword routes and graph edges share: evidence and people. */
export const gateShape = {
  Validator: name().optional().describe('A validator that must pass before the route is taken.'),
  Validators: some(name()).describe('Validators that must all pass.'),
  RequiredCommandPattern: name()
    .optional()
    .describe('With RequireShellPass: parts separated by `|`, one of which the command must contain.'),
  ShellFallbackPattern: name().optional().describe('With RequireWriteFile: a shell command that counts as writing.'),
  RequireHumanApproval: bool().default(false).describe('Ask a person before the route is taken.'),
  RecoveryAgent: name().optional().describe('Has one turn, once, after the validators failed twice in a row.'),
};

export const route = record({
  Keyword: phrase().describe('Stands alone on a line, or at the start of one; letter case does not matter.'),
  Agent: name().describe('Who has the next turn. One of the SourceAgents: the session ends.'),
  SourceAgents: some(name()).describe('Only these agents may take the route.'),
  ...gateShape,
});

const condition = record({
  Field: name().describe('A field of the reply; dots lead into objects.'),
  Is: text().optional(),
  IsNot: text().optional(),
  Contains: text().optional(),
  Exists: bool().optional(),
});

export const structuredRoute = record({
  Agent: name(),
  Condition: condition,
  SourceAgents: some(name()),
});

export type RawRoute = z.output<typeof route>;
export type RawGate = Pick<RawRoute, keyof typeof gateShape>;
export type RawCondition = z.output<typeof condition>;
export type RawStructuredRoute = z.output<typeof structuredRoute>;
