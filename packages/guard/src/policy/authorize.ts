/**
 * The control `policy` evaluates the Cedar policies of the flow for a call of this user, tenant and agent. Arguments
 * that cannot be expressed in Cedar are denied. `policy:stage` does the same for a stage.
 */
import type * as Cedar from '@cedar-policy/cedar-wasm/nodejs';
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { argumentsType } from '@sluice-internal/kernel/catalog';
import type { PolicyType } from '@sluice-internal/kernel/catalog';
import type { Call } from '@sluice-internal/engine/ports';
import { decide, type PolicyRequest } from './cedar.ts';

export function authorize(call: Call): Json {
  const { tool: name, args, stage } = call.command.input;
  const { flow } = call;
  const tool = typeof name === 'string' && Object.hasOwn(flow.tools, name) ? flow.tools[name] : undefined;
  if (tool === undefined) return { ok: false, reason: 'the tool does not exist', by: [] };
  const value = valueOf(args ?? {}, argumentsType(tool));
  if (value === undefined) return { ok: false, reason: 'the arguments do not fit the policy schema', by: [] };
  const resource = { type: 'Tool', id: String(name) } as const;
  const { effect, permission } = tool;
  return decided(call, String(name), resource, { effect, permission }, { stage: String(stage ?? ''), args: value });
}

/** `policy:stage`: evaluates the policies for the start of a stage, or for the result that leaves it. */
export function authorizeStage(call: Call): Json {
  const { action, stage, text } = call.command.input;
  const resource = { type: 'Stage', id: String(stage) } as const;
  const context = { stage: String(stage), text: String(text ?? ''), args: {} };
  return decided(call, String(action), resource, { effect: '', permission: '' }, context);
}

function decided(
  { command, flow }: Call,
  action: string,
  resource: PolicyRequest['resource'],
  attributes: PolicyRequest['attributes'],
  context: Cedar.Context,
): Json {
  const agent = String(command.input['agent'] ?? '');
  const { version = '', profile = null } = flow.boundaries?.[agent] ?? {};
  const { ok, by, reason } = decide(flow, {
    user: command.origin?.user ?? 'anonymous',
    tenant: command.origin?.tenant ?? null,
    action,
    resource,
    attributes,
    context: { agent, boundary: version, profile: profile ?? '', ...context },
  });
  return { ok, reason, by: [...by] };
}

/** The value as Cedar JSON; undefined if it does not have the type. Fields without a Cedar type are left out. */
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
  if (!isRecord(value)) return undefined;
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

/** Cedar decimals have four digits after the point; the value is rounded to the nearest. */
function decimal(value: Json): Cedar.CedarValueJson | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value) || Math.abs(value) > 900_000_000_000_000) return undefined;
  return { __extn: { fn: 'decimal', arg: value.toFixed(4) } };
}
