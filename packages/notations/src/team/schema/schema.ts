/** The team notation as authors write it: the shared sections, and `Selection` with the keys of every strategy. */
import type * as z from 'zod';
import { record } from '@sluice-internal/compile/document';
import { speltAs } from '../spelling.ts';
import { STRATEGIES } from '../strategies/registry.ts';
import { TERMINATIONS, sectionFields } from './sections.ts';

export const STRATEGY_NAMES: readonly string[] = STRATEGIES.map(({ type }) => type);

const [firstName = '', ...otherNames] = STRATEGY_NAMES;
/** The names that the key `Type` takes, in `Selection` and in `Termination`. */
export const TYPE_NAMES = [...TERMINATIONS, ...STRATEGY_NAMES] as const;
const strategyFields = (): z.ZodRawShape =>
  Object.assign({}, ...STRATEGIES.map((each) => each.fields())) as z.ZodRawShape;

const selection = record(() => ({
  Type: speltAs([firstName, ...otherNames])
    .default('sequential')
    .describe('The strategy: how the next agent is chosen.'),
  ...strategyFields(),
}));

export const teamSchema = record(() => ({
  ...sectionFields(),
  Selection: selection.prefault({}).describe('The strategy that chooses the next agent. Default: `sequential`.'),
})).describe('Agents that take turns.');
