/**
 * A standard operating procedure: steps in a fixed order. Each step is a stage with its own gates and its own recovery, and
 * sees the results of the steps before it. The effects of a step are undone if the run is aborted later, or before the step
 * is repeated.
 */
import type { NodeId } from '@sluice-internal/kernel/ir';
import { quote } from '@sluice-internal/compile/expressions';
import { set } from '@sluice-internal/compile/lower';
import { entryOf, nameOf, stepOf, type Lowering } from '../lowering.ts';
import type { Stage, Work } from '../model.ts';
import { OBJECTION, TASK_PART, part, tasksPart, textOf } from '../prompts.ts';
import { rollbackMark } from '../rollback.ts';
import { FEEDBACK, LOST, SUMMARIES, SUMMARY } from '../slots.ts';
import { addStage, addStageTurn } from '../stage.ts';

export function addProcedure(l: Lowering, { steps }: Extract<Work, { is: 'sop' }>, next: NodeId): NodeId {
  const [first] = steps;
  const entry = l.kit.set(
    { id: entryOf(l, l.staged.working.id), origin: nameOf(l, l.staged.working.id) },
    [set(SUMMARIES, '[]'), set(LOST, '[]'), ...rollbackMark(l, l.staged.working.id)],
    first === undefined ? next : entryOf(l, first.id),
  );
  for (const [index, step] of steps.entries()) {
    const after = steps[index + 1];
    addStep(l, step, after === undefined ? next : entryOf(l, after.id));
  }
  return entry;
}

function addStep(l: Lowering, step: Stage, next: NodeId): void {
  const { agent, id } = step;
  const name = id.slice('sop/'.length);
  addStage(l, {
    stage: step,
    value: SUMMARIES,
    result: SUMMARY,
    body: (done, fail) =>
      addStageTurn(l, {
        stage: step,
        agent: agent ?? '',
        hint: nameOf(l, `${id}.agent`),
        prompt: textOf(
          TASK_PART,
          tasksPart(l.staged),
          `size(${SUMMARIES}) == 0 ? "" : text(${part('Done so far', `join(${SUMMARIES}.map(s, text("[", s.id, "]\\n", s.summary)), "\\n\\n")`)})`,
          quote(`\n\nYour step: ${name}. Reply with its result.`),
          OBJECTION,
        ),
        schema: step.output,
        result: SUMMARY,
        turn: quote(id),
        runs: { of: id, max: l.visits.work * l.startsMax, label: `runs of ${id}` },
        next: done,
        fail,
      }),
    next: l.kit.set(
      stepOf(l, id, 'done'),
      [set(SUMMARIES, `${SUMMARIES} + [{"id": ${quote(name)}, "summary": ${SUMMARY}}]`), set(FEEDBACK, 'null')],
      next,
    ),
  });
}
