/** Pathologies of repetition: loops, spam, needless reflection, duplicate tasks and calls, and runs that do not stop. */
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { flat } from '@sluice-internal/guard/text';
import { foundIn, remedyFor, repeated, usualMost, type Found, type Pathology } from './detector.ts';
import type { ReplyStep, ToolStep, Trajectory } from './trajectory.ts';

const IDENTICAL = 3;
const WINDOW = 5;
const SPAM_PER_MINUTE = 10;
const MINUTE = 60_000;

export const runawayLoops: Pathology = {
  id: 'runaway-loops',
  title: 'Runaway Loops',
  symptom: 'The run repeats identical planning, repair or action steps.',
  cause: 'Vague termination rules, a missing exit edge, or a reply that no route reads.',
  rule: 'A cap on visits or the loop detector trips; or an agent gives the same reply three times; or the same call occurs three times among five calls of an agent; or the same call of an agent fails twice in a row with the same error.',
  containment: 'End the loop at its cap and keep the trace.',
  prevention: 'Every cycle has a cap and an exit that a reply can reach.',
  mast: 'FM-1.3',
  detect: (run) => loopByCap(run) ?? loopByReply(run) ?? loopByCall(run) ?? loopByFailure(run),
};

export const toolSpam: Pathology = {
  id: 'tool-spam',
  title: 'Tool Spam',
  symptom: 'The frequency of tool calls is far above what the task needs.',
  cause: 'Aggressive instructions, a weak policy for the choice of tools, or a reflection loop.',
  rule: 'The limit on tool calls or a rate trips; or one tool is called ten times within a minute; or the run makes more than three times as many calls as 95 % of the successful runs of its flow.',
  containment: 'Hold back further calls of the run, then repair or end it.',
  prevention: 'A budget for tool calls, the loop detector, and a policy gate.',
  mast: 'FM-1.3',
  detect: (run, peers) => {
    const trip = run.trips.find(({ unit }) => unit === 'toolCalls' || unit === 'rate');
    const burst = burstIn(run.calls);
    const usual = usualMost(peers.successes.map(({ toolCalls }) => toolCalls));
    const excessive = usual !== null && run.usage.toolCalls > 3 * Math.max(1, usual);
    if (trip === undefined && burst.length === 0 && !excessive) return null;
    const calls = burst.length > 0 ? burst : run.calls;
    const [first] = calls;
    const tool = first === undefined ? 'the tool' : first.tool;
    const advice =
      usual === null
        ? 'set `budgets.tool_calls`'
        : `lower \`tool_calls\` to ${Math.max(usual + 2, Math.ceil(usual * 1.5))}: 95 % of successes need ${usual}`;
    return {
      events: [...calls.map(({ seq }) => seq), ...(trip === undefined ? [] : [trip.seq])],
      seen: `${run.usage.toolCalls} tool calls${burst.length > 0 ? `, ${burst.length} of ${tool} within a minute` : ''}`,
      contained: trip === undefined ? null : `${trip.label} stopped the next call`,
      remedy: `${advice}, and set \`rate_limit: { calls: ${SPAM_PER_MINUTE}, per_seconds: 60 }\` on ${tool}`,
      ...(first === undefined ? {} : { node: first.node, agent: first.agent }),
    };
  },
};

export const overReflection: Pathology = {
  id: 'over-reflection',
  title: 'Over-Reflection',
  symptom: 'Many tokens go into critique that does not change the result.',
  cause: 'Reflection runs after every step instead of on a condition.',
  rule: 'The limit on reflections trips; or at least two reflections are followed by the same answer as before; or an author gives the same text again after a critic replied.',
  containment: 'Skip the reflection and continue, or end the run.',
  prevention: 'Reflect on a condition only: low confidence, a conflict, a failed check.',
  mast: 'FM-1.5',
  detect: (run) => {
    const trip = run.trips.find(({ unit }) => unit === 'reflections');
    const idle = idleReflections(run.replies);
    const stale = unchangedAfterCritic(run.replies);
    const events = [...idle, ...stale, ...(trip === undefined ? [] : [trip.seq])];
    if (trip === undefined && idle.length < 2 && stale.length === 0) return null;
    const tokens = run.replies
      .filter(({ reflection }) => reflection)
      .reduce((sum, { outputTokens }) => sum + outputTokens, 0);
    return {
      events,
      seen:
        stale.length > 0
          ? 'the reviewed text did not change'
          : `${idle.length} reflections changed nothing (${tokens} tokens)`,
      contained: trip === undefined ? null : `${trip.label} ended the reflection`,
      remedy: remedyFor(run, {
        loop: 'set `budgets.reflections` to 1',
        workflow:
          'lower `max_iterations` of the loop, or let the critic reply with the text of `until` when nothing changes',
        orchestration: 'lower `Termination.MaxIterations`, or let the critic approve a text that stays the same',
        staged: 'lower `replans`, or `validate.confidence`',
        other: 'add a route that leaves the review when the text stays the same, or lower `max_visits` of its node',
      }),
      agent: run.replies.find(({ reflection }) => reflection)?.agent ?? null,
    };
  },
};

export const redundantDecomposition: Pathology = {
  id: 'redundant-decomposition',
  title: 'Redundant Decomposition',
  symptom: 'A plan or a list of tasks has the same task twice.',
  cause: 'The planner has no map of dependencies, and tasks have no signature.',
  rule: 'Two steps of one plan, or two items of one fan-out, have the same words and the same tool.',
  containment: 'Merge the duplicates and update the dependencies.',
  prevention: 'Unique ids for tasks, a limit on depth, and a check of the plan.',
  mast: 'FM-1.3',
  detect: (run) => {
    const doubled = [
      ...run.plans.map(({ seq, steps }) => ({
        seq,
        node: 'plan',
        groups: repeated(steps.filter(isTask), taskPrint, 2),
      })),
      ...run.forks.map(({ seq, node, items }) => ({ seq, node, groups: repeated(items, taskPrint, 2) })),
    ].filter(({ groups }) => groups.length > 0);
    return foundIn(doubled, (first) => ({
      seen: `"${flat(first.groups[0]?.[0] ?? '').slice(0, 80)}" occurs ${first.groups[0]?.length} times`,
      remedy: remedyFor(run, {
        loop: 'set `plan.approve: true`, and lower `plan.max_steps`',
        staged: 'tell the planner to name each task once, and lower `protections.spawn.max`',
        flow: `remove duplicates before node ${first.node}: build its list in a \`set\` node, and lower its \`max_items\``,
        other: `tell the agent that makes the list of ${first.node} to name each task once`,
      }),
    }));
  },
};

export const duplicateActions: Pathology = {
  id: 'duplicate-actions',
  title: 'Duplicate Actions',
  symptom: 'Identical requests are sent repeatedly.',
  cause: 'Missing idempotency keys, transaction locks or control of retries.',
  rule: 'Two calls with effects succeed with the same tool and arguments; or three reads with the same arguments give the same result.',
  containment: 'Block the duplicate and inspect the state of the run.',
  prevention: 'Idempotency keys and the loop detector.',
  mast: 'FM-1.3',
  detect: (run) => {
    const done = run.calls.filter(({ ok }) => ok);
    const writes = repeated(
      done.filter(({ effect }) => effect !== 'read'),
      ({ print }) => print,
      2,
    );
    const reads = repeated(
      done.filter(({ effect }) => effect === 'read'),
      ({ print, result }) => `${print} ${JSON.stringify(result)}`,
      IDENTICAL,
    );
    const group = writes[0] ?? reads[0] ?? [];
    const stopped = run.trips.find(({ unit }) => unit === 'repeats');
    return foundIn(group, (first) => ({
      events: [...writes, ...reads].flat().map(({ seq }) => seq),
      seen: `${first.tool} succeeded ${group.length} times with the same arguments`,
      contained: stopped === undefined ? null : 'the loop detector stopped the next identical call',
      remedy:
        first.effect === 'read'
          ? `tell ${first.agent ?? 'the agent'} to use the first result, or set \`protections.loop.identical\` to 2`
          : `declare ${first.tool} \`idempotent: true\` if the service honours the key, or demand approval for it`,
    }));
  },
};

export const refusalToStop: Pathology = {
  id: 'refusal-to-stop',
  title: 'Refusal to Stop',
  symptom: 'The run continues after its goal is reached.',
  cause: 'A loop ignores that it is complete, or the graph has no terminal edge there.',
  rule: 'The answer of the run was already given, word for word, and at least two more model calls of the same agent followed before the end.',
  containment: 'Force the transition to the end.',
  prevention: 'An independent check of completion, and a guard that leads to a terminal.',
  mast: 'FM-1.5',
  detect: (run) => {
    const answers = run.replies.filter(({ proposes, text }) => proposes.length === 0 && text.trim() !== '');
    const last = answers.at(-1);
    if (last === undefined) return null;
    const first = answers.find(({ agent, text }) => agent === last.agent && same(text, last.text));
    if (first === undefined || first.seq === last.seq) return null;
    const later = run.replies.filter(({ agent, seq }) => agent === last.agent && seq > first.seq);
    return foundIn(later.length < 2 ? [] : [first, ...later], () => ({
      seen: `the answer stood at event ${first.settled}, and ${later.length} more model calls followed`,
      contained: run.trips.length > 0 ? `${run.trips.at(-1)?.label} ended the run` : null,
      remedy: remedyFor(run, {
        loop: `add \`criteria\` that the reply of ${first.agent} meets, and tell it to stop then`,
        workflow: `write \`until\` of the loop with a text that ${first.agent} replies when it is done`,
        orchestration: `add a \`Termination\` whose \`Pattern\` matches the reply of ${first.agent}`,
        staged: 'lower `replans`, or let the critic accept the result (`validate.confidence`)',
        other: `add a route from ${first.node} to a terminal whose \`when\` reads its reply`,
      }),
    }));
  },
};

const leaveLoop = (node: string) => ({
  loop: 'tell the agent in its `instructions` when to stop, or lower `budgets.steps`',
  workflow: `write \`until\` of step ${node} with a text that its agent really replies`,
  orchestration: `add a \`Termination\` that the replies of ${node} meet`,
  staged: 'lower `replans`',
  other: `give node ${node} a route that leaves the loop`,
});

function loopByCap(run: Trajectory): Found | null {
  const trips = run.trips.filter(({ unit, noted }) => (unit === 'visits' && !noted) || unit === 'repeats');
  return foundIn(trips, ({ label, node, unit }) => ({
    seen: `${label} was used up at ${node}`,
    contained: `${label} ended the loop`,
    remedy:
      unit === 'visits'
        ? `${remedyFor(run, leaveLoop(node))}: the loop ended by its cap and not by its condition`
        : `tell the agent of ${node} in its ${remedyFor(run, { orchestration: '`Instructions`', other: '`instructions`' })} when to stop, or set \`protections.loop.on_trip: escalate\``,
    agent: agentAt(run, node),
  }));
}

function loopByReply(run: Trajectory): Found | null {
  // An empty reply without calls is not a repeated step.
  const nonEmpty = run.replies.filter(({ text, proposes }) => text.trim() !== '' || proposes.length > 0);
  const [same = []] = repeated(nonEmpty, replyPrint, IDENTICAL);
  return foundIn(same, ({ agent, node }) => ({
    seen: `${agent} gave the same reply ${same.length} times`,
    remedy: remedyFor(run, {
      ...leaveLoop(node),
      other: `add a route from node ${node} that leaves the loop, and a cap (\`max_visits\`) with \`on_exhausted\``,
    }),
  }));
}

function loopByCall(run: Trajectory): Found | null {
  const calls = identicalCalls(run.calls);
  return foundIn(calls, ({ tool, node }) => ({
    seen: `${tool} was called ${calls.length} times with the same arguments`,
    remedy: `set \`protections.loop: { identical: ${IDENTICAL}, on_trip: escalate }\`; node ${node} repeats the call`,
  }));
}

function loopByFailure(run: Trajectory): Found | null {
  return foundIn(sameFailures(run.calls), ({ tool, node }) => ({
    seen: `${tool} failed twice in a row with the same arguments and the same error`,
    remedy: `describe the arguments of \`${tool}\` in its \`input\` schema, and tell the agent of ${node} what to do if it fails`,
  }));
}

/** Two calls of an agent in a row that failed with the same arguments and the same error. */
function sameFailures(calls: readonly ToolStep[]): readonly ToolStep[] {
  for (const mine of repeated(calls, ({ agent }) => agent ?? '', 1))
    for (const [index, call] of mine.entries()) {
      const before = mine[index - 1];
      if (before === undefined || call.error === null || before.error === null) continue;
      if (before.print === call.print && before.error.message === call.error.message) return [before, call];
    }
  return [];
}

function agentAt({ replies }: Trajectory, node: string): string | null {
  const reply = replies.findLast((each) => each.node === node);
  return reply === undefined ? null : reply.agent;
}

/** The calls of an agent that stand three times among five in a row. */
function identicalCalls(calls: readonly ToolStep[]): readonly ToolStep[] {
  for (const mine of repeated(calls, ({ agent }) => agent ?? '', 1))
    for (let end = 1; end <= mine.length; end++) {
      const [group] = repeated(mine.slice(Math.max(0, end - WINDOW), end), ({ print }) => print, IDENTICAL);
      if (group !== undefined) return group;
    }
  return [];
}

/** Ten calls of one tool within a minute. */
function burstIn(calls: readonly ToolStep[]): readonly ToolStep[] {
  for (const group of repeated(calls, ({ tool }) => tool, SPAM_PER_MINUTE))
    for (let start = 0; start + SPAM_PER_MINUTE <= group.length; start++) {
      const some = group.slice(start, start + SPAM_PER_MINUTE);
      if ((some.at(-1)?.at ?? 0) - (some[0]?.at ?? 0) <= MINUTE) return group;
    }
  return [];
}

function replyPrint({ agent, node, branch, text, proposes }: ReplyStep): string {
  return JSON.stringify([agent, node, branch, text.trim(), proposes]);
}

/** Reflections after which the next answer of the agent is the one before. */
function idleReflections(replies: readonly ReplyStep[]): readonly number[] {
  return replies.flatMap((reply, index) => {
    if (!reply.reflection) return [];
    const before = replies.slice(0, index).findLast(({ reflection, agent }) => !reflection && agent === reply.agent);
    const after = replies.slice(index + 1).find(({ reflection, agent }) => !reflection && agent === reply.agent);
    return before !== undefined && after !== undefined && same(before.text, after.text) ? [reply.seq] : [];
  });
}

/** The author gives the same text twice, with a reply of another agent in between. */
function unchangedAfterCritic(replies: readonly ReplyStep[]): readonly number[] {
  const drafts = replies.filter(({ proposes, reflection }) => proposes.length === 0 && !reflection);
  return drafts.flatMap((reply, index) => {
    const critic = drafts[index + 1];
    const again = drafts[index + 2];
    const isReviewed =
      critic !== undefined && again !== undefined && critic.agent !== reply.agent && again.agent === reply.agent;
    return isReviewed && reply.text.length > 20 && same(reply.text, again.text)
      ? [reply.seq, critic.seq, again.seq]
      : [];
  });
}

function same(a: string, b: string): boolean {
  return a.replaceAll(/\s+/g, ' ').trim() === b.replaceAll(/\s+/g, ' ').trim();
}

function isTask(step: Json): boolean {
  return isRecord(step) ? Object.keys(step).some((key) => key !== 'id') : true;
}

/** The words of a task without its id. */
function taskPrint(task: Json): string {
  const content = isRecord(task)
    ? Object.fromEntries(Object.entries(task).filter(([key]) => !UNSIGNED.has(key)))
    : task;
  return JSON.stringify(content)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}
const UNSIGNED: ReadonlySet<string> = new Set(['id', 'after', 'parent', 'needs', 'depends_on']);
