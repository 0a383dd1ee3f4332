/** `sluice schema`: the JSON Schema of a document, generated from the compiler's definitions, or of the Agent Run Trace. */
import { NOTATIONS } from '@sluice-internal/notations/driver';
import { documentSchema } from '@sluice-internal/compile/document';
import { ART_SCHEMA } from '@sluice-internal/evals/journal';
import type { Cli } from '@sluice-internal/library/documents';

export async function schemaCommand(cli: Cli, of: 'document' | 'trace'): Promise<void> {
  cli.printJson(of === 'trace' ? ART_SCHEMA : documentSchema(NOTATIONS));
}
