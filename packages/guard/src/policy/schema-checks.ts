/**
 * Checks against a JSON Schema. The control `arguments` converts the drafted arguments of a call to the types of the tool's schema
 * where that loses nothing, then validates them. `policy:output` validates an answer against the agent's output schema.
 */
import { isRecord, oneObject, parsedJson, reasonOf, unfenced } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { onlyReads } from '@sluice-internal/kernel/ir';
import type { ToolDef } from '@sluice-internal/kernel/ir';
import { pure } from '@sluice-internal/engine/ports';
import type { Call } from '@sluice-internal/engine/ports';
import { writingStatement } from './statements.ts';

export function checkArguments({ command, flow }: Call): Json {
  const { tool: name, args, raw } = command.input;
  const tool = typeof name === 'string' && Object.hasOwn(flow.tools, name) ? flow.tools[name] : undefined;
  const schema = (tool?.input ?? true) as Json;
  // Text that could not be parsed is invalid; it is not a call without arguments.
  const received = args ?? (typeof raw === 'string' ? raw : null);
  const given = received === args || received === null ? parsed(received) : received;
  if (!isRecord(given))
    return { ok: false, args: received, missing: [], reason: `they are not a JSON object: ${shown(given)}` };
  const normal = normalised(given, schema);
  const missing = (shapeOf(schema).required ?? []).filter((field) => !Object.hasOwn(normal as object, field));
  const problem = verdict(schema, normal) ?? refusedStatement(tool, normal);
  return problem === null
    ? { ok: true, args: normal }
    : { ok: false, args: normal, missing: [...missing], reason: problem };
}

/** A database tool that only reads refuses statements that write. */
function refusedStatement(tool: ToolDef | undefined, args: Json): string | null {
  if (tool?.category !== 'database' || !onlyReads(tool.effect)) return null;
  const statement = writingStatement(args);
  return statement === null ? null : `the tool only reads, and this statement writes: ${statement}`;
}

function verdict(schema: Json, value: Json): string | null {
  try {
    return pure.validate(schema, value);
  } catch (error) {
    // An invalid schema accepts nothing.
    return `the schema of the tool is invalid: ${reasonOf(error)}`;
  }
}

const SHOWN_MAX = 200;

/** Enough of the value to see the mistake. */
function shown(given: Json): string {
  const text = typeof given === 'string' ? given : JSON.stringify(given);
  if (text.length <= SHOWN_MAX) return text;
  return `${text.slice(0, SHOWN_MAX).toWellFormed()}… (${text.length} characters)`;
}

/** Some models send the object as JSON text. */
function parsed(args: Json): Json {
  return args === null ? {} : (parsedJson(args) ?? args);
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
  return withDefaults(normalFields(value, properties, required), properties);
}

type Fields = { readonly [name: string]: Json };

function normalFields(value: Fields, properties: Fields, required: readonly string[]): Fields {
  const fields: { [name: string]: Json } = {};
  for (const [name, each] of Object.entries(value)) {
    const of = Object.hasOwn(properties, name) ? properties[name] : undefined;
    // An optional field that is null counts as absent, unless the schema allows null.
    if (each === null && of !== undefined && !required.includes(name) && verdict(of, null) !== null) continue;
    fields[name] = of === undefined ? each : normalised(each, of);
  }
  return fields;
}

function withDefaults(value: Fields, properties: Fields): Fields {
  const fields: { [name: string]: Json } = { ...value };
  for (const [name, of] of Object.entries(properties)) {
    const preset = shapeOf(of).default;
    if (preset !== undefined && preset !== null && !Object.hasOwn(fields, name)) fields[name] = preset;
  }
  return fields;
}

/** Converts numbers and booleans that arrived as text. */
function scalar(value: string, type: string | undefined): Json {
  if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
  if ((type === 'number' || type === 'integer') && /^-?\d+(\.\d+)?$/.test(value.trim())) return Number(value);
  return value;
}

function shapeOf(schema: Json | undefined): Shape {
  return isRecord(schema) ? schema : {};
}

/** The answer may be data, or JSON text with or without a fence; `value` is the data that fits the schema. */
export function checkOutput({ command }: Call): Json {
  const { schema = true, answer = null, reply = null } = command.input;
  const data = parsedJson(typeof answer === 'string' ? unfenced(answer) : answer);
  const object = oneObject(answer);
  const candidates = [
    answer,
    ...(data === null ? [] : [data]),
    ...(isRecord(reply) ? [reply] : []),
    ...(object === answer ? [] : [object]),
  ];
  for (const value of candidates) if (pure.validate(schema, value) === null) return { ok: true, value };
  // The error in the parsed data is more useful than "expected object, got text".
  return { ok: false, reason: pure.validate(schema, data ?? answer) ?? 'does not satisfy its schema' };
}
