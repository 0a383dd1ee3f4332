/** Mastra: a workflow on libSQL with `retries` on every step, and replies parsed in the step, as its docs show. */
import { Mastra } from '@mastra/core';
import { createStep, createWorkflow } from '@mastra/core/workflows';
import { LibSQLStore } from '@mastra/libsql';
import { z } from 'zod';
import type { Faulted } from '../faults/contestant.ts';
import type { Role } from '../faults/provider.ts';

const Task = z.object({ run: z.string(), id: z.string() });
const Run = z.object({ run: z.string() });
const RETRIES = 2;

export const mastra: Faulted = {
  settings: '`retries: 2` on every step, the libSQL store, and `run.restart()` after a crash',
  async open(file, provider) {
    const asked = (run: string, role: Role, part?: string): unknown => JSON.parse(provider.ask(run, role, part));
    const plan = createStep({
      id: 'plan',
      inputSchema: Run,
      outputSchema: z.array(Task),
      retries: RETRIES,
      execute: async ({ inputData: { run } }) =>
        z
          .object({ tasks: z.array(z.object({ id: z.string() })).min(1) })
          .parse(asked(run, 'planner'))
          .tasks.map(({ id }) => ({ run, id })),
    });
    const worker = createStep({
      id: 'worker',
      inputSchema: Task,
      outputSchema: Run,
      retries: RETRIES,
      execute: async ({ inputData: { run, id } }) => {
        z.object({ finding: z.string() }).parse(asked(run, 'worker', id));
        return { run };
      },
    });
    const validate = createStep({
      id: 'validate',
      inputSchema: z.array(Run),
      outputSchema: Run,
      retries: RETRIES,
      execute: async ({ inputData }) => {
        const run = inputData[0]?.run ?? '';
        z.object({ ok: z.literal(true) }).parse(asked(run, 'critic'));
        return { run };
      },
    });
    const finalize = createStep({
      id: 'finalize',
      inputSchema: Run,
      outputSchema: z.object({ answer: z.string() }),
      retries: RETRIES,
      execute: async ({ inputData: { run } }) => z.object({ answer: z.string() }).parse(asked(run, 'writer')),
    });
    const faults = createWorkflow({ id: 'faults', inputSchema: Run, outputSchema: z.object({ answer: z.string() }) })
      .then(plan)
      .foreach(worker, { concurrency: 3 })
      .then(validate)
      .then(finalize)
      .commit();
    const app = new Mastra({
      storage: new LibSQLStore({ id: 'faults', url: `file:${file}` }),
      workflows: { faults },
      logger: false,
    });
    const workflow = app.getWorkflow('faults');
    return {
      async run(id) {
        const known = await workflow.getWorkflowRunById(id);
        const run = await workflow.createRun({ runId: id });
        const { status } = known === null ? await run.start({ inputData: { run: id } }) : await run.restart();
        return status === 'success';
      },
      close: async () => undefined,
    };
  },
};
