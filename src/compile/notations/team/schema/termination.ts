/** When a session ends: by what somebody says, by the number of turns, or by the first of several. */
import * as z from 'zod';
import { int, list, name, oneOf, record, some } from '../../../document/shape/fields.ts';

export const TERMINATIONS = ['regex', 'maxiterations', 'composite'] as const;

export interface RawTermination {
  readonly Type?: (typeof TERMINATIONS)[number] | undefined;
  readonly Pattern?: string | undefined;
  readonly AgentNames?: readonly string[] | undefined;
  readonly MaxIterations?: number | undefined;
  readonly Validator?: string | undefined;
  readonly Validators?: readonly string[] | undefined;
  readonly RequiredCommandPattern?: string | undefined;
  readonly ShellFallbackPattern?: string | undefined;
  readonly Strategies?: readonly RawTermination[] | undefined;
}

const fields = {
  Type: oneOf(TERMINATIONS).optional(),
  Pattern: name().optional().describe('The session ends when a message matches this regular expression.'),
  AgentNames: some(name()).describe('Only what these agents say is looked at.'),
  MaxIterations: int({ min: 0 }).optional().describe('The session ends after so many agent turns.'),
  Validator: name().optional(),
  Validators: some(name()).describe('Must pass before a match ends the session.'),
  RequiredCommandPattern: name().optional(),
  ShellFallbackPattern: name().optional(),
  Strategies: list(z.lazy(() => termination))
    .optional()
    .describe('The session ends when any of these says so.'),
};
export const termination: z.ZodType<RawTermination> = record(fields);
export const TERMINATION_KEYS: readonly string[] = Object.keys(fields);
