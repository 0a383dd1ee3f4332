/** The step notation: reads a workflow, checks it, and lowers it to the one graph that everything runs on. */
import type { Notation, Excess } from '@sluice-internal/compile/rules';
import type { FlowBody } from '@sluice-internal/kernel/ir';
import { createChecks } from './check.ts';
import { lowerWorkflow } from './lower.ts';
import { unitsOf } from './model.ts';
import type { Step, Workflow } from './model.ts';
import { drawWorkflow } from './picture.ts';
import { planOf } from './plan.ts';
import { readWorkflow } from './read.ts';
import { workflowSchema } from './schema.ts';

export const workflowNotation: Notation = {
  name: 'workflow',
  key: 'workflow',
  bareKeys: ['steps'],
  schema: workflowSchema,
  bare: () => workflowSchema.shape,
  lower(document, definitions, report) {
    const read = readWorkflow(document, report);
    if (read === null) return { lowered: null, picture: null };
    const { workflow, body } = read;
    const units = unitsOf(workflow.steps);
    const plan = planOf(units, createChecks({ workflow, body, report }));
    const picture = drawWorkflow(
      workflow,
      units,
      body.value.description ?? null,
      (agent) => definitions.agents[agent]?.tools ?? [],
    );
    if (report.failed()) return { lowered: null, picture };
    const lowered = lowerWorkflow(read, plan, definitions);
    return { lowered, picture, excess: workflowExcess(lowered.body, workflow) };
  },
};

/** Finds steps that a lower tier of autonomy can replace. */
function workflowExcess(body: FlowBody, { steps }: Workflow): readonly Excess[] {
  return [...steps.flatMap((_, index) => stepExcess(body, steps, index)), ...stepsExcess(body, steps)];
}

function stepExcess(body: FlowBody, steps: readonly Step[], index: number): readonly Excess[] {
  const { name, mode, iterations } = steps[index] as Step;
  const node = Object.hasOwn(body.nodes, name) ? { node: name } : {};
  if (mode === 'Loop' && iterations === 1)
    return [{ uses: 4, needs: 2, why: `\`${name}\` is repeated at most once`, ...node }];
  const after = steps[index + 1]?.mode;
  const alone = after !== 'FanOut' && after !== 'Collect' && steps[index - 1]?.mode !== 'FanOut';
  return mode === 'FanOut' && alone
    ? [{ uses: 3, needs: 2, why: `\`${name}\` is the only step that fans out here`, ...node }]
    : [];
}

/** A chain without tools whose last step uses no earlier result. */
function stepsExcess(body: FlowBody, steps: readonly Step[]): readonly Excess[] {
  const isPlain = steps.every(({ mode }) => mode === 'Sequential');
  const toolless = Object.values(body.agents).every(({ tools }) => tools.length === 0);
  const reads = steps.at(-1)?.prompt.some((piece) => 'name' in piece || piece.text.includes('{{')) ?? true;
  if (steps.length < 2 || !isPlain || !toolless || reads) return [];
  return [{ uses: 2, needs: 1, why: 'the last step reads no result of the steps before it' }];
}
