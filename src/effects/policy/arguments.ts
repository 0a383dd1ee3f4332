/**
 * `policy:arguments`: arguments as a model drafted them, put into the form that the tool's schema asks for where nothing is
 * lost by it, and judged by that schema. What is wrong is said so that it can be mended.
 */
import type { Json } from '../../expr/json.ts';
import type { Call } from '../../runtime/ports.ts';
import { pure } from '../../runtime/engine/pure.ts';

export function checkArguments({ command, flow }: Call): Json {
  const { tool: name, args, raw } = command.input;
  const tool = typeof name === 'string' && Object.hasOwn(flow.tools, name) ? flow.tools[name] : undefined;
  const schema = (tool?.input ?? true) as Json;
  // Text that came without an object is what the model wrote, and never a call without arguments.
  const wrote = (args ?? null) === null && typeof raw === 'string' ? raw : undefined;
  const given = wrote ?? parsed(args ?? null);
  if (given === null || typeof given !== 'object' || Array.isArray(given))
    return { ok: false, args: wrote ?? args ?? null, missing: [], reason: `they are no JSON object: ${shown(given)}` };
  const normal = normalised(given, schema);
  const missing = requiredIn(schema).filter((field) => !Object.hasOwn(normal as object, field));
  const problem = verdict(schema, normal);
  return problem === null
    ? { ok: true, args: normal }
    : { ok: false, args: normal, missing: [...missing], reason: problem };
}

function verdict(schema: Json, value: Json): string | null {
  try {
    return pure.validate(schema, value);
  } catch (error) {
    // A schema that cannot be used lets nothing through.
    return `the schema of the tool cannot be used: ${error instanceof Error ? error.message : String(error)}`;
  }
}

const SHOWN_MAX = 200;

/** As much of it as it takes to see what went wrong. */
function shown(given: Json): string {
  const text = typeof given === 'string' ? given : JSON.stringify(given);
  if (text.length <= SHOWN_MAX) return text;
  return `${text.slice(0, SHOWN_MAX).toWellFormed()}… (${text.length} characters)`;
}

/** Some models send the object as its text. */
function parsed(args: Json): Json {
  if (args === null) return {};
  if (typeof args !== 'string') return args;
  try {
    return JSON.parse(args) as Json;
  } catch {
    return args;
  }
}

interface Shape {
  readonly type?: string;
  readonly default?: Json;
  readonly properties?: { readonly [name: string]: Json };
  readonly required?: readonly string[];
  readonly items?: Json;
}

function normalised(value: Json, schema: Json): Json {
  const { type, properties, items, required = [] } = shapeOf(schema);
  if (typeof value === 'string') return scalar(value, type);
  if (Array.isArray(value)) return items === undefined ? value : value.map((each) => normalised(each, items));
  if (value === null || typeof value !== 'object' || properties === undefined) return value;
  const fields: { [name: string]: Json } = {};
  for (const [name, each] of Object.entries(value)) {
    const of = Object.hasOwn(properties, name) ? properties[name] : undefined;
    // Null stands for `not given` where the schema has no null.
    if (each === null && of !== undefined && !required.includes(name) && verdict(of, null) !== null) continue;
    fields[name] = of === undefined ? each : normalised(each, of);
  }
  for (const [name, of] of Object.entries(properties)) {
    const preset = shapeOf(of).default;
    if (preset !== undefined && preset !== null && !Object.hasOwn(fields, name)) fields[name] = preset;
  }
  return fields;
}

/** Numbers and truth values that came as text. */
function scalar(value: string, type: string | undefined): Json {
  if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
  if ((type === 'number' || type === 'integer') && /^-?\d+(\.\d+)?$/.test(value.trim())) return Number(value);
  return value;
}

function requiredIn(schema: Json): readonly string[] {
  return shapeOf(schema).required ?? [];
}

function shapeOf(schema: Json | undefined): Shape {
  return schema !== null && typeof schema === 'object' && !Array.isArray(schema) ? schema : {};
}
