/**
 * The policy engine, loaded when it is first needed. Policies are parsed once per set of policies and tools; any error on
 * the way to an answer is an answer, and that answer is no: a `forbid` that cannot be evaluated would otherwise be skipped.
 */
import { createRequire } from 'node:module';
import { hash } from 'node:crypto';
import type * as Cedar from '@cedar-policy/cedar-wasm/nodejs';
import type { CompiledFlow } from '../../ir/nodes.ts';
import { policySchema } from '../../catalog/policy-schema.ts';

export interface PolicyRequest {
  readonly user: string;
  readonly tenant: string | null;
  readonly tool: string;
  readonly effect: string;
  readonly permission: string;
  readonly context: Cedar.Context;
}
export interface PolicyVerdict {
  readonly ok: boolean;
  /** The policies that decided; none where nothing permits the call. */
  readonly by: readonly string[];
  readonly reason: string;
}

let loaded: typeof Cedar | null = null;

export function cedar(): typeof Cedar {
  // The package's own module form asks for a loader that Node does not have without a flag.
  loaded ??= createRequire(import.meta.url)('@cedar-policy/cedar-wasm/nodejs') as typeof Cedar;
  return loaded;
}

export function decide(flow: CompiledFlow, request: PolicyRequest): PolicyVerdict {
  const name = prepared(flow);
  if ('problem' in name) return no(name.problem);
  const { user, tenant, tool, effect, permission, context } = request;
  const parents = tenant === null ? [] : [{ type: 'Tenant', id: tenant }];
  const answer = cedar().statefulIsAuthorized({
    principal: { type: 'User', id: user },
    action: { type: 'Action', id: tool },
    resource: { type: 'Tool', id: tool },
    context,
    preparsedSchemaName: name.id,
    preparsedPolicySetId: name.id,
    validateRequest: true,
    entities: [
      { uid: { type: 'User', id: user }, attrs: {}, parents },
      ...parents.map((uid) => ({ uid, attrs: {}, parents: [] })),
      { uid: { type: 'Tool', id: tool }, attrs: { effect, permission }, parents: [] },
    ],
  });
  if (answer.type === 'failure') return no(answer.errors.map(({ message }) => message).join('; '));
  const { decision, diagnostics } = answer.response;
  const [broken] = diagnostics.errors;
  if (broken !== undefined)
    return no(`policy \`${broken.policyId}\` cannot be evaluated: ${broken.error.message}`, [broken.policyId]);
  const by = diagnostics.reason;
  if (decision === 'allow') return { ok: true, by, reason: `permitted by ${by.map((id) => `\`${id}\``).join(', ')}` };
  return no(by.length === 0 ? 'no policy permits it' : `forbidden by ${by.map((id) => `\`${id}\``).join(', ')}`, by);
}

function no(reason: string, by: readonly string[] = []): PolicyVerdict {
  return { ok: false, by, reason };
}

type Prepared = { readonly id: string } | { readonly problem: string };
const known = new WeakMap<CompiledFlow, Prepared>();

function prepared(flow: CompiledFlow): Prepared {
  let entry = known.get(flow);
  if (entry === undefined) {
    entry = prepare(flow);
    known.set(flow, entry);
  }
  return entry;
}

function prepare({ policies = {}, tools }: CompiledFlow): Prepared {
  const schema = policySchema(tools) as unknown as Cedar.SchemaJson<string>;
  const id = hash('sha256', JSON.stringify([policies, schema]), 'hex');
  const parsed: { [id: string]: string } = {};
  for (const [name, text] of Object.entries(policies)) {
    const parts = cedar().policySetTextToParts(text);
    if (parts.type === 'failure')
      return { problem: `policy \`${name}\` cannot be read: ${parts.errors[0]?.message ?? ''}` };
    parts.policies.forEach((each, index) => (parsed[index === 0 ? name : `${name}#${index + 1}`] = each));
  }
  for (const answer of [cedar().preparseSchema(id, schema), cedar().preparsePolicySet(id, { staticPolicies: parsed })])
    if (answer.type === 'failure') return { problem: answer.errors.map(({ message }) => message).join('; ') };
  return { id };
}
