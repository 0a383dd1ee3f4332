/** From the plan to the graph. The entry of every unit is known before any is added, so nodes stand in reading order. */
import type { AgentDef, Case, FailureClass, ForkNode, Input, NodeId, Write } from '@sluice-internal/kernel/ir';
import { literal, object, path, quote } from '@sluice-internal/compile/expressions';
import {
  NO_RETRY,
  OBSERVATIONS,
  REPLY,
  VERDICT,
  addAttempts,
  addTurn,
  append,
  createBuilder,
  createKit,
  GUIDANCE,
  hearsAs,
  isObjectSchema,
  isRisky,
  set,
} from '@sluice-internal/compile/lower';
import type { Builder, Kit, Lowered, Step as Place } from '@sluice-internal/compile/lower';
import type { Range } from '@sluice-internal/compile/source';
import { replySettings } from '@sluice-internal/compile/document';
import type { Definitions } from '@sluice-internal/compile/document';
import type { Step, Workflow } from './model.ts';
import { HANDED, slotOf, UPSTREAM, lastBranches, type Plan, type Planned, type PlannedCall } from './plan.ts';
import type { ReadWorkflow } from './read.ts';

interface Lowering {
  readonly kit: Kit;
  readonly workflow: Workflow;
  /** True if a slot holds the agent that wrote the input. */
  readonly tracks: boolean;
  /** The name of a node of the step, and its place in the document. */
  place(step: Step, part?: string): Place;
  at(step: Step): Range;
  /** The id of the node that enters a step. */
  idOf(step: Step): NodeId;
}

/** Set when a failed step was skipped: the run is then a partial success at best. */
const PARTIAL = '_partial';

export function lowerWorkflow({ workflow, agents, body }: ReadWorkflow, plan: Plan, definitions: Definitions): Lowered {
  const builder = createBuilder('workflow', definitions);
  const replies = replySettings({}, definitions.budgets, definitions.models.find(null));
  for (const agent of agents.values()) builder.agent({ ...agent, ...replies });
  const ids = authoredIds(builder, workflow.steps);
  const kit = createKit(builder);
  const lowering: Lowering = {
    kit,
    workflow,
    tracks: plan.tracks,
    place: (step, part) => ({
      origin: step.name,
      hint: part === undefined ? step.name : `${step.name}.${part}`,
      at: body.at('steps', step.index),
    }),
    at: (step) => body.at('steps', step.index),
    idOf: (step) => ids[step.index] as NodeId,
  };
  const entries = plan.units.map((unit) => entryOf(lowering, unit));
  const end = addEnd(kit, plan);
  for (const [index, unit] of plan.units.entries())
    addUnit(lowering, unit, entries[index] as NodeId, entries[index + 1] ?? end);
  return builder.build({ id: workflow.id, entry: entries[0] ?? end, view: { stepResults: true, keepEnded: 200 } });
}

/** A step's own name if no other step has it. */
function authoredIds(builder: Builder, steps: readonly Step[]): readonly NodeId[] {
  const taken = new Set(steps.map(({ name }) => name));
  const used = new Set<string>();
  return steps.map(({ name, index }) => {
    let id = name;
    while (used.has(id) || (id !== name && taken.has(id))) id = `${id}#${index + 1}`;
    used.add(id);
    return builder.idOf(id);
  });
}

/** A plain step begins with its call. Every other unit begins with a node of its own. */
function entryOf({ kit: { builder }, idOf }: Lowering, unit: Planned): NodeId {
  if (unit.is === 'batch') return builder.fresh(`${unit.branches[0]?.name ?? ''}.fan-out`);
  const { step, calls } = unit;
  const plain = step.mode === 'Sequential' && calls.get(step)?.mayMeetItself !== true;
  return plain ? idOf(step) : builder.fresh(step.name);
}

function addUnit(lowering: Lowering, unit: Planned, at: NodeId, next: NodeId): void {
  if (unit.is === 'batch') return addBatch(lowering, unit, at, next);
  const { step } = unit;
  const call = unit.calls.get(step) as PlannedCall;
  if (step.mode === 'Loop') return addLoop(lowering, step, call, at, next);
  const writes = [
    replyToNextStep(lowering, step),
    ...storeReply(lowering, step),
    ...trackUpstream(lowering, step.agent),
  ];
  const called = addCall(lowering, step, call, { writes, next, skipped: next });
  if (called === at) return;
  if (step.mode !== 'Conditional') return guardDistinct(lowering, step, at, called);
  const { kit, place } = lowering;
  const holds = call.mayMeetItself ? kit.builder.fresh(`${step.name}.distinct`) : called;
  if (holds !== called) guardDistinct(lowering, step, holds, called);
  const cases = [{ when: `containsIgnoreCase(${unit.input}, ${quote(step.contains)})`, to: holds }];
  kit.pick({ ...place(step), id: at }, cases, next);
}

function addEnd(kit: Kit, { skips, output }: Plan): NodeId {
  const success = kit.end({ state: 'completed', code: 'SUCCESS', output });
  if (!skips) return success;
  const partial = kit.end({ state: 'completed', code: 'PARTIAL_SUCCESS', output });
  return kit.pick({ origin: 'end' }, [{ when: PARTIAL, to: partial }], success);
}

interface Way {
  readonly writes: readonly Write[];
  readonly next: NodeId;
  /** The node after a failure that the error mode skips. */
  readonly skipped: NodeId;
}

/** One invocation of an agent. Its source (workflow, step, upstream agent) is part of the input, so replay derives it again. */
function addCall(lowering: Lowering, step: Step, call: PlannedCall, way: Way): NodeId {
  const { kit, workflow, place, idOf } = lowering;
  const source = object([
    ['workflow', quote(workflow.id)],
    ['step', String(step.index)],
    ['upstream', call.upstream],
  ]);
  const { agents } = kit.builder.definitions;
  const agent = Object.hasOwn(agents, step.agent) ? agents[step.agent] : undefined;
  const schema = agent?.output ?? null;
  const failure = failureOf(lowering, step, way.skipped);
  const input = { prompt: call.prompt, source };
  if (agent !== undefined && (agent.tools.length > 0 || step.verifier !== null))
    return addStepTurn(lowering, step, agent, input, way, failure);
  const effect = kit.builder.model(step.agent, call.prompt);
  return kit.call(
    { ...place(step), id: idOf(step), enters: step.name, hears: hearsAs(step.agent) },
    {
      effect: { ...effect, input: { ...input, messages: GUIDANCE } },
      ...(schema === null ? {} : { schema }),
      writes: way.writes,
      timeoutMs: step.timeoutMs,
      retry: { max: step.retries, baseMs: 0, capMs: 0, on: step.retries > 0 ? RETRIED : [] },
      next: way.next,
      ...failure,
    },
  );
}

interface FailureWays {
  readonly failed: readonly Case[];
  readonly fail: NodeId;
}

/** A step whose agent has tools: one turn with as many model and tool calls as it needs, tried as a whole. */
function addStepTurn(
  lowering: Lowering,
  step: Step,
  agent: AgentDef,
  input: Input,
  way: Way,
  { failed, fail }: FailureWays,
): NodeId {
  const { kit, place, idOf } = lowering;
  const id = idOf(step);
  const visitsMax = step.mode === 'Loop' ? step.iterations : 1;
  const writes = way.writes.map((write) =>
    write.value === 'it.text' ? { ...write, value: path(REPLY, 'text') } : write,
  );
  const body = (next: NodeId): NodeId =>
    addTurn(kit.builder, {
      agent: step.agent,
      hint: id,
      origin: step.name,
      at: lowering.at(step),
      opening: [set('turn', quote(step.name))],
      input,
      tools: agent.tools,
      ...(agent.output === null ? {} : { schema: agent.output }),
      ...(step.verifier === null ? {} : { verifier: step.verifier }),
      visitsMax: visitsMax * (1 + step.retries),
      retry: NO_RETRY,
      next,
      fail: kit.failedEnd(),
      refused: kit.failedEnd(),
    });
  return addAttempts(kit, {
    step: { ...place(step), id, enters: step.name },
    part: (hint) => place(step, hint),
    timeoutMs: step.timeoutMs,
    retry: step.retries === 0 ? null : { max: step.retries, when: `error.class in ${literal([...RETRIED])}` },
    risky: agent.tools.some((tool) => isRisky(kit.builder.toolDef(tool))),
    visitsMax,
    gather: [
      { slot: REPLY, mode: 'last' },
      { slot: OBSERVATIONS, mode: 'concat' },
      ...(step.verifier === null ? [] : [{ slot: VERDICT, mode: 'last' as const }]),
    ],
    body,
    next: kit.set(place(step, 'replied'), writes, way.next),
    fail: kit.pick(place(step, 'refused'), failed, fail),
  });
}

/**
 * A failure or a timeout is retried. A refusal by a budget, a policy or a guardrail is not, because it would be refused again.
 */
const RETRIED: readonly FailureClass[] = ['transient', 'rate_limit', 'fatal', 'timeout', 'refused', 'semantic'];

/** A skipped failure is cleared, so that it is not reported as the reason of a later end. */
function failureOf({ kit, place }: Lowering, step: Step, skipped: NodeId): FailureWays {
  if (step.onError !== 'Skip') return { failed: [], fail: kit.failedEnd() };
  const fail = kit.set(place(step, 'skip'), [set(PARTIAL, 'true'), set('error', 'null')], skipped);
  return { failed: [{ when: 'error.class == "budget"', to: kit.failedEnd() }], fail };
}

function replyToNextStep(lowering: Lowering, step: Step): Write {
  return writeReply(lowering, step, HANDED);
}

/** The reply, in the step's variable if it has one. */
function storeReply(lowering: Lowering, step: Step): readonly Write[] {
  return step.output === null ? [] : [writeReply(lowering, step, slotOf(step.output))];
}

/** Steps pass on text. A reply that must be an object is passed on as the text of the object. */
function writeReply({ kit }: Lowering, { agent }: Step, slot: string): Write {
  const { agents } = kit.builder.definitions;
  const schema = Object.hasOwn(agents, agent) ? (agents[agent]?.output ?? null) : null;
  return { slot, mode: isObjectSchema(schema) ? 'object_text' : 'set', value: 'it.text' };
}

function trackUpstream({ tracks }: Lowering, agent: string | null): readonly Write[] {
  return tracks ? [set(UPSTREAM, agent === null ? 'null' : quote(agent))] : [];
}

/** Adds, at `at`, a check that the agent does not get its own output; `call` is where it goes if not. */
function guardDistinct({ kit, place }: Lowering, step: Step, at: NodeId, call: NodeId): void {
  const refuse = kit.fail(place(step, 'refuse'), {
    type: 'SameAgentError',
    message: quote(`step \`${step.name}\` would hand the agent \`${step.agent}\` its own output`),
  });
  kit.pick({ ...place(step), id: at }, [{ when: `${UPSTREAM} == ${quote(step.agent)}`, to: refuse }], call);
}

/**
 * A Loop step: a gate that charges the meter, the call, and a test of its output. Each iteration enters the step. When the
 * meter trips, the run goes on with the last output.
 */
function addLoop(lowering: Lowering, step: Step, call: PlannedCall, at: NodeId, next: NodeId): void {
  const { kit, place, idOf } = lowering;
  const done = addStore(lowering, step, next);
  const gate = call.mayMeetItself ? kit.builder.fresh(`${step.name}.gate`) : at;
  const look = kit.builder.fresh(`${step.name}.look`);
  const writes: Write[] = [replyToNextStep(lowering, step), ...trackUpstream(lowering, step.agent)];
  if (step.output !== null) writes.push(writeReply(lowering, step, outputSlot(step)));
  if (gate !== at) guardDistinct(lowering, step, at, gate);
  const meter = kit.visits(`loop:${idOf(step)}`, step.iterations, done, 'max_iterations');
  kit.pick({ ...place(step), id: gate, charges: [meter] }, [], idOf(step));
  addCall(lowering, step, call, { writes, next: look, skipped: done });
  const found = { when: `containsIgnoreCase(${HANDED}, ${quote(step.contains)})`, to: done };
  kit.pick({ ...place(step), id: look }, [found], gate);
}

/** The variable is stored once, when the loop ends. If every iteration failed, it is not stored. */
function addStore({ kit, place }: Lowering, step: Step, next: NodeId): NodeId {
  if (step.output === null) return next;
  const latest = outputSlot(step);
  const store = kit.set(place(step, 'store'), [set(slotOf(step.output), latest)], next);
  if (step.onError !== 'Skip') return store;
  return kit.pick(place(step, 'present'), [{ when: `${latest} != null`, to: store }], next);
}

/** The slot for the output of a branch or an iteration. Each batch and loop runs once, so the slot is unset before. */
function outputSlot({ index }: Step): string {
  return `_o${index}`;
}

type Batch = Extract<Planned, { is: 'batch' }>;

const OUTCOMES = '_batch';

function addBatch(lowering: Lowering, batch: Batch, at: NodeId, next: NodeId): void {
  const { kit, place } = lowering;
  const { branches, collect, calls } = batch;
  const first = branches[0] as Step;
  const done = kit.end({ state: 'completed', code: 'SUCCESS' });
  const heads = branches.map((step) => {
    const call = calls.get(step) as PlannedCall;
    const writes = [writeReply(lowering, step, outputSlot(step)), ...storeReply(lowering, step)];
    const called = addCall(lowering, step, call, { writes, next: done, skipped: done });
    if (!call.mayMeetItself) return { name: step.name, to: called };
    const guard = kit.builder.fresh(`${step.name}.distinct`);
    guardDistinct(lowering, step, guard, called);
    return { name: step.name, to: guard };
  });
  kit.fork(
    { ...place(first), id: at },
    {
      over: { heads },
      into: OUTCOMES,
      gather: gatheredFrom(lowering, branches),
      next: collect === null ? addLast(lowering, branches, next) : addCollect(lowering, branches, collect, next),
      fail: addBranchError(lowering, first),
    },
  );
}

function gatheredFrom({ kit }: Lowering, branches: readonly Step[]): ForkNode['gather'] {
  const gather: ForkNode['gather'][number][] = branches.map((step) => ({ slot: outputSlot(step), mode: 'last' }));
  for (const { output } of branches) if (output !== null) gather.push({ slot: slotOf(output), mode: 'last' });
  if (branches.some(({ onError }) => onError === 'Skip')) gather.push({ slot: PARTIAL, mode: 'any' });
  const { agents } = kit.builder.definitions;
  // Observations of a branch count for every later step.
  if (branches.some(({ agent }) => (agents[agent]?.tools.length ?? 0) > 0))
    gather.push({ slot: OBSERVATIONS, mode: 'concat' });
  return gather;
}

/** Passes on the output of the last branch that was not skipped. If all were skipped, the input stays as it was. */
function addLast(lowering: Lowering, branches: readonly Step[], next: NodeId): NodeId {
  const { kit, place } = lowering;
  let otherwise = next;
  for (const step of lastBranches(branches).toReversed()) {
    const writes = [set(HANDED, outputSlot(step)), ...trackUpstream(lowering, step.agent)];
    const take = kit.set(place(step, 'last'), writes, next);
    otherwise = step.onError === 'Skip' ? ifPresent(lowering, step, take, otherwise) : take;
  }
  return otherwise;
}

/** From the last branch to the first: certain outputs share one node, a branch that may be skipped gets a test of its own. */
function addCollect(lowering: Lowering, branches: readonly Step[], collect: Step, next: NodeId): NodeId {
  const { kit, place, idOf } = lowering;
  const add = (part: string, writes: readonly Write[], to: NodeId): NodeId => kit.set(place(collect, part), writes, to);
  let to = collect.output === null ? next : add('store', [set(slotOf(collect.output), HANDED)], next);
  let certain: Write[] = [];
  for (const step of branches.toReversed()) {
    const output = append(HANDED, outputSlot(step));
    if (step.onError !== 'Skip') {
      certain.unshift(output);
      continue;
    }
    if (certain.length > 0) to = add('append', certain, to);
    certain = [];
    to = ifPresent(lowering, step, add('append', [output], to), to);
  }
  const writes = [set(HANDED, '[]'), ...trackUpstream(lowering, null), ...certain];
  return kit.set({ ...place(collect), id: idOf(collect), enters: collect.name }, writes, to);
}

function ifPresent({ kit, place }: Lowering, step: Step, present: NodeId, absent: NodeId): NodeId {
  return kit.pick(place(step, 'present'), [{ when: `${outputSlot(step)} != null`, to: present }], absent);
}

/** The run fails with the error of the first failed branch. If several failed, the message names each. */
function addBranchError({ kit, place }: Lowering, first: Step): NodeId {
  const record =
    '{"class": e.class, "type": e.type, "message": size(lost) > 1 ? error.message : e.message, "node": e.node, "code": e.code}';
  const error = `cel.bind(lost, ${OUTCOMES}.filter(b, b.state != "completed"), cel.bind(e, lost[0].error, e == null ? error : ${record}))`;
  return kit.set(place(first, 'blame'), [set('error', error)], kit.failedEnd());
}
