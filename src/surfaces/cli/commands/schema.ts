/** `sluice schema`: the JSON Schema of a document, generated from the compiler's definitions, or of the Agent Run Trace. */
import { NOTATIONS } from '../../../compile/notations/registry.ts';
import { documentSchema } from '../../../compile/document/schema/schema.ts';
import { ART_SCHEMA } from '../../evaluate/journal/art-schema.ts';
import type { Cli } from '../context.ts';

export async function schemaCommand(cli: Cli, of: 'document' | 'trace'): Promise<void> {
  cli.printJson(of === 'trace' ? ART_SCHEMA : documentSchema(NOTATIONS));
}
