/**
 * The policy schema, derived from the tools of a flow: one action per tool, in groups by effect class and by permission, with
 * the arguments in the context. A policy that names anything else is a mistake.
 */
import type { ToolDef } from '../ir/nodes.ts';
import { isRecord } from '../expr/json.ts';
import type { Json } from '../expr/json.ts';

export type PolicyType =
  | { readonly type: 'String' | 'Long' | 'Boolean' }
  | { readonly type: 'Extension'; readonly name: 'decimal' }
  | { readonly type: 'Set'; readonly element: PolicyType }
  | {
      readonly type: 'Record';
      readonly attributes: { readonly [name: string]: PolicyType & { readonly required?: boolean } };
    };

export interface PolicyProblem {
  readonly severity: 'error' | 'warning';
  readonly message: string;
  readonly help?: string;
  /** The position in the text. */
  readonly start?: number;
  readonly end?: number;
}
/** Checks a text of policies against a schema: its problems, and true in `permits` if it permits anything. */
export type PolicyChecker = (
  text: string,
  schema: Json,
) => { readonly problems: readonly PolicyProblem[]; readonly permits: boolean };

/** The actions of a stage: to begin, and to pass on its result. */
const STAGE_ACTIONS = { before: 'stage.enter', after: 'stage.leave' } as const;
export type StageAction = (typeof STAGE_ACTIONS)['before' | 'after'];

/** The actions of stages that policies name. Only these are checked. A policy about a stage without an action means both. */
export function stagesIn(policies: { readonly [id: string]: string }): readonly StageAction[] {
  const texts = Object.values(policies);
  const isAboutBoth = (text: string): boolean => /\bStage::"/.test(text) && !/\bAction::"stage\./.test(text);
  return Object.values(STAGE_ACTIONS).filter((action) =>
    texts.some((text) => text.includes(`Action::"${action}"`) || isAboutBoth(text)),
  );
}

/** In Cedar's JSON form of a schema. Stages are part of it if a policy names their actions. */
export function policySchema(tools: { readonly [name: string]: ToolDef }, stages: readonly StageAction[] = []): Json {
  const actions: { [id: string]: Json } = {};
  for (const id of stages)
    actions[id] = {
      appliesTo: { principalTypes: ['User'], resourceTypes: ['Stage'], context: STAGE_CONTEXT as unknown as Json },
    };
  for (const [name, tool] of Object.entries(tools)) {
    const groups = groupsOf(tool);
    for (const id of groups) actions[id] ??= {};
    actions[name] = {
      memberOf: groups.map((id) => ({ id })),
      appliesTo: { principalTypes: ['User'], resourceTypes: ['Tool'], context: contextType(tool) as unknown as Json },
    };
  }
  return {
    '': {
      entityTypes: {
        Tenant: {},
        User: { memberOfTypes: ['Tenant'] },
        Tool: SHAPE,
        ...(stages.length === 0 ? {} : { Stage: SHAPE }),
      },
      actions,
    },
  };
}

const SHAPE: Json = {
  shape: { type: 'Record', attributes: { effect: { type: 'String' }, permission: { type: 'String' } } },
};

/** The groups `effect:<class>` and `permission:<name>`, which a policy can name instead of single tools. */
function groupsOf({ effect, permission }: ToolDef): readonly string[] {
  // A policy about reads also covers reads whose arguments leave the machine.
  return [`effect:${effect}`, ...(effect === 'egress' ? ['effect:read'] : []), `permission:${permission}`];
}

/** The arguments that policies may read. Arguments without a type in the policy language are left out. */
export function argumentsType({ input }: ToolDef): PolicyType {
  const type = typeOf(input);
  return type?.type === 'Record' ? type : { type: 'Record', attributes: {} };
}

const TEXT = { type: 'String' } as const;
const COMMON = { agent: TEXT, boundary: TEXT, profile: TEXT, stage: TEXT } as const;
/** `text` is the value that enters or leaves the stage. */
const STAGE_CONTEXT: PolicyType = {
  type: 'Record',
  attributes: { ...COMMON, text: TEXT, args: { type: 'Record', attributes: {} } },
};

function contextType(tool: ToolDef): PolicyType {
  return { type: 'Record', attributes: { ...COMMON, args: argumentsType(tool) } };
}

interface Shape {
  readonly type?: Json;
  readonly enum?: readonly Json[];
  readonly items?: Json;
  readonly properties?: { readonly [name: string]: Json };
  readonly required?: readonly string[];
}

function typeOf(schema: Json): PolicyType | null {
  if (!isRecord(schema)) return null;
  const { type, enum: values, items, properties = {}, required = [] } = schema as Shape;
  const kind = type ?? (values?.every((value) => typeof value === 'string') ? 'string' : null);
  if (kind === 'array') {
    const element = typeOf(items ?? null);
    return element === null ? null : { type: 'Set', element };
  }
  return kind === 'object' ? recordOf(properties, required) : (SCALARS.get(kind) ?? null);
}

const SCALARS: ReadonlyMap<Json, PolicyType> = new Map<Json, PolicyType>([
  ['string', { type: 'String' }],
  ['integer', { type: 'Long' }],
  ['number', { type: 'Extension', name: 'decimal' }],
  ['boolean', { type: 'Boolean' }],
]);

function recordOf(properties: { readonly [name: string]: Json }, required: readonly string[]): PolicyType {
  const known = Object.entries(properties).flatMap(([name, each]) => {
    const of = typeOf(each);
    return of === null ? [] : [[name, required.includes(name) ? of : { ...of, required: false }] as const];
  });
  return { type: 'Record', attributes: Object.fromEntries(known) };
}
