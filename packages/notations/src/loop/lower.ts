/** The loop as a graph: one node per phase, in order, and the edges between them. */
import type { Expr, FlowBody, Node, NodeId } from '@sluice-internal/kernel/ir';
import { object, quote } from '@sluice-internal/compile/expressions';
import {
  OBSERVATIONS,
  VERDICT,
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
import { REPAIRS_MAX, addJudgement } from './judge.ts';
import { failedTrace, idOf, part, phase, type Lowering } from './nodes.ts';
import { addPlan } from './plan.ts';
import type { Loop } from './model.ts';
import {
  ANSWER,
  CROSSED,
  ENDING,
  JUDGED_AGAIN,
  FINAL,
  GOAL,
  KIND,
  MARKS,
  ONE_MORE_REPAIR,
  PROBLEM,
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
      stores: STORES,
      judgement: { rejected: REJECTED, violations: VIOLATIONS, reason: REASON, verdict: VERDICT },
    },
  });
  return {
    ...lowered,
    shares: [...(lowered.shares ?? []), repairsIn(l, lowered.body), ...verdictsIn(lowered.body)],
  };
}

/** Repairs in a row are limited. They count anew after a plan, an answer of a person, and at most after each tool call. */
function repairsIn(l: Lowering, body: FlowBody): Share {
  return {
    counted: writing(body, REPAIRS, ONE_MORE_REPAIR),
    of: [...writing(body, REPAIRS, '0'), idOf(l, 'tool_invocation')],
    max: REPAIRS_MAX,
    atStart: 0,
  };
}

/** One verdict for each answer: the first, and one after each way back that follows a verdict. */
function verdictsIn(body: FlowBody): readonly Share[] {
  const counted = Object.entries(body.nodes).flatMap(([id, node]) =>
    node.op === 'do' && node.effect.kind === 'model' && node.effect.input['verdict'] !== undefined ? [id] : [],
  );
  const back = Object.entries(body.nodes).flatMap(([id, node]) =>
    node.op === 'let' && node.writes.some(({ slot, mode }) => slot === USER_ANSWERS && mode === 'append') ? [id] : [],
  );
  const of = [
    ...writing(body, JUDGED_AGAIN, 'true'),
    ...writing(body, CROSSED, 'true'),
    ...writing(body, PARSED_REPLY, 'safer'),
    ...back,
  ];
  return counted.length === 0 ? [] : [{ counted, of, max: 1, atStart: 1 }];
}

function writing({ nodes }: FlowBody, slot: string, value: Expr): readonly NodeId[] {
  return Object.entries(nodes).flatMap(([id, node]) =>
    node.op === 'let' && node.writes.some((write) => write.slot === slot && write.value === value) ? [id] : [],
  );
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
  const end = (code: 'SUCCESS' | 'PARTIAL_SUCCESS' | 'UNVERIFIED') => ({
    when: `${ENDING} == ${quote(code)}`,
    to: builder.end({ state: 'completed', code, output: ANSWER }),
  });
  const ends = kit.pick(part('terminate', 'terminate'), [end('PARTIAL_SUCCESS'), end('UNVERIFIED')], end('SUCCESS').to);
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
  const failedVerdict = `${KIND} in ["criteria", "form"] ? {"by": "criteria", "ok": false, "problem": ${PROBLEM}, "scripted": false} : ${VERDICT}`;
  kit.set(
    { id: failedTrace(l), origin: 'trace_logging' },
    [record, set(REJECTED, rejected), set(VERDICT, failedVerdict)],
    failed,
  );
  const judged = kit.set(
    part('final_response', 'final.judged'),
    [
      set(ENDING, `${VERDICT}.ok != true ? "UNVERIFIED" : ${STATUS} == "partial" ? "PARTIAL_SUCCESS" : "SUCCESS"`),
      set(REASON, `${VERDICT}.ok != true ? ${VERDICT}.problem : ${STATUS} == "partial" ? ${STATED_REASON} : null`),
    ],
    addMemoryWrite(l, trace),
  );
  const shown = kit.set(
    part('final_response', 'final.verdict'),
    [set(VIOLATIONS, `${VIOLATIONS} + ${MARKS}`), set(VERDICT, finalVerdict(l.loop))],
    judged,
  );
  kit.set(phase(l, 'final_response'), [set(FINAL, object([['citations', CITED]]))], shown);
}

const STATED_REASON = `type(${PARSED_REPLY}) == map && ${PARSED_REPLY}.reason != null ? text(${PARSED_REPLY}.reason) : "the agent reported a partial result"`;

/** Who decided last that the answer is right: a person, the verifier, or criteria that are all expressions. */
function finalVerdict({ verifier, criteria, conditions }: Loop): Expr {
  const by = (who: string, ok: string, problem: Expr): Expr =>
    `{"by": ${quote(who)}, "ok": ${ok}, "problem": ${problem}, "scripted": false}`;
  const none = (problem: Expr): Expr => by('none', 'null', problem);
  const marks = `${VIOLATIONS} + ${MARKS}`;
  const unread =
    criteria.length > 0
      ? quote(`no verifier judged: ${criteria.join('; ')}`)
      : quote('no criterion and no verifier judged the answer');
  const shown = conditions.length > 0 && criteria.length === 0 ? by('criteria', 'true', 'null') : none(unread);
  const open =
    verifier === null
      ? `size(${marks}) > 0 ? ${none(`(${marks})[0].message`)} : ${shown}`
      : `${VERDICT} == null ? ${none('"the verifier gave no verdict"')} : ${VERDICT}`;
  return `${REVIEWED} != null ? ${by('person', 'true', 'null')} : (${open})`;
}

function addMemoryWrite(l: Lowering, trace: NodeId): NodeId {
  const { kit, loop } = l;
  const id = idOf(l, 'memory_write');
  const { memory } = loop;
  if (memory === null) return kit.set({ id, origin: 'memory_write' }, [], trace);
  const effect = writeEffect({
    agent: loop.executor,
    memory,
    validator: loop.verifier?.agent ?? null,
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
