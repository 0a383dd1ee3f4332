/** The workers of a supervisor. Each works on one task, sees its brief, and replies with a summary. */
import type { Expr, NodeId } from '@sluice-internal/kernel/ir';
import { decisionOf } from '@sluice-internal/kernel/catalog';
import { literal, quote } from '@sluice-internal/compile/expressions';
import { set } from '@sluice-internal/compile/lower';
import { addFanOut, addSummaryChecks } from './fan-out.ts';
import { triesOf } from '../kinds.ts';
import { nameOf, stepOf, type Lowering } from '../lowering.ts';
import { spawnMax, type Work } from '../model.ts';
import { workerPrompt } from '../prompts.ts';
import { failedBranch, rollbackOf } from '../rollback.ts';
import { FEEDBACK, SUMMARY, TASK, TASKS, TASK_ID } from '../slots.ts';
import { addStageTurn } from '../stage.ts';

/** Tasks of a plan if the limit is switched off. */
const TASKS_MAX = 1000;
const TRIES = '_tries';

export function addWorkers(l: Lowering, work: Extract<Work, { is: 'workers' }>, next: NodeId): NodeId {
  return addFanOut(l, { each: TASKS, widthMax: work.widthMax, head: () => addWorker(l, work.agents), next });
}

/** The number of times that workers can run in one run. */
export function workerRuns(l: Lowering): number {
  return l.visits.work * l.startsMax * (spawnMax(l.staged) ?? TASKS_MAX);
}

/** The branch of one task. */
function addWorker(l: Lowering, agents: readonly string[]): NodeId {
  const { working } = l.staged;
  const step = (what: string) => stepOf(l, working.id, `worker.${what}`);
  const failed = failedBranch(l, working.id);
  const done = l.builder.end({
    state: 'completed',
    code: 'SUCCESS',
    output: `{"id": ${TASK}.id, "summary": ${SUMMARY}}`,
    origin: nameOf(l, working.id),
  });
  const runs = workerRuns(l);
  const turnsMax = runs * (1 + retriesOf(l));
  const begin = l.builder.fresh(`${nameOf(l, working.id)}.worker`);
  const refused = addTriedAgain(l, begin, failed);
  const checked = addSummaryChecks(l, refused, done);
  const turns = agents.map((agent, index) => ({
    when: `${TASK}.worker == ${quote(agent)} || (${TASK}.worker == null && int(${TASK}_index) % ${agents.length} == ${index})`,
    to: addStageTurn(l, {
      stage: working,
      agent,
      hint: `${nameOf(l, working.id)}.worker.${agent}`,
      prompt: workerPrompt(),
      schema: working.output,
      result: SUMMARY,
      turn: `text(${quote(`${working.id}/`)}, ${TASK_ID})`,
      runs: { of: working.id, max: turnsMax, label: `runs of the ${working.id}` },
      over: failed,
      next: checked,
      fail: refused,
    }),
  }));
  const only = turns.length === 1 ? turns[0]?.to : undefined;
  const choose = l.kit.pick({ ...step('agent'), id: begin }, only === undefined ? turns : [], only ?? failed);
  return l.kit.set(
    {
      ...step('task'),
      enters: nameOf(l, working.id),
      entersBy: TASK_ID,
      charges: [l.kit.visits(`tasks:${nameOf(l, working.id)}`, runs, failed, 'protections.spawn.max')],
    },
    [set(TASK_ID, `text(${TASK}.id)`), set(TRIES, '0'), set(SUMMARY, 'null')],
    choose,
  );
}

/** If the table answers a schema failure with a retry, the worker tries again by itself. */
function addTriedAgain(l: Lowering, begin: NodeId, failed: NodeId): NodeId {
  const { working } = l.staged;
  const max = retriesOf(l);
  if (max === 0) return failed;
  const runs = workerRuns(l) * max;
  const { undoes, writes } = rollbackOf(l, [working.id]);
  const again = l.kit.set(
    {
      ...stepOf(l, working.id, 'worker.retry'),
      undoes,
      decision: decisionOf('schema_or_grounding', 'retry'),
      charges: [l.kit.visits(`retries:${nameOf(l, working.id)}`, runs, failed, 'retries of a worker')],
    },
    [set(TRIES, `${TRIES} + 1`), set(FEEDBACK, 'text(error.message)'), set('error', 'null'), ...writes],
    begin,
  );
  return l.kit.when(stepOf(l, working.id, 'worker.failed'), `${isSchemaFailure} && ${TRIES} < ${max}`, again, failed);
}

/** Further tries of one task after a schema failure. */
function retriesOf({ staged }: Lowering): number {
  return triesOf(staged, staged.working, 'schema_or_grounding', 'retry');
}

/** Failures of other rows of the table. */
const OTHER_TYPES = ['LoopError', 'RoundsError', 'NoProgressError'];
const isSchemaFailure: Expr = `error.class == "semantic" && !(error.type in ${literal(OTHER_TYPES)})`;
