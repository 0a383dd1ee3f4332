/**
 * The gates of a stage. The gate before it checks the required artifacts, the input schema, the policies and the room in the
 * budgets. The gate after it checks the output schema, the policies, the invariants and the guards. Each result is an event:
 * `validation` has it.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import type { Case, CheckEffect, Expr, Input, NodeId } from '@sluice-internal/kernel/ir';
import { stagesIn } from '@sluice-internal/kernel/catalog';
import { literal, quote, rewriteNames, strictExpr, withInputFields } from '@sluice-internal/compile/expressions';
import { errorOf, set } from '@sluice-internal/compile/lower';
import { nameOf, stepOf, type Lowering } from './lowering.ts';
import type { Rule } from './model.ts';
import { WORK_KEYS } from './schema.ts';
import { AGGREGATE, CHECKED, PLAN, REQUEST_FIELDS, SUMMARIES, VALIDATION, VERDICT } from './slots.ts';

/** One gate of a stage. */
export interface Gate {
  readonly l: Lowering;
  /** The stage in names of nodes, and in results. */
  readonly stage: string;
  readonly at: 'before' | 'after';
  /** The node after a refused value. The slot `error` has the reason. */
  readonly refused: NodeId;
}

export interface Objection {
  readonly check:
    | 'required'
    | 'schema'
    | 'policy'
    | 'invariant'
    | 'guard'
    | 'confidence'
    | 'verdict'
    | 'plan'
    | 'critic'
    | 'oracle';
  /** The type of the failure; `SchemaError` unless given. */
  readonly type?: string;
  readonly reason: Expr;
}

/** The value is refused. */
export function addObjection(gate: Gate, hint: string, objection: Objection, to = gate.refused): NodeId {
  const { l, stage, at } = gate;
  const { check, type = 'SchemaError', reason } = objection;
  const error = errorOf({ type, message: reason }, nameOf(l, stage));
  return l.kit.set(
    stepOf(l, stage, `${at}.${hint}`),
    [
      set('error', error),
      set(VALIDATION, { stage: quote(stage), gate: quote(at), check: quote(check), ok: 'false', reason }),
    ],
    to,
  );
}

/** The value has passed every check of the gate. */
export function addPass({ l, stage, at }: Gate, next: NodeId): NodeId {
  return l.kit.set(
    stepOf(l, stage, `${at}.passed`),
    [set(VALIDATION, { stage: quote(stage), gate: quote(at), ok: 'true' })],
    next,
  );
}

/** Asks a check for a verdict `{ ok, reason }`. A check that cannot be performed refuses the value too. */
export function addVerdict(
  gate: Gate,
  hint: string,
  asked: { readonly check: CheckEffect['check']; readonly input: Input; readonly objection: Objection },
  next: NodeId,
): NodeId {
  const { l, stage, at } = gate;
  const { check, input, objection } = asked;
  const step = (what: string) => stepOf(l, stage, `${at}.${hint}.${what}`);
  const refused = addObjection(gate, `${hint}.refused`, objection);
  return l.kit.check(step('check'), {
    check,
    input,
    into: CHECKED,
    next: l.kit.when(step('judged'), `${CHECKED}.ok == true`, next, refused),
    fail: addObjection(gate, `${hint}.broken`, { ...objection, reason: 'error.message' }),
  });
}

/** Checks a value against a JSON Schema. `into` is the slot that receives the value as data. */
export function addSchema(
  gate: Gate,
  { schema, value, into, hint = 'schema' }: { schema: Json; value: Expr; into?: string; hint?: string },
  next: NodeId,
  refusal: Partial<Objection> = {},
): NodeId {
  if (schema === null) return next;
  const { l, stage, at } = gate;
  const what = at === 'before' ? 'input' : 'output';
  const reason = `text(${quote(`the ${what} of \`${stage}\` does not fit its schema: `)}, ${CHECKED}.reason)`;
  const fits = stepOf(l, stage, `${at}.${hint}.fits`);
  return addVerdict(
    gate,
    hint,
    {
      check: 'policy:output',
      input: { schema: literal(schema), answer: value },
      objection: { check: 'schema', reason, ...refusal },
    },
    into === undefined ? next : l.kit.set(fits, [set(into, `${CHECKED}.value`)], next),
  );
}

/** Policies that name the actions of stages decide whether the stage may begin, and whether its result may leave it. */
export function addPolicy(gate: Gate, agent: string | null, value: Expr, next: NodeId): NodeId {
  const { l, stage, at } = gate;
  const [action, verb] = at === 'before' ? ENTERING : LEAVING;
  if (!stagesIn(l.staged.definitions.policies).includes(action)) return next;
  const reason = `text(${quote(`the stage \`${stage}\` ${verb}: `)}, ${CHECKED}.reason)`;
  return addVerdict(
    gate,
    'policy',
    {
      check: 'policy:stage',
      input: { action: quote(action), stage: quote(stage), agent: quote(agent ?? ''), text: `text(${value})` },
      objection: { check: 'policy', type: 'PermissionError', reason },
    },
    next,
  );
}

const ENTERING = ['stage.enter', 'may not begin'] as const;
const LEAVING = ['stage.leave', 'may not pass on its result'] as const;

/** Every rule must hold. A rule that cannot be evaluated does not hold. */
export function addInvariants(
  gate: Gate,
  rules: readonly Rule[],
  names: Names,
  next: NodeId,
  check: 'invariant' | 'oracle' = 'invariant',
): NodeId {
  if (rules.length === 0) return next;
  const conditions = rules.map(({ when }) => condition(when, names));
  const broken = rules.map(({ reason }, index): Case => ({
    when: `!(${conditions[index] ?? 'false'})`,
    to: addObjection(gate, `${check}.${index + 1}`, { check, type: RULE_ERRORS[check], reason: quote(reason) }),
  }));
  const unknown = addObjection(gate, `${check}.unknown`, {
    check,
    type: RULE_ERRORS[check],
    reason: quote(`a condition on \`${gate.stage}\` cannot be evaluated`),
  });
  return addAll(gate, check, conditions, broken, unknown, next);
}

const RULE_ERRORS = { invariant: 'InvariantError', oracle: 'OracleError' } as const;

/** No guard may hold over the output, or over one of a list of outputs. A guard that cannot be evaluated counts as one that holds. */
export function addGuards(
  gate: Gate,
  rules: readonly Rule[],
  output: Expr | { readonly anyOf: Expr },
  next: NodeId,
): NodeId {
  if (rules.length === 0) return next;
  const unsafe = (hint: string, reason: string): NodeId =>
    addObjection(gate, hint, { check: 'guard', type: 'UnsafeOutputError', reason: quote(reason) });
  const conditions = rules.map(({ when }) =>
    typeof output === 'string'
      ? condition(when, { output })
      : `${output.anyOf}.exists(_each, ${condition(when, { output: '_each' })})`,
  );
  const holding = rules.map(({ reason }, index): Case => ({
    when: conditions[index] ?? 'true',
    to: unsafe(`guard.${index + 1}`, reason),
  }));
  const unknown = unsafe('guard.unknown', `a guard of \`${gate.stage}\` cannot be evaluated`);
  return addAll(
    gate,
    'guard',
    conditions.map((each) => `!(${each})`),
    holding,
    unknown,
    next,
  );
}

function addAll(
  { l, stage, at }: Gate,
  hint: string,
  all: readonly Expr[],
  broken: readonly Case[],
  unknown: NodeId,
  next: NodeId,
): NodeId {
  const which = l.kit.pick(stepOf(l, stage, `${at}.${hint}.which`), broken, unknown);
  return l.kit.when(stepOf(l, stage, `${at}.${hint}`), all.join(' && '), next, which);
}

/** Names in an expression of the author, and their meaning. */
export type Names = { readonly [name: string]: Expr };

function condition(when: string, names: Names): Expr {
  const known = new Map(Object.entries(names));
  return strictExpr(rewriteNames(withInputFields(when), ([root = '']) => known.get(root) ?? null));
}

/** Every required artifact must be there and not empty. No other plan changes the input: `unfit` handles what it lacks. */
export function addRequired(gate: Gate, names: readonly string[], next: NodeId, unfit: () => NodeId): NodeId {
  if (names.length === 0) return next;
  const refusedInput = names.every((name) => ARTIFACTS.has(name)) ? gate.refused : unfit();
  const cases = names.map((name): Case => ({
    when: isEmpty(ARTIFACTS.get(name) ?? `${REQUEST_FIELDS}[${quote(name)}]`),
    to: addObjection(
      gate,
      `requires.${name}`,
      {
        check: 'required',
        type: 'RequiredError',
        reason: quote(`\`${gate.stage}\` requires \`${name}\`, which is missing or empty`),
      },
      ARTIFACTS.has(name) ? gate.refused : refusedInput,
    ),
  }));
  return gate.l.kit.pick(stepOf(gate.l, gate.stage, 'requires'), cases, next);
}

/** The slots of stages, by the name of the stage. */
const ARTIFACTS: ReadonlyMap<string, Expr> = new Map([
  ['plan', PLAN],
  ...Object.values(WORK_KEYS).map((key): [string, Expr] => [key, SUMMARIES]),
  ['aggregate', AGGREGATE],
  ['validate', VERDICT],
]);

function isEmpty(value: Expr): Expr {
  return `cel.bind(v, ${value}, v == null || (type(v) == string && trim(v) == "") || ((type(v) == list || type(v) == map) && size(v) == 0))`;
}
