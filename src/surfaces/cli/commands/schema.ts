/** `sluice schema`: the JSON Schema of a document, generated from the compiler's definitions. */
import { flowSchema } from '../../../compile/notations/flow/schema.ts';
import { workflowSchema, workflowShape } from '../../../compile/notations/workflow/schema.ts';
import { loopSchema } from '../../../compile/notations/loop/schema.ts';
import { teamSchema, teamShape } from '../../../compile/notations/team/schema/schema.ts';
import { documentSchema } from '../../../compile/document/schema/schema.ts';
import type { Cli } from '../context.ts';
import { OK, type ExitStatus } from '../exit-status.ts';

export async function schemaCommand(cli: Cli): Promise<ExitStatus> {
  cli.printJson(
    documentSchema([
      { key: 'flow', schema: flowSchema },
      { key: 'workflow', schema: workflowSchema, bare: workflowShape },
      { key: 'Orchestration', schema: teamSchema, bare: teamShape },
      { key: 'loop', schema: loopSchema },
    ]),
  );
  return OK;
}
