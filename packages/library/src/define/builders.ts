/**
 * The builders under one name each. With a text first they give a value; with an object first they take a document as YAML
 * has it. Both give the same graph and the same hash.
 */
import { flow as flowDocument } from '@sluice-internal/notations/flow';
import { loop as loopDocument } from '@sluice-internal/notations/loop';
import { staged as stagedDocument } from '@sluice-internal/notations/staged';
import { team as teamDocument } from '@sluice-internal/notations/team';
import { workflow as workflowDocument } from '@sluice-internal/notations/workflow';
import { beginFlow } from './flow.ts';
import { beginLoop } from './loop.ts';
import { beginStaged } from './staged.ts';
import { beginTeam } from './team.ts';
import { beginWorkflow } from './workflow.ts';

/**
 * A graph of steps.
 * @example
 * const hello = flow('hello', { input: z.object({ name: z.string() }) }).step(greeter, ({ input }) => input.name);
 */
export const flow = either(beginFlow, flowDocument);

/**
 * A bounded agent, or a planner and an executor.
 * @example
 * const research = loop('research', { agent: researcher, budgets: { modelCalls: 20 } });
 */
export const loop = either(beginLoop, loopDocument);

/**
 * Plan, work, aggregate, validate and finalize.
 * @example
 * const research = staged('research', { plan: { agent: planner }, workers: { agent: researcher, max: 4 } });
 */
export const staged = either(beginStaged, stagedDocument);

/**
 * Agents that take turns by a strategy.
 * @example
 * const dev = team('dev', { agents: [planner, coder], selection: { Type: 'sequential' } });
 */
export const team = either(beginTeam, teamDocument);

/**
 * Steps one after another, text in and text out.
 * @example
 * const page = workflow('page').step(writer, ({ input }) => text`Write about: ${input}`).step(editor);
 */
export const workflow = either(beginWorkflow, workflowDocument);

type Begin = (id: string, options: never) => unknown;
type Document = (definition: never, sections?: never) => unknown;

function either<Value extends Begin, Written extends Document>(begin: Value, document: Written): Value & Written {
  const build = (first: unknown, second: never): unknown =>
    typeof first === 'string' ? begin(first, second) : document(first as never, second);
  return build as Value & Written;
}
