/** The rules that find a pathology. Each reads events that the engine wrote for it; none reads the meaning of a text. */
import { RISKY } from '@sluice-internal/kernel/ir';
import { canonical, isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { foundIn, remedyFor, repeated, type Detect } from './pathology.ts';
import type { ToolStep, Trajectory, Trip } from './trajectory.ts';

const INVALID_MAX = 3;
const IDLE_MIN = 2;

export const runawayLoops: Detect = (run) => {
  const trips = run.trips.filter(({ unit, noted }) => (unit === 'visits' && !noted) || unit === 'repeats');
  return foundIn(trips, ({ label, node, unit, agent }) => ({
    seen: `${label} was used up at ${node}`,
    contained: `${label} ended the loop`,
    remedy:
      unit === 'visits'
        ? `${leaveLoop(run, node)}: the loop ended by its cap and not by its condition`
        : `tell the agent of ${node} in its ${remedyFor(run, { orchestration: '`Instructions`', other: '`instructions`' })} what to do when a call fails or gives nothing new, or set \`protections.loop.on_trip: escalate\``,
    agent,
  }));
};

function leaveLoop(run: Trajectory, node: string): string {
  return remedyFor(run, {
    loop: 'tell the agent in its `instructions` when to stop, or lower `budgets.steps`',
    workflow: `write \`until\` of step ${node} with a text that its agent really replies`,
    orchestration: `add a \`Termination\` that the replies of ${node} meet`,
    staged: 'lower `replans`',
    other: `give node ${node} a route that leaves the loop`,
  });
}

export const toolSpam: Detect = (run) => {
  const trips = run.trips.filter(({ unit }) => unit === 'toolCalls' || unit === 'rate');
  const [most = []] = repeated(run.calls, ({ tool }) => tool, 1).toSorted((a, b) => b.length - a.length);
  const tool = most[0]?.tool ?? 'the tool';
  return foundIn(trips, ({ label, agent }) => ({
    seen: `${label} was reached after ${run.calls.length} tool calls, ${most.length} of them of ${tool}`,
    contained: `${label} stopped the next call`,
    remedy: `raise \`budgets.tool_calls\` if the work is worth it, or set \`rate_limit\` on ${tool}`,
    agent,
  }));
};

export const contextBloat: Detect = (run) =>
  foundIn(ofUnit(run, 'contextTokens'), ({ label }) => ({
    seen: `${label} was reached`,
    contained: `${label} stopped the call`,
    remedy: remedyFor(run, {
      orchestration: 'set `ContextWindow` of the agent, and `budgets.context_tokens`',
      other: 'raise `budgets.context_tokens`, let the tool return less, or lower `budgets.tool_calls`',
    }),
  }));

function ofUnit(run: Trajectory, unit: Trip['unit']): readonly Trip[] {
  return run.trips.filter((trip) => trip.unit === unit);
}

export const memoryPoisoning: Detect = (run) => {
  const writes = run.memory.filter(({ supported }) => !supported);
  return foundIn(writes, ({ reason }) => ({
    seen: reason === '' ? 'a memory write has no source' : reason,
    contained: writes.some(({ stored }) => stored) ? null : 'the write gate quarantined the entry',
    remedy: remedyFor(run, {
      loop: 'demand citations (`grounding: { cite: required }`), so that an answer without an observation is not remembered',
      orchestration:
        'set `EnableMemory: false` for this agent, or run it under `loop:` with `grounding: { cite: required }`',
      other: 'set `memory: false` for this agent, or run it under `loop:` with `grounding: { cite: required }`',
    }),
  }));
};

/** Values that a verifier accepted are no finding. */
export const hallucinatedObservation: Detect = (run) => {
  const marked = run.grounding.filter(({ ok }) => !ok);
  if (run.code === 'SUCCESS' && run.grounding.at(-1)?.ok === false) return null;
  return foundIn(marked, ({ reason, agent }) => ({
    seen: reason,
    contained: run.code === 'SUCCESS' ? 'the agent was asked for a correction' : 'the reply was refused',
    remedy: remedyFor(run, {
      loop: 'read the marked values in the report of the run; set `grounding.on_violation: halt` where a correction is not enough',
      other:
        'read the marked values in the report of the run; set `boundary.escalation.ungrounded: fail` where a correction is not enough',
    }),
    agent,
  }));
};

/** Paid reflections after which the agent gave the same answer again. */
export const overReflection: Detect = (run) => {
  const idle = run.reflections.filter(({ seq, thread }) => {
    const answers = run.replies.filter(({ proposes, thread: of }) => proposes.length === 0 && of === thread);
    const before = answers.findLast((reply) => reply.settled < seq && !reply.verdict);
    const after = answers.find((reply) => reply.seq > seq && !reply.verdict);
    return before !== undefined && after !== undefined && before.text.trim() === after.text.trim();
  });
  return foundIn(idle.length < IDLE_MIN ? [] : idle, ({ agent }) => ({
    seen: `${idle.length} reflections did not change the answer`,
    contained: 'budgets.reflections ends them',
    remedy: `set \`budgets.reflections\` to 1, ${remedyFor(run, { loop: 'or say in the `criteria` what is missing', other: 'or tell the verifier to say what is missing' })}`,
    agent,
  }));
};

export const redundantDecomposition: Detect = (run) => {
  const doubled = run.plans.flatMap(({ seq, node, steps }) =>
    repeated(steps.filter(hasContent), signature, 2)
      .slice(0, 1)
      .map((group) => ({ seq, node, group })),
  );
  return foundIn(doubled, ({ group }) => ({
    seen: `${signature(group[0] ?? null).slice(0, 80)} occurs ${group.length} times`,
    remedy: remedyFor(run, {
      loop: 'set `plan.approve: true`, and lower `plan.max_steps`',
      staged: 'tell the planner to name each task once, and lower `protections.spawn.max`',
      other: 'tell the planner to name each task once',
    }),
  }));
};

/** A task without its place in the plan. */
function signature(task: Json): string {
  return canonical(contentOf(task));
}

function contentOf(task: Json): Json {
  if (!isRecord(task)) return task;
  return Object.fromEntries(Object.entries(task).filter(([key]) => !PLACE.has(key)));
}
const PLACE: ReadonlySet<string> = new Set(['id', 'after', 'parent', 'needs', 'depends_on']);

function hasContent(task: Json): boolean {
  const content = contentOf(task);
  return !isRecord(content) || Object.keys(content).length > 0;
}

/** The rule of the same effect twice, for calls that were made. */
export const duplicateActions: Detect = (run) => {
  const made = run.calls.filter(({ ok, proposed, effect }) => ok && proposed && RISKY.has(effect));
  const [group = []] = repeated(made, ({ print }) => print, 2);
  return foundIn(group, ({ tool }) => ({
    seen: `${tool} was committed ${group.length} times with the same arguments`,
    contained: group.every(({ approvedBy }) => approvedBy !== null) ? 'a person approved every call' : null,
    remedy: `put ${tool} under \`boundary.tools.approve\`, or declare it \`idempotent: true\` if the service honours the key`,
  }));
};

const NO_BLOWOUT: ReadonlySet<string> = new Set(['visits', 'repeats', 'turns', 'rate', 'reflections', 'retries']);

export const budgetBlowout: Detect = (run) => {
  const ended = run.code === 'BUDGET_EXHAUSTED' || run.code === 'TIMEOUT';
  const trips = run.trips.filter(({ unit, noted }) => !NO_BLOWOUT.has(unit) && (ended || !noted));
  return foundIn([...trips, ...run.outOfTime], ({ label, node, why }) => ({
    seen: `${label} was reached at ${node}`,
    contained:
      why === 'foreseen' ? 'the run was stopped before the amount was spent' : `${label} stopped the run there`,
    remedy: `raise \`${label}\` if the work is worth it, or remove the loop that uses it up`,
  }));
};

export const permissionCreep: Detect = (run) => {
  const denied = run.refused.filter(({ check }) => check === 'permission' || check === 'registry');
  return foundIn(denied, ({ tool, agent, reason }) => ({
    seen: reason,
    contained: 'the call was not made',
    remedy: `remove ${tool} from the tools of ${agent ?? 'the agent'}, or permit it (\`boundary.tools.allow\` instead of \`deny\`, or a policy); read the untrusted text before the call for an injection`,
  }));
};

export const coordinationFailure: Detect = (run) =>
  foundIn(ofUnit(run, 'turns'), ({ node }) => ({
    seen: `the deadlock monitor found no new fact at ${node}`,
    contained: 'the deadlock monitor ended the turns',
    remedy: 'let a manager choose who is next, or set `protections.deadlock`',
  }));

export const validatorRetryStorm: Detect = (run) => {
  const replies = run.replies.flatMap(({ agent, node, invalid }) => invalid.map((seq) => ({ seq, agent, node })));
  const calls = run.badArguments.map(({ seq, tool, agent, node }) => ({ seq, agent: agent ?? tool, node }));
  const [storm = []] = repeated([...replies, ...calls], ({ agent }) => agent, INVALID_MAX);
  return foundIn(storm, ({ agent }) => ({
    seen: `${storm.length} outputs of ${agent} did not fit their schema`,
    contained: run.state === 'failed' ? `the run ended ${run.code}` : null,
    remedy: remedyFor(run, {
      orchestration: `give ${agent} an example of the reply in its \`Instructions\``,
      other: `shorten the \`output\` schema of ${agent} or the \`input\` schema of its tool, or give an example in the \`instructions\``,
    }),
  }));
};

export const reviewQueueSaturation: Detect = (run) =>
  foundIn(run.saturated, ({ about, node }) => ({
    seen: `the question about ${about} waits in a queue that is full`,
    remedy: remedyFor(run, {
      flow: `narrow the condition that leads to ${node}, add \`approvers\` for it, or set \`timeout\` and \`on_timeout\``,
      other: 'narrow `boundary.tools.approve`, add `approvers`, or set `boundary.approval_timeout`',
    }),
  }));

export const observationParserDrift: Detect = (run) => {
  const broken = run.calls.filter(({ error }) => error !== null && MISFITS.has(error.type));
  return foundIn(broken, (first) => ({
    events: broken.map(({ settled }) => settled),
    seen: `${first.tool}: ${first.error?.message ?? ''}`,
    contained: 'the result was not accepted',
    remedy: `compare the \`output\` schema of ${first.tool} with what the service returns now${remedyFor(run, { flow: `, and add \`on_error\` to node ${first.node}`, other: '' })}`,
  }));
};

/** A tool gave a result, and the result does not fit its schema. */
const MISFITS: ReadonlySet<string> = new Set(['SchemaError', 'ResultError']);

export const idempotencyFailure: Detect = (run) => {
  const risky = run.calls.filter(({ effect, idempotent }) => effect !== 'read' && !idempotent);
  const resent = risky.filter(({ attempts }) =>
    attempts.some(({ unknown }, at) => unknown && at < attempts.length - 1),
  );
  const again = repeated(risky, ({ print }) => print, 2).filter((group) => group.slice(0, -1).some(isUnknown));
  return foundIn([...resent, ...again.flat()], ({ tool }) => ({
    seen: `${tool} was sent again although its first outcome is unknown`,
    remedy: `declare ${tool} \`idempotent: true\` and pass the key to the service, or give it \`verify: <tool>\` so that the outcome is looked up first`,
  }));
};

function isUnknown({ attempts }: ToolStep): boolean {
  return attempts.at(-1)?.unknown === true;
}
