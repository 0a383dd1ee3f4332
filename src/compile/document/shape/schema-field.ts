/** A field that holds a JSON Schema, such as an agent's `output` or a tool's `input`. */
import { fault, jsonMap } from './fields.ts';
import { schemaProblems } from './schema-check.ts';

export function jsonSchema() {
  return jsonMap().superRefine((schema, context) => {
    for (const problem of schemaProblems(schema)) {
      const message = fault('bad-schema', problem.message, problem.help);
      context.addIssue({ code: 'custom', message, path: [...problem.path], params: { on: problem.on } });
    }
  });
}
