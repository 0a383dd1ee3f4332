/** The loop as a graph: one node per phase, in order, and the edges between them. */
import type { Expr, FlowBody, Node, NodeId } from '@sluice-internal/kernel/ir';
import { object, quote } from '@sluice-internal/compile/expressions';
import {
  OBSERVATIONS,
  allEntries,
  createBuilder,
  createKit,
  set,
  untrustedEntries,
  writeEffect,
} from '@sluice-internal/compile/lower';
import type { Lowered } from '@sluice-internal/compile/lower';
import type { Range } from '@sluice-internal/compile/source';
import type { Share } from '@sluice-internal/compile/graph';
import { addAction } from './act.ts';
import { budgetGate, isExtendable } from './budget.ts';
import { addEscalation } from './escalate.ts';
import { withFreeReplies } from './findings.ts';
import { addGrounding } from './ground.ts';
import { addBudgetAssign, addIntake } from './intake.ts';
import { addJudgement } from './judge.ts';
import { failedTrace, idOf, part, phase, type Lowering } from './nodes.ts';
import { addPlan } from './plan.ts';
import type { Loop } from './model.ts';
import {
  ANSWER,
  CROSSED,
  DOUBTS,
  ENDING,
  FINAL,
  GOAL,
  KIND,
  MARKS,
  ONE_MORE_REPAIR,
  REASON,
  RECALLED,
  REJECTED,
  REPAIRS,
  REVIEWED,
  PARSED_REPLY,
  STATUS,
  STORES,
  USER_ANSWERS,
  VIOLATIONS,
} from './state.ts';

export function lowerLoop(loop: Loop, at: Range): Lowered {
  const builder = createBuilder('loop', withFreeReplies(loop), {
    extendable: isExtendable(loop),
    complete: (id, node) => withAuthor(loop, priced(id, node)),
  });
  const l: Lowering = { kit: createKit(builder, at), builder, loop, stops: new Set() };
  const priced = pricing(l);
  const entry = addIntake(l);
  addPlan(l);
  addBudgetAssign(l);
  addAction(l);
  addGrounding(l);
  addJudgement(l);
  addEscalation(l);
  addFinish(l);
  const lowered = builder.build({
    id: loop.id,
    entry,
    view: {
      rates: loop.rates,
      stores: STORES,
      judgement: { rejected: REJECTED, violations: VIOLATIONS, reason: REASON },
    },
  });
  return {
    ...lowered,
    shares: [...(lowered.shares ?? []), repairsIn(l, lowered.body), ...reflectionsIn(l, lowered.body)],
  };
}

/** Repairs in a row are limited. They count anew after a plan, an answer of a person, and at most after each tool call. */
function repairsIn(l: Lowering, body: FlowBody): Share {
  return {
    counted: writing(body, REPAIRS, ONE_MORE_REPAIR),
    of: [...writing(body, REPAIRS, '0'), idOf(l, 'tool_invocation')],
    max: l.loop.reflection.repairs,
    atStart: 0,
  };
}

/**
 * Reflections are limited for the whole run. A reflection on a conflict counts even if its call fails. A reflection on
 * confidence counts only if its call succeeds. Without a limit on confidence, the loop does not reflect on it.
 */
function reflectionsIn({ loop }: Lowering, body: FlowBody): readonly Share[] {
  const noted = writing(body, DOUBTS, `${DOUBTS} + 1`);
  const doubts = loop.confidence === null ? callsBefore(body, noted) : noted;
  const crossed = callsBefore(body, writing(body, CROSSED, `${CROSSED} + 1`));
  const limit = (counted: readonly NodeId[], atStart: number): Share => ({ counted, of: [], max: 0, atStart });
  return [
    limit(doubts, loop.confidence === null ? 0 : loop.reflection.confidence),
    limit(crossed, loop.reflection.conflict),
  ];
}

function writing({ nodes }: FlowBody, slot: string, value: Expr): readonly NodeId[] {
  return Object.entries(nodes).flatMap(([id, node]) =>
    node.op === 'let' && node.writes.some((write) => write.slot === slot && write.value === value) ? [id] : [],
  );
}

function callsBefore({ nodes }: FlowBody, ids: readonly NodeId[]): readonly NodeId[] {
  return Object.entries(nodes).flatMap(([id, node]) => (node.op === 'do' && ids.includes(node.next) ? [id] : []));
}

/** Errors are reported for the agent whose turn it is, or for the loop. Questions are reported under their own name. */
function withAuthor({ id, executor }: Loop, node: Node): Node {
  if (node.label.authored !== undefined || node.op === 'end' || (node.op === 'do' && node.effect.kind === 'ask'))
    return node;
  const { name } = node.label;
  const called = name === 'tool_invocation' ? executor : id;
  const authored = node.op === 'do' && node.effect.kind === 'model' ? node.effect.agent : called;
  return { ...node, label: { ...node.label, authored } };
}

/** Adds the budget gate to every call. It is created with the first call, because its own nodes are not calls. */
function pricing(l: Lowering): (id: NodeId, node: Node) => Node {
  let gate: ReturnType<typeof budgetGate> | null = null;
  return (id, node) => {
    if (node.op !== 'do' && node.needs === undefined) return node;
    gate ??= budgetGate(l);
    return gate(id, node);
  };
}

/** The cited observations; without citations, all successful ones. */
const CITED: Expr = `type(${PARSED_REPLY}) == map && type(${PARSED_REPLY}.citations) == list ? ${PARSED_REPLY}.citations : ${OBSERVATIONS}.filter(o, o.ok).map(o, o.id)`;

/** Phases 16 to 18: the answer with its citations, memory, and the end of the run under its code. */
function addFinish(l: Lowering): void {
  const { kit, builder } = l;
  const ends = kit.when(
    part('terminate', 'terminate'),
    `${ENDING} == "PARTIAL_SUCCESS"`,
    builder.end({ state: 'completed', code: 'PARTIAL_SUCCESS', output: ANSWER }),
    builder.end({ state: 'completed', code: 'SUCCESS', output: ANSWER }),
  );
  const record = set(
    'record',
    object([
      ['ending', ENDING],
      ['status', STATUS],
      ['open', KIND],
    ]),
  );
  const trace = kit.set(phase(l, 'trace_logging'), [record], ends);
  // Failed runs have their own last phase: a certificate must not take a failure for the shortest path to success.
  const stops = [...l.stops].map((code) => ({
    when: `${ENDING} == ${quote(code)}`,
    to: builder.end({ state: 'failed', code }),
  }));
  const failed = kit.pick(part('terminate', 'terminate.failed'), stops, builder.failedEnd());
  // A refused answer is never the output.
  const rejected = `${ANSWER} == null || ${ANSWER} == "" ? null : {"text": text(${ANSWER}), "reasons": error == null ? [] : [error.message]}`;
  kit.set({ id: failedTrace(l), origin: 'trace_logging' }, [record, set(REJECTED, rejected)], failed);
  const reason = partialReason(l.loop);
  const judged = kit.set(
    part('final_response', 'final.judged'),
    [
      set(VIOLATIONS, `${VIOLATIONS} + ${MARKS}`),
      set(REASON, reason),
      set(ENDING, `(${reason}) == null ? "SUCCESS" : "PARTIAL_SUCCESS"`),
    ],
    addMemoryWrite(l, trace),
  );
  kit.set(phase(l, 'final_response'), [set(FINAL, object([['citations', CITED]]))], judged);
}

/** The reason why the run ends PARTIAL_SUCCESS; null for SUCCESS. A person who approves the answer removes all but the first. */
function partialReason({ criteria, verifier }: Loop): Expr {
  const marks = `${VIOLATIONS} + ${MARKS}`;
  const unchecked =
    criteria.length > 0 && verifier === null ? quote(`no verifier judged: ${criteria.join('; ')}`) : 'null';
  const open = `size(${marks}) > 0 ? (${marks})[0].message : ${unchecked}`;
  const stated = `type(${PARSED_REPLY}) == map && ${PARSED_REPLY}.reason != null ? text(${PARSED_REPLY}.reason) : "the agent reported a partial result"`;
  return `${STATUS} == "partial" ? (${stated}) : ${REVIEWED} != null ? null : (${open})`;
}

function addMemoryWrite(l: Lowering, trace: NodeId): NodeId {
  const { kit, loop } = l;
  const id = idOf(l, 'memory_write');
  const { memory } = loop;
  if (memory === null) return kit.set({ id, origin: 'memory_write' }, [], trace);
  const effect = writeEffect({
    agent: loop.executor,
    memory,
    validator: loop.verifier,
    tools: loop.definitions.tools,
    entry: {
      goal: GOAL,
      answer: ANSWER,
      citations: `${FINAL}.citations`,
      observations: OBSERVATIONS,
      userAnswers: `${USER_ANSWERS}.map(t, t.text)`,
      recalled: untrustedEntries(RECALLED),
      known: allEntries(RECALLED),
      doubt: REASON,
    },
  });
  return kit.call(
    { id, origin: 'memory_write', onBudget: trace },
    {
      effect,
      into: 'remembered',
      next: trace,
      fail: kit.set(part('memory_write', 'memory.failed'), [set('error', 'null')], trace),
    },
  );
}
