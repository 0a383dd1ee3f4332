/** `sluice schema`: the JSON Schema of a document, generated from the compiler's definitions. */
import { NOTATIONS } from '../../../compile/notations/registry.ts';
import { documentSchema } from '../../../compile/document/schema/schema.ts';
import type { Cli } from '../context.ts';
import { OK, type ExitStatus } from '../exit-status.ts';

export async function schemaCommand(cli: Cli): Promise<ExitStatus> {
  cli.printJson(documentSchema(NOTATIONS));
  return OK;
}
