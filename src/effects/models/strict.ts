/** Decides whether OpenAI's strict mode accepts a reply schema. Strict mode makes the provider enforce the schema. */
import { isRecord, type Json } from '../../expr/json.ts';

const DEPTH_MAX = 10;
const PROPERTIES_MAX = 5000;
const FORMATS = /^(date-time|time|date|duration|email|hostname|ipv4|ipv6|uuid)$/;
/** Keywords whose value is not a schema. */
const PLAIN =
  /^(title|description|enum|const|pattern|multipleOf|minimum|maximum|exclusiveMinimum|exclusiveMaximum|minItems|maxItems|required|additionalProperties)$/;
const TYPES = /^(string|number|integer|boolean|object|array|null)$/;

/** True if the root is an object and every object requires all of its properties and allows no others. */
export function allowsStrict(schema: Json): boolean {
  return isRecord(schema) && schema['type'] === 'object' && isStrict(schema, 1, { properties: 0 });
}

interface Count {
  properties: number;
}

function isStrict(schema: Json, depth: number, count: Count): boolean {
  if (!isRecord(schema) || depth > DEPTH_MAX) return false;
  if (!isStrictObject(schema, count)) return false;
  return Object.entries(schema).every(([keyword, value]) => {
    if (PLAIN.test(keyword)) return true;
    switch (keyword) {
      case 'type':
        return (Array.isArray(value) ? value : [value]).every((type) => TYPES.test(String(type)));
      case 'format':
        return FORMATS.test(String(value));
      case '$ref':
        return typeof value === 'string' && value.startsWith('#');
      case 'items':
        return isStrict(value, depth + 1, count);
      case 'anyOf':
        return Array.isArray(value) && value.every((each) => isStrict(each, depth + 1, count));
      case 'properties':
      case '$defs':
        return isRecord(value) && Object.values(value).every((each) => isStrict(each, depth + 1, count));
      default:
        return false;
    }
  });
}

function isStrictObject(schema: { readonly [keyword: string]: Json }, count: Count): boolean {
  const { type, properties, required, additionalProperties } = schema;
  const isOfObjects = type === 'object' || (Array.isArray(type) && type.includes('object')) || properties !== undefined;
  if (!isOfObjects) return required === undefined && additionalProperties === undefined;
  if (additionalProperties !== false || !isRecord(properties)) return false;
  const names = Object.keys(properties);
  count.properties += names.length;
  const listed: readonly Json[] = Array.isArray(required) ? required : [];
  return count.properties <= PROPERTIES_MAX && names.every((name) => listed.includes(name));
}
