/** The team notation as authors write it: the shared sections, and `Selection` with the keys of every strategy. */
import type * as z from 'zod';
import { oneOf, record } from '../../../document/shape/fields.ts';
import { spellings } from '../spelling.ts';
import { STRATEGIES } from '../strategies/registry.ts';
import { sectionFields } from './sections.ts';

export const STRATEGY_NAMES: readonly string[] = STRATEGIES.map(({ type }) => type);

const [firstName = '', ...otherNames] = STRATEGY_NAMES;
const strategyFields = (): z.ZodRawShape =>
  Object.assign({}, ...STRATEGIES.map((each) => each.fields())) as z.ZodRawShape;

const selection = record(() => ({
  Type: oneOf([firstName, ...otherNames])
    .meta({ enum: spellings('Type', STRATEGY_NAMES) })
    .default(firstName)
    .describe('How the agent of the next turn is chosen.'),
  ...strategyFields(),
}));

export const teamSchema = record(() => ({ ...sectionFields(), Selection: selection.prefault({}) }));
