/** JSON Schemas of MCP servers, checked with the same validator as those of documents. */
import type { JsonSchemaType, JsonSchemaValidator, jsonSchemaValidator } from '@modelcontextprotocol/client';
import type { Json } from '../../expr/json.ts';
import { schemaPattern } from '../../expr/text-search.ts';
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

/** Removes patterns that cannot run in linear time. The server checks its arguments itself. */
export function usableSchema(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(usableSchema);
  if (schema === null || typeof schema !== 'object') return schema;
  return Object.fromEntries(
    Object.entries(schema).flatMap(([key, value]): [string, Json][] => {
      if (key === 'pattern' && typeof value === 'string' && !isLinear(value)) return [];
      if (key === 'patternProperties' && isObject(value))
        return [[key, usableSchema(Object.fromEntries(Object.entries(value).filter(([name]) => isLinear(name))))]];
      return [[key, usableSchema(value)]];
    }),
  );
}

function isLinear(pattern: string): boolean {
  try {
    schemaPattern(pattern);
    return true;
  } catch {
    return false;
  }
}

function isObject(value: Json): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
