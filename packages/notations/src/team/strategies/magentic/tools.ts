/** The settings of the manager, and the three tools by which it answers. Calling one runs nothing. */
import type * as z from 'zod';
import { bool, int, record, text } from '@sluice-internal/compile/document';
import type { ToolDef } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { model } from '../../schema/agents.ts';

export const magenticSchema = record(() => ({
  Model: model,
  Instructions: text().optional().describe('The system prompt of the manager. Default: a built-in prompt.'),
  MaxRoundCount: int({ min: 1 }).default(20).describe('The most rounds of a plan.'),
  MaxStallCount: int({ min: 1 }).default(3).describe('Rounds in a row without progress before a new plan is made.'),
  MaxResetCount: int({ min: 0 }).default(2).describe('The most new plans.'),
  EnablePlanReview: bool().default(false).describe('True: a person reviews the first plan.'),
}));
export type RawMagentic = z.output<typeof magenticSchema>;

export const ORIENTATION = 'magentic_orientation';
export const LEDGER = 'magentic_ledger_update';
export const SPEAKER = 'magentic_select_speaker';

const word: Json = { type: 'string' };
const flag: Json = { type: 'boolean' };
const texts: Json = { type: ['array', 'string'], items: word };

export const MAGENTIC_TOOLS: { readonly [name: string]: ToolDef } = {
  [ORIENTATION]: tool(
    'Says how you understand the task and what the plan is.',
    { task_summary: word, known_facts: texts, plan: texts, next_step: word, task_complete: flag },
    ['plan'],
  ),
  [LEDGER]: tool(
    'Says whether the task is done, whether the team is stalling, and what is established.',
    { task_complete: flag, stalling: flag, facts: texts, final_answer: word },
    ['task_complete', 'stalling'],
  ),
  [SPEAKER]: tool('Says who goes on, and with what instruction.', { speaker: word, instruction: word }, [
    'speaker',
    'instruction',
  ]),
};

function tool(
  description: string,
  properties: { readonly [field: string]: Json },
  required: readonly string[],
): ToolDef {
  return {
    description,
    input: { type: 'object', properties: { ...properties }, required: [...required] },
    output: true,
    effect: 'read',
    implementation: null,
    timeoutMs: 1000,
    permission: 'manager',
    idempotent: true,
    compensate: null,
  };
}

export const MANAGER_INSTRUCTIONS = `You lead a team of agents and do none of the work yourself. You are asked for three things, each by calling the tool that is named:
how you understand the task and what the plan is; after each step, whether the task is done and whether the team makes progress; and who goes on, with one concrete instruction.
Judge by what the agents have really produced. Say that the team is stalling when a round brought nothing new. Say that the task is complete only when it is, and give the final answer then.`;
