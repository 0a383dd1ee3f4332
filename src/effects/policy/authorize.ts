/**
 * `policy:authorize`: may this user of this tenant have this agent, under this boundary, make this call? The policies of the
 * flow decide; what cannot be put to them is denied.
 */
import type * as Cedar from '@cedar-policy/cedar-wasm/nodejs';
import type { Json } from '../../expr/json.ts';
import { argumentsType } from '../../catalog/policy-schema.ts';
import type { PolicyType } from '../../catalog/policy-schema.ts';
import type { Call } from '../../runtime/ports.ts';
import { decide } from './cedar.ts';

export function authorize({ command, flow }: Call): Json {
  const { tool: name, args, agent } = command.input;
  const tool = typeof name === 'string' && Object.hasOwn(flow.tools, name) ? flow.tools[name] : undefined;
  if (tool === undefined) return { ok: false, reason: 'there is no such tool', by: [] };
  const boundary = flow.boundaries?.[String(agent)];
  const value = valueOf(args ?? {}, argumentsType(tool));
  if (value === undefined) return { ok: false, reason: 'the arguments cannot be put to the policies', by: [] };
  const { ok, by, reason } = decide(flow, {
    user: command.origin?.user ?? 'anonymous',
    tenant: command.origin?.tenant ?? null,
    tool: String(name),
    effect: tool.effect,
    permission: tool.permission,
    context: {
      agent: String(agent ?? ''),
      boundary: boundary?.version ?? '',
      profile: boundary?.profile ?? '',
      args: value,
    },
  });
  return { ok, reason, by: [...by] };
}

/** The value in the policy language; undefined where it is not of that type. Fields that have no type there are left out. */
function valueOf(value: Json, type: PolicyType): Cedar.CedarValueJson | undefined {
  switch (type.type) {
    case 'String':
      return typeof value === 'string' ? value : undefined;
    case 'Boolean':
      return typeof value === 'boolean' ? value : undefined;
    case 'Long':
      return Number.isSafeInteger(value) ? value : undefined;
    case 'Extension':
      return decimal(value);
    case 'Set': {
      if (!Array.isArray(value)) return undefined;
      const items = value.map((each) => valueOf(each, type.element));
      return items.includes(undefined) ? undefined : (items as Cedar.CedarValueJson[]);
    }
    case 'Record':
      return record(value, type.attributes);
  }
}

function record(
  value: Json,
  attributes: Extract<PolicyType, { type: 'Record' }>['attributes'],
): Cedar.CedarValueJson | undefined {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return undefined;
  const fields: { [name: string]: Cedar.CedarValueJson } = {};
  for (const [name, type] of Object.entries(attributes)) {
    const given = Object.hasOwn(value, name) ? value[name] : undefined;
    if (given === undefined) {
      if (type.required === false) continue;
      return undefined;
    }
    const field = valueOf(given, type);
    if (field === undefined) return undefined;
    fields[name] = field;
  }
  return fields;
}

/** Four digits after the point, rounded to the nearest: as exact as the policy language is. */
function decimal(value: Json): Cedar.CedarValueJson | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value) || Math.abs(value) > 900_000_000_000_000) return undefined;
  return { __extn: { fn: 'decimal', arg: value.toFixed(4) } };
}
