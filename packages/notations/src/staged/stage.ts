/**
 * The anatomy that all stages share: a gate, the work in a branch of its own, a gate, and the recovery of failures. The
 * branch has the deadline and the budget of the stage; a branch that fails undoes what it did.
 */
import type { Expr, ForkNode, NodeId, Write } from '@sluice-internal/kernel/ir';
import { givenApprovers } from '@sluice-internal/compile/document';
import { quote } from '@sluice-internal/compile/expressions';
import {
  IF_OBJECT,
  OBSERVATIONS,
  REPLY,
  VERDICT,
  WHOLE_IF_OBJECT,
  addTurn,
  errorOf,
  isObjectSchema,
  modelRetry,
  set,
} from '@sluice-internal/compile/lower';
import type { AgentTurn, Step } from '@sluice-internal/compile/lower';
import type { Json } from '@sluice-internal/kernel/expr';
import { addGuards, addPass, addPolicy, addRequired, addSchema, type Gate } from './gates.ts';
import { entryOf, nameOf, ownProtections, stepOf, type Lowering, within } from './lowering.ts';
import { triesOf } from './kinds.ts';
import type { Stage } from './model.ts';
import { addRecover, type Recovering, type Recovery } from './recover.ts';
import { failedBranch, rollbackMark } from './rollback.ts';
import { OUTCOME, PARTIAL, PLACE, ROUND, SUMMARY, TRIPPED, TURN } from './slots.ts';
import { overspentMessage, stageMeters } from './stage-budget.ts';
import { OBJECTION, TASK_PART, tasksPart, textOf } from './prompts.ts';

/** The branch of the stage writes the slot `result`. */
export interface StageParts extends Omit<Recovering, 'again' | 'begin'> {
  /** The value that enters the stage. */
  readonly value: Expr;
  /** The slot of the result that people approve or edit, if it is another one. */
  readonly judged?: string;
  /** The node after an edited result. Default: the gate of this stage. */
  readonly edited?: NodeId;
  /** The id of the gate after the stage, if another stage leads to it. */
  readonly after?: NodeId;
  /** Writes as the stage begins. */
  readonly opening?: readonly Write[];
  /** Adds the nodes of the branch; they end at `done`. Without it, `opening` gives the result. */
  readonly body?: (done: NodeId, fail: NodeId) => NodeId;
  /** More slots that the branch returns. */
  readonly gather?: ForkNode['gather'];
  /** False if `path` lists the turns of the stage instead of the stage. */
  readonly listed?: boolean;
  /** Adds checks before the branch that the input of the stage must pass. */
  readonly invariants?: (gate: Gate, next: NodeId) => NodeId;
  /** Adds checks after the schema and before the guards. */
  readonly checks?: (gate: Gate, recovery: Recovery, next: NodeId) => NodeId;
}

/** Adds a stage that `path` lists under its own name, and returns its first node. */
export function addStage(l: Lowering, parts: StageParts): NodeId {
  const { stage, result } = parts;
  const begin = entryOf(l, stage.id);
  const after = parts.after ?? l.builder.fresh(`${nameOf(l, stage.id)}.after`);
  const recovery = addRecover(l, { ...parts, result: parts.judged ?? result, again: parts.edited ?? after, begin });
  return within(l, { meters: [], overspent: () => overspentOf(l, stage, recovery.failed) }, () => {
    l.kit.pick({ ...stepOf(l, stage.id, 'after'), id: after }, [], addAfter(l, parts, recovery));
    const run = parts.body === undefined ? after : addBranch(l, parts, recovery, after, parts.body);
    const before = addBefore(l, parts, recovery, run);
    return l.kit.set(
      {
        id: begin,
        origin: nameOf(l, stage.id),
        ...(parts.listed === false ? {} : { enters: nameOf(l, stage.id) }),
        ...(stage.agent === null && parts.listed !== false ? {} : { needs: { modelCalls: 1 } }),
      },
      [set(result, 'null'), set('error', 'null'), ...rollbackMark(l, stage.id), ...(parts.opening ?? [])],
      before,
    );
  });
}

/** The gate before the stage. */
function addBefore(l: Lowering, { stage, value, invariants }: StageParts, recovery: Recovery, next: NodeId): NodeId {
  const isGiven = stage.id === 'plan' && (stage.input !== null || stage.requires.length > 0);
  const unfit = isGiven ? recovery.unfit() : null;
  const gate: Gate = { l, stage: stage.id, at: 'before', refused: unfit ?? recovery.failed };
  const then = addPass(gate, next);
  const passed = addPolicy(gate, stage.agent, value, invariants?.(gate, then) ?? then);
  // The gate of the plan has checked what enters the work: every brief.
  const schema = stage === l.staged.working ? null : stage.input;
  const fitting = addSchema(gate, { schema, value }, passed);
  return addRequired(gate, stage.requires, fitting, () => unfit ?? recovery.unfit());
}

/** The gate after the stage: schema, policies, invariants and other checks, guards. */
function addAfter(l: Lowering, parts: StageParts, recovery: Recovery): NodeId {
  const { stage, result, next } = parts;
  const gate: Gate = { l, stage: stage.id, at: 'after', refused: recovery.failed };
  const passed = addPass(gate, next);
  const guarded = addGuards(gate, stage.guards, result, passed);
  const checked = addPolicy(gate, stage.agent, result, parts.checks?.(gate, recovery, guarded) ?? guarded);
  return addSchema(gate, { schema: stage.output, value: result, into: result }, checked);
}

/** The branch of a stage, with its deadline and its budget. */
function addBranch(
  l: Lowering,
  { stage, result, gather = [] }: StageParts,
  recovery: Recovery,
  next: NodeId,
  body: NonNullable<StageParts['body']>,
): NodeId {
  const failed = failedBranch(l, stage.id);
  const done = l.builder.end({ state: 'completed', code: 'SUCCESS' });
  const head = inBranch(l, stage, () => body(done, failed));
  return l.kit.fork(stepOf(l, stage.id, 'run'), {
    over: { heads: [{ name: nameOf(l, stage.id), to: head }] },
    timeoutMs: stage.timeoutMs,
    ...exceptPeople(stage),
    into: OUTCOME,
    gather: [{ slot: result, mode: 'last' }, ...COMMON_GATHER, ...gather],
    next,
    fail: addLost(l, stage, OUTCOME, recovery.failed),
  });
}

/** The timeout of a stage stands still while all that its branches still wait for is people. */
export function exceptPeople({ timeoutMs }: Stage): Pick<ForkNode, 'exceptPeople'> {
  return timeoutMs === null ? {} : { exceptPeople: true };
}

/** Slots that the branches of a stage return, also if they fail. */
export const COMMON_GATHER: ForkNode['gather'] = [
  { slot: OBSERVATIONS, mode: 'concat' },
  { slot: TRIPPED, mode: 'last' },
  { slot: PARTIAL, mode: 'any' },
  { slot: VERDICT, mode: 'last' },
];

/** Adds nodes of a branch of the stage: its calls charge the budget of the stage. */
export function inBranch<Result>(l: Lowering, stage: Stage, add: () => Result): Result {
  const own = ownProtections(l, stage);
  const overspent = () => overspentOf(l, stage, l.builder.failedEnd());
  const { approvers } = givenApprovers(stage.approvers, l.staged.definitions.people);
  return within(l, { meters: stageMeters(l, stage), own, overspent, approvers }, add);
}

/** After a failed join: the failure of the first branch, or that the stage took too long. */
export function addLost(l: Lowering, stage: Stage, outcomes: string, next: NodeId): NodeId {
  const seconds = (stage.timeoutMs ?? 0) / 1000;
  const late = errorOf(
    { type: 'StageTimeoutError', message: quote(`the stage \`${stage.id}\` took longer than ${seconds} s`) },
    nameOf(l, stage.id),
  );
  const lost = `${outcomes}.filter(b, b.state != "completed" && b.error != null)`;
  const error = `cel.bind(lost, ${lost}, size(lost) > 0 ? lost[0].error : error.class == "timeout" ? ${late} : error)`;
  return l.kit.set(stepOf(l, stage.id, 'lost'), [set('error', error)], next);
}

/** The node for a call that does not fit into a budget. */
export function overspentOf(l: Lowering, stage: Stage, next: NodeId): NodeId {
  const origin = nameOf(l, stage.id);
  const id = l.builder.idOf(`~${origin}.overspent>${next}`);
  if (l.builder.has(id)) return id;
  const message = overspentMessage(l, stage);
  return l.kit.fail({ id, origin }, { type: 'BudgetError', message }, next);
}

interface StageTurn extends Pick<AgentTurn, 'agent' | 'hint' | 'samples' | 'enters' | 'next'> {
  readonly stage: Stage;
  readonly prompt: Expr;
  /** The node after the reply. */
  readonly result: string;
  /** The number of the turn, as an expression; unique among the stages of the run or of one task of a team. */
  readonly turn: Expr;
  /** The JSON Schema of the reply, on top of the agent's own. */
  readonly schema?: Json;
  /** True if the object is looked for in prose too. */
  readonly readsObject?: boolean;
  /** The number of times that the turn can run, and the label of this limit. `of` is the part of the flow that it limits. */
  readonly runs: { readonly of: string; readonly max: number; readonly label: string };
  readonly fail: NodeId;
  /** The node for a turn above that limit. Default: `fail`. */
  readonly over?: NodeId;
}

/** One turn of an agent in a stage. The reply is stored as an object if it is one, or if a schema asks for one. */
export function addStageTurn(l: Lowering, turn: StageTurn): NodeId {
  const { stage, agent, hint, prompt, result, runs, next, fail, over = fail } = turn;
  const def = l.staged.definitions.agents[agent];
  const schemas = [def?.output ?? null, turn.schema ?? null] as const;
  const schema = bothOf(...schemas);
  const mode = schemas.some(isObjectSchema) ? 'object' : 'reply';
  const step: Step = { hint: `${hint}.replied`, origin: nameOf(l, stage.id) };
  return addTurn(l.builder, {
    agent,
    hint,
    origin: nameOf(l, stage.id),
    stage: stage.id.split('/')[0] ?? stage.id,
    recovers: true,
    enters: turn.enters && nameOf(l, turn.enters),
    samples: turn.samples,
    charges: [l.kit.visits(`runs:${nameOf(l, runs.of)}`, runs.max, over, runs.label)],
    opening: [set(TURN, `text(${l.prefix === '' ? '' : `${PLACE}, `}${turn.turn}, " ", ${ROUND})`)],
    input: { prompt },
    tools: def?.tools ?? [],
    ...(schema === null ? { fit: turn.readsObject === true ? IF_OBJECT : WHOLE_IF_OBJECT } : { schema }),
    ...(stage.verifier === null ? {} : { verifier: stage.verifier }),
    loop: stage.protections.loop,
    visitsMax: runs.max,
    retry: modelRetry(
      triesOf(l.staged, stage, 'provider_error', 'retry'),
      stage.protections.onFailure.provider_error?.retries !== undefined,
    ),
    next: l.kit.set(step, [{ slot: result, mode, value: `${REPLY}.text` }], next),
    fail,
    refused: fail,
  });
}

function bothOf(one: Json, other: Json): Json {
  if (one === null || other === null) return one ?? other;
  return { allOf: [one, other] };
}

interface RoundTurn extends Pick<StageTurn, 'agent' | 'schema' | 'next'> {
  /** The slot with the number of the round. */
  readonly round: string;
  readonly rounds: number;
  /** The text in the prompt between the task and the objection to the agent's last reply. */
  readonly prompt: readonly Expr[];
  readonly fail: NodeId;
}

/** One turn of an agent in a round of a debate or of a board. The reply is in the slot `summary`. */
export function addRoundTurn(l: Lowering, { round, rounds, prompt, ...turn }: RoundTurn): NodeId {
  const { working } = l.staged;
  const { agent } = turn;
  const runs = l.visits.work * l.startsMax * rounds;
  return addStageTurn(l, {
    ...turn,
    stage: working,
    hint: nameOf(l, `${working.id}.${agent}`),
    enters: `${working.id}/${agent}`,
    prompt: textOf(TASK_PART, tasksPart(l.staged), ...prompt, OBJECTION),
    result: SUMMARY,
    turn: `text(${quote(`${working.id}/${agent} `)}, ${round})`,
    runs: { of: `${working.id}.${agent}`, max: runs, label: `turns of ${agent}` },
  });
}
