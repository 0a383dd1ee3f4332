/**
 * The Cedar policy engine, loaded on first use. Policies are parsed once per flow. Any error denies the call: a `forbid` that
 * cannot be evaluated would otherwise be skipped. Also validates policies for the compiler.
 */
import type * as Cedar from '@cedar-policy/cedar-wasm/nodejs';
import { hash } from 'node:crypto';
import { misspelt } from '@sluice-internal/kernel/expr';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { requireOptional } from '@sluice-internal/platform';
import { policySchema, stagesIn } from '@sluice-internal/kernel/catalog';
import type { PolicyChecker, PolicyProblem } from '@sluice-internal/kernel/catalog';

export interface PolicyRequest {
  readonly user: string;
  readonly tenant: string | null;
  readonly action: string;
  readonly resource: { readonly type: 'Tool' | 'Stage'; readonly id: string };
  readonly attributes: { readonly effect: string; readonly permission: string };
  readonly context: Cedar.Context;
}
export interface PolicyVerdict {
  readonly ok: boolean;
  /** The policies that decided; empty if no policy permits the call. */
  readonly by: readonly string[];
  readonly reason: string;
}

let loaded: typeof Cedar | null = null;

function cedar(): typeof Cedar {
  // The package's ES module needs a WebAssembly loader that Node enables only by a flag.
  loaded ??= requireOptional(
    '@cedar-policy/cedar-wasm',
    'a document with policies',
    '@cedar-policy/cedar-wasm/nodejs',
  ) as typeof Cedar;
  return loaded;
}

export function decide(flow: CompiledFlow, request: PolicyRequest): PolicyVerdict {
  const name = prepared(flow);
  if ('problem' in name) return no(name.problem);
  const { user, tenant, action, resource, attributes, context } = request;
  const parents = tenant === null ? [] : [{ type: 'Tenant', id: tenant }];
  const answer = cedar().statefulIsAuthorized({
    principal: { type: 'User', id: user },
    action: { type: 'Action', id: action },
    resource,
    context,
    preparsedSchemaName: name.id,
    preparsedPolicySetId: name.id,
    validateRequest: true,
    entities: [
      { uid: { type: 'User', id: user }, attrs: {}, parents },
      ...parents.map((uid) => ({ uid, attrs: {}, parents: [] })),
      { uid: resource, attrs: attributes, parents: [] },
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
  const schema = policySchema(tools, stagesIn(policies)) as unknown as Cedar.SchemaJson<string>;
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

export const checkPolicy: PolicyChecker = (text, schema) => {
  const answer = cedar().validate({
    schema: schema as unknown as Cedar.SchemaJson<string>,
    policies: { staticPolicies: text },
    validationSettings: { mode: 'strict' },
  });
  if (answer.type === 'failure')
    return { problems: answer.errors.map((error) => problem(error, text, 'error')), permits: true };
  const errors = onePerPlace(answer.validationErrors.map(({ error }) => problem(error, text, 'error')));
  // Warnings that follow from an error are noise.
  const warnings =
    errors.length > 0 ? [] : answer.validationWarnings.map(({ error }) => problem(error, text, 'warning'));
  return { problems: [...errors, ...warnings], permits: effectsIn(text).includes('permit') };
};

function problem(
  { message, help, sourceLocations: [where] = [] }: Cedar.DetailedError,
  text: string,
  severity: PolicyProblem['severity'],
): PolicyProblem {
  return {
    severity,
    message: message
      .replace(/^for policy `[^`]*`, /, '')
      .replace(/^failed to parse (policies from string|policy with id `[^`]*` from string): /, ''),
    help: help === null ? 'See docs/guide/policies.md for the syntax and the names.' : sentence(help),
    ...(where === undefined ? {} : { start: unitOf(text, where.start), end: unitOf(text, where.end) }),
  };
}

/** Cedar repeats an unknown attribute for every action of the rule. That is one mistake. */
function onePerPlace(problems: readonly PolicyProblem[]): readonly PolicyProblem[] {
  const places = Map.groupBy(problems, ({ start, end, message }) =>
    start === undefined ? message : `${start} ${end}`,
  );
  return [...places.values()].flatMap((same) => {
    const attributes = same.flatMap(({ message }) => [...message.matchAll(UNKNOWN_ATTRIBUTE)]);
    const [[, attribute = ''] = []] = attributes;
    if (attributes.length < same.length) return same;
    const near = misspelt(
      attribute.split('.').at(-1) ?? '',
      same.map(({ help = '' }) => /`(.+)`/.exec(help)?.[1] ?? ''),
    );
    // Sorted, because Cedar gives them in any order.
    const tools = attributes
      .map(([, , tool = '']) => `\`${tool}\``)
      .sort()
      .join(', ');
    const message = `\`context.${attribute}\` does not exist for ${tools}`;
    const help =
      near === undefined
        ? 'Name the tools with `action ==`, or use an argument that all of them have.'
        : `Did you mean \`${near}\`?`;
    return same.slice(0, 1).map((problem) => ({ ...problem, message, help }));
  });
}

const UNKNOWN_ATTRIBUTE = /^attribute `(.+)` in context for Action::"(.+)" not found$/g;

/** Cedar counts bytes; diagnostics count UTF-16 units. */
function unitOf(text: string, byte: number): number {
  return Buffer.from(text, 'utf8').subarray(0, byte).toString('utf8').length;
}

function effectsIn(text: string): readonly string[] {
  const parts = cedar().policySetTextToParts(text);
  if (parts.type === 'failure') return [];
  return parts.policies.flatMap((each) => {
    const json = cedar().policyToJson(each);
    return json.type === 'success' ? [json.json.effect] : [];
  });
}

function sentence(help: string): string {
  const text = help.charAt(0).toUpperCase() + help.slice(1);
  return /[.?!]$/.test(text) ? text : `${text}.`;
}
