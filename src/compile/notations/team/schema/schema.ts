/** The team notation as authors write it: the shared sections, and `Selection` with the keys of every strategy. */
import type * as z from 'zod';
import { record } from '../../../document/shape/fields.ts';
import { speltAs } from '../spelling.ts';
import { STRATEGIES } from '../strategies/registry.ts';
import { sectionFields } from './sections.ts';

export const STRATEGY_NAMES: readonly string[] = STRATEGIES.map(({ type }) => type);

const [firstName = '', ...otherNames] = STRATEGY_NAMES;
const strategyFields = (): z.ZodRawShape =>
  Object.assign({}, ...STRATEGIES.map((each) => each.fields())) as z.ZodRawShape;

const selection = record(() => ({
  Type: speltAs('Type', [firstName, ...otherNames])
    .default(firstName)
    .describe('How the agent of the next turn is chosen.'),
  ...strategyFields(),
}));

export const teamSchema = record(() => ({ ...sectionFields(), Selection: selection.prefault({}) }));
