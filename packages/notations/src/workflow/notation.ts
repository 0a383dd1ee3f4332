/** The step notation: reads a workflow, checks it, and lowers it to the one graph that everything runs on. */
import { workflowExcess } from './excess.ts';
import type { Notation } from '@sluice-internal/compile/rules';
import { createChecks } from './check.ts';
import { lowerWorkflow } from './lower.ts';
import { unitsOf } from './model.ts';
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
