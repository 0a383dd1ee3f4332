/** The strategies whose course is fixed: scatter and gather, map and reduce, generate and criticise, plan and coordinate. */
import type * as z from 'zod';
import { bool, fault, int, list, name, phrase, record, text } from '../../../document/shape/fields.ts';
import { model } from './agents.ts';

export const scatterGather = record({
  Participants: list(name(), { min: 1, few: fault('bad-value', 'a scatter needs at least one participant') }),
  Synthesizer: name(),
  MaxConcurrency: int({ min: 0 }).default(0).describe('How many run at once; 0 for all.'),
});

export const mapReduce = record({
  Splitter: name(),
  Mapper: name(),
  Reducer: name(),
  ItemsJsonPath: name().default('items').describe("Where the list is in the splitter's JSON; dots lead into objects."),
  MaxConcurrency: int({ min: 0 }).default(0).describe('How many items are worked on at once; 0 for all.'),
  MaxSplitterRetries: int({ min: 1 }).default(3),
});

const stage = record({
  Generator: name(),
  Critic: name(),
  Label: name().optional(),
});

export const adversarial = record({
  Stages: list(stage, { min: 1, few: fault('bad-value', 'an adversarial team needs at least one stage') }),
  Rounds: int({ min: 1 }).default(3).describe('How often each artifact is criticised at most.'),
  PassKeyword: phrase()
    .default('APPROVED')
    .describe('What the critic writes on a line of its own to let the artifact pass.'),
});

export const magentic = record({
  Model: model,
  Instructions: text().optional(),
  MaxRoundCount: int({ min: 1 }).default(20),
  MaxStallCount: int({ min: 1 }).default(3),
  MaxResetCount: int({ min: 0 }).default(2),
  EnablePlanReview: bool().default(false),
});

export type RawScatterGather = z.output<typeof scatterGather>;
export type RawMapReduce = z.output<typeof mapReduce>;
export type RawAdversarial = z.output<typeof adversarial>;
export type RawMagentic = z.output<typeof magentic>;
