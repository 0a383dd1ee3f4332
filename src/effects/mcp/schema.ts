/** JSON Schemas of MCP servers, checked with the same validator as those of documents. */
import type { JsonSchemaType, JsonSchemaValidator, jsonSchemaValidator } from '@modelcontextprotocol/client';
import { usableSchema } from '../../catalog/mcp-lock.ts';
import type { Json } from '../../expr/json.ts';
import { pure } from '../../runtime/engine/pure.ts';

/** Checks results against the output schema of a tool. */
export const linearValidator: jsonSchemaValidator = {
  getValidator: <T>(schema: JsonSchemaType): JsonSchemaValidator<T> => {
    const usable = usableSchema(schema as Json);
    return (input) => {
      const problem = pure.validate(usable, input as Json);
      return problem === null
        ? { valid: true, data: input as T, errorMessage: undefined }
        : { valid: false, data: undefined, errorMessage: problem };
    };
  },
};
