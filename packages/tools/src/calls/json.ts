/** Tools for JSON texts. */
import { checkedJson, isRecord, reasonOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { fail } from '@sluice-internal/engine/ports';
import type { ToolCall, ToolKind } from './tool.ts';

export function jsonTools(): ToolKind {
  return {
    builtins: {
      json_get: (call) => Promise.resolve(valueAt(parsed(call, 'json'), String(call.args['path']))),
      json_keys: (call) => Promise.resolve({ keys: Object.keys(objectOf(call, 'json')) }),
      json_merge: (call) => Promise.resolve({ value: { ...objectOf(call, 'first'), ...objectOf(call, 'second') } }),
      json_validate: (call) => Promise.resolve(validated(call)),
    },
  };
}

function valueAt(value: Json, path: string): Json {
  let at: Json | undefined = value;
  for (const key of path.split('.').filter((each) => each !== '')) {
    if (at === null || typeof at !== 'object') return { found: false, value: null };
    at = Array.isArray(at) ? at[Number(key)] : Object.hasOwn(at, key) ? at[key] : undefined;
    if (at === undefined) return { found: false, value: null };
  }
  return { found: true, value: at };
}

function validated(call: ToolCall): Json {
  try {
    checkedJson(String(call.args['json']));
    return { valid: true, reason: '' };
  } catch (error) {
    return { valid: false, reason: reasonOf(error) };
  }
}

function objectOf(call: ToolCall, field: string): { readonly [key: string]: Json } {
  const value = parsed(call, field);
  if (isRecord(value)) return value;
  throw fail('semantic', 'ArgumentError', `\`${field}\` is not a JSON object`);
}

function parsed({ args }: ToolCall, field: string): Json {
  try {
    return checkedJson(String(args[field]));
  } catch (error) {
    throw fail('semantic', 'ArgumentError', `\`${field}\` is not valid JSON: ${reasonOf(error)}`);
  }
}
