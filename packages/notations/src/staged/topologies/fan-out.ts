/**
 * A fan-out: one branch per task, a number of them at once. The branches run on the main line, so that results stay if a
 * later task fails. A failed branch undoes what it did. A lost task makes the result partial; the validation decides.
 */
import type { Expr, ForkNode, NodeId, Write } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { quote } from '@sluice-internal/compile/expressions';
import { decided, set } from '@sluice-internal/compile/lower';
import { addGuards, addObjection, addPass, addPolicy, addRequired, addSchema, type Gate } from '../gates.ts';
import { entryOf, nameOf, stepOf, within, type Lowering } from '../lowering.ts';
import { addRecover, type Recovery } from '../recover.ts';
import { rollbackMark } from '../rollback.ts';
import { LOST, OUTCOMES, PARTIAL, SUMMARIES, SUMMARY, TASK, TASK_ID } from '../slots.ts';
import { COMMON_GATHER, addLost, exceptPeople, inBranch, overspentOf } from '../stage.ts';

export interface FanOut {
  /** The list of tasks. */
  readonly each: Expr;
  readonly widthMax: number;
  /** Adds the nodes of one task. They end at an end with the output `{ id, summary }`. */
  readonly head: () => NodeId;
  /** Further writes as the stage begins. */
  readonly opening?: readonly Write[];
  /** Slots that branches hand back. */
  readonly gather?: ForkNode['gather'];
  /** The id of the fork, if the tasks of a later level go there. */
  readonly id?: NodeId;
  /** Adds the nodes after the outcomes are collected, in front of `next`. They may go back to the fork. */
  readonly collected?: (next: NodeId, recovery: Recovery) => NodeId;
  /** The summaries of this fork, as writes; by default they replace the earlier ones. */
  readonly summaries?: readonly Write[];
  /** The node after all summaries. */
  readonly next: NodeId;
}

/** Adds the stage and returns its first node. */
export function addFanOut(l: Lowering, fanOut: FanOut): NodeId {
  const { working } = l.staged;
  const begin = entryOf(l, working.id);
  const again = l.builder.fresh(`${nameOf(l, working.id)}.edited`);
  const recovery = addRecover(l, { stage: working, result: SUMMARIES, next: fanOut.next, again, begin });
  const gate: Gate = { l, stage: working.id, at: 'after', refused: recovery.failed };
  return within(l, { meters: [], overspent: () => overspentOf(l, working, recovery.failed) }, () => {
    const passed = addPolicy(gate, null, SUMMARIES, addPass(gate, fanOut.next));
    addEdited(l, gate, again, passed);
    const fork = addTasks(l, fanOut, recovery, fanOut.collected?.(passed, recovery) ?? passed);
    const before: Gate = { ...gate, at: 'before' };
    const permitted = addPolicy(before, null, fanOut.each, addPass(before, fork));
    const required = addRequired(before, working.requires, permitted, recovery.unfit);
    return l.kit.set(
      { id: begin, origin: nameOf(l, working.id), needs: { modelCalls: 1 } },
      [
        set(SUMMARIES, '[]'),
        set(LOST, '[]'),
        set('error', 'null'),
        ...rollbackMark(l, working.id),
        ...(fanOut.opening ?? []),
      ],
      required,
    );
  });
}

function addTasks(l: Lowering, fanOut: FanOut, recovery: Recovery, next: NodeId): NodeId {
  const { each, widthMax, head, gather = [], id } = fanOut;
  const { working } = l.staged;
  const step = (what: string) => stepOf(l, working.id, what);
  const summaries = fanOut.summaries ?? [
    set(SUMMARIES, `${OUTCOMES}.filter(b, b.state == "completed").map(b, b.output)`),
  ];
  const collected = l.kit.set(step('collect'), summaries, next);
  const partial = l.kit.set(step('partial'), [set(PARTIAL, 'true'), set('error', 'null')], next);
  const decided = l.kit.when(step('lost.judge'), isTolerable(l), partial, recovery.failed);
  const lost = l.kit.set(step('lost.tasks'), [...summaries, set(LOST, `${LOST} + ${lostIn(each)}`)], decided);
  return l.kit.fork(
    { ...step('run'), ...(id === undefined ? {} : { id }) },
    {
      over: { each, as: TASK, head: inBranch(l, working, head) },
      widthMax,
      timeoutMs: working.timeoutMs,
      ...exceptPeople(working),
      into: OUTCOMES,
      gather: [...COMMON_GATHER, ...gather],
      next: collected,
      fail: addLost(l, working, OUTCOMES, lost),
    },
  );
}

/** Tasks without a result, with the reason. A task that was cut off has no error of its own. */
function lostIn(each: Expr): Expr {
  const problem = 'b.error == null ? "it was cut off" : b.error.message';
  return `${OUTCOMES}.filter(b, b.state != "completed").map(b, {"id": ${each}[int(b.name)].id, "problem": ${problem}})`;
}

/**
 * A task may be lost if others have results. A used-up budget, an unsafe output and a denied action are never tolerated; in the
 * regulated tier, nothing is.
 */
function isTolerable({ staged: { tier } }: Lowering): Expr {
  if (tier === 'regulated') return 'false';
  const grave = `${OUTCOMES}.exists(b, b.error != null && (b.error.class in ["budget", "guardrail", "policy"] || b.error.code == "BUDGET_EXHAUSTED"))`;
  return `size(${SUMMARIES}) > 0 && !(${grave})`;
}

/** The schema and the guards of a summary, in the branch of its task. */
export function addSummaryChecks(l: Lowering, refused: NodeId, done: NodeId): NodeId {
  const { working } = l.staged;
  const gate: Gate = { l, stage: working.id, at: 'after', refused };
  const { safeFallback, guards, output } = working;
  const empty = addObjection(gate, 'empty', {
    check: 'schema',
    type: 'EmptySummaryError',
    reason: `text("the summary of \`", ${TASK_ID}, "\` is empty")`,
  });
  const safe = safeFallback === null || l.staged.tier !== 'interactive' ? null : addSafeSummary(l, safeFallback, done);
  const guarded = addGuards(safe === null ? gate : { ...gate, refused: safe }, guards, SUMMARY, done);
  const filled = l.kit.when(
    stepOf(l, working.id, 'worker.filled'),
    `${SUMMARY} == null || ${SUMMARY} == ""`,
    empty,
    guarded,
  );
  return addSchema(gate, { schema: output, value: SUMMARY, into: SUMMARY }, filled);
}

/** The interactive tier blocks an unsafe summary and goes on with the safe text. */
function addSafeSummary(l: Lowering, text: string, next: NodeId): NodeId {
  const step = (action: 'block' | 'fallback') =>
    decided(stepOf(l, l.staged.working.id, `worker.${action}`), 'unsafe_output', action);
  const writes = [set(SUMMARY, quote(text)), set(PARTIAL, 'true'), set('error', 'null')];
  return l.kit.set(step('block'), [], l.kit.set(step('fallback'), writes, next));
}

/** Edited summaries pass the same checks as those of branches. */
function addEdited(l: Lowering, gate: Gate, id: NodeId, next: NodeId): void {
  const { output, guards } = l.staged.working;
  const guarded = addGuards(gate, guards, { anyOf: `${SUMMARIES}.map(s, s.summary)` }, next);
  const schema: Json = output === null ? null : { type: 'array', items: { properties: { summary: output } } };
  const fitting = addSchema(gate, { schema, value: SUMMARIES, hint: 'edited.schema' }, guarded);
  const refused = addObjection(gate, 'edited.refused', {
    check: 'schema',
    reason: '"the edit is not a list of `{ id, summary }`"',
  });
  const fits = `type(${SUMMARIES}) == list && size(${SUMMARIES}) > 0 && ${SUMMARIES}.all(s, type(s) == map && s.id != null && s.summary != null)`;
  l.kit.when({ ...stepOf(l, l.staged.working.id, 'edited'), id }, fits, fitting, refused);
}
