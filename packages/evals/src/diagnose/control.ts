/** Pathologies of control: budgets, permissions, tools, people, credentials and retries. */
import { RISKY } from '@sluice-internal/kernel/ir';
import { foundIn, remedyFor, repeated, usualMost, type Pathology } from './detector.ts';
import type { ReplyStep, ToolStep } from './trajectory.ts';

const DAY = 86_400_000;
const OPEN_MAX = 10;
const INVALID_MAX = 3;
const BUDGETS: ReadonlySet<string> = new Set(['visits', 'repeats', 'rate']);

export const budgetBlowout: Pathology = {
  id: 'budget-blowout',
  title: 'Budget Blowout',
  symptom: 'Tokens, tool calls, time or dollars run away.',
  cause: 'A loop without a bound, a storm of retries, or no budget at all.',
  rule: 'A budget trips or a deadline passes; or the run costs more than three times as much as 95 % of the successful runs of its flow.',
  containment: 'End the run, or freeze it until a person approves more.',
  prevention: 'Budgets in every dimension, and a stop as soon as the run cannot finish within them.',
  mast: 'FM-1.5',
  detect: (run, peers) => {
    const trips = run.trips.filter(({ unit }) => !BUDGETS.has(unit));
    const usual = usualMost(peers.successes.map(({ costUsd }) => costUsd)) ?? 0;
    const dear = usual > 0 && run.usage.costUsd > 3 * usual;
    if (trips.length === 0 && !dear && run.code !== 'BUDGET_EXHAUSTED') return null;
    const calls = usualMost(peers.successes.map(({ toolCalls }) => toolCalls));
    const label = trips[0]?.label ?? 'the budget';
    const advice =
      calls === null
        ? `raise \`${label}\` if the work is worth it, or remove the loop that uses it up`
        : `95 % of successes need ${calls} tool calls and $${Number(usual.toPrecision(3))}: set the budgets a little above`;
    const reached = foundIn(trips, ({ node, why }) => ({
      seen: `${label} was reached at ${node}`,
      contained:
        why === 'foreseen' ? 'the run was stopped before the money was spent' : `${label} stopped the next call`,
      remedy: advice,
    }));
    const seen = `the run cost $${run.usage.costUsd}`;
    return reached ?? { events: [run.last], seen, remedy: `set \`budgets.cost_usd\`; ${advice}` };
  },
};

export const permissionCreep: Pathology = {
  id: 'permission-creep',
  title: 'Permission Creep',
  symptom: 'The model tries tools or data that it may not use.',
  cause: 'Broad credentials in the context of the model, or a weak policy gate.',
  rule: 'The boundary, a policy or the registry of tools refuses a proposed call, or a tool refuses it for lack of permission on the first try.',
  containment: 'Block the action, and look for an injection.',
  prevention: 'Least privilege, and the scope of the user on every call.',
  mast: 'FM-1.2',
  detect: (run) => {
    const denied = run.refused.filter(
      ({ check }) => check === 'permission' || check === 'registry' || check === 'risk',
    );
    const failed = run.calls.filter((call) => isDenied(call) && !hadSucceeded(run.calls, call));
    const events = [...denied.map(({ seq }) => seq), ...failed.map(({ settled }) => settled)];
    const attempts = [
      ...denied.map(({ tool, agent, reason }) => ({ tool, agent, reason, contained: 'the call was not made' })),
      ...failed.map(({ tool, agent, error }) => ({
        tool,
        agent,
        reason: `${tool}: ${error === null ? 'denied' : error.message}`,
        contained: 'the tool refused the call',
      })),
    ];
    const [first] = attempts;
    if (first === undefined) return null;
    const { tool, agent, reason, contained } = first;
    const remedy = `remove ${tool} from the tools of ${agent ?? 'the agent'}, or permit it (\`boundary.tools.allow\` instead of \`deny\`, or a policy); read the untrusted text before the call for an injection`;
    return { events, seen: reason, contained, remedy, agent };
  },
};

export const toolOverreach: Pathology = {
  id: 'tool-overreach',
  title: 'Tool Overreach',
  symptom: 'A costly or powerful tool does what a simple one could do.',
  cause: 'No deterministic path, or a weak rule for the choice of tools.',
  rule: 'A paid, shell, code or HTTP tool only computes arithmetic; or a paid read returns what an earlier free observation already had.',
  containment: 'Reject the call, and use the local deterministic method.',
  prevention: 'A least-tool policy and cheap alternatives.',
  mast: 'FM-1.1',
  detect: (run) => {
    const excessive = run.calls.filter(
      (call) =>
        ((call.paid || POWERFUL.test(call.tool)) && isArithmetic(call)) ||
        (call.paid && call.effect === 'read' && isKnown(run.calls, call)),
    );
    return foundIn(excessive, (first) => ({
      seen: isArithmetic(first)
        ? `${first.tool} was used for arithmetic`
        : `${first.tool} was paid for a result that was already there`,
      contained: first.approvedBy === null ? null : `${first.approvedBy} approved the call`,
      remedy: isArithmetic(first)
        ? `add calculator to the ${remedyFor(run, { orchestration: '`Plugins`', other: '`tools`' })} of ${first.agent ?? 'the agent'}, and remove ${first.tool} from them`
        : `put ${first.tool} under \`boundary.tools.approve\`, or describe in its \`description\` when the free tool is enough`,
    }));
  },
};

export const coordinationFailure: Pathology = {
  id: 'coordination-failure',
  title: 'Coordination Failure',
  symptom: 'Agents or branches wait for each other, or hand the task back and forth.',
  cause: 'Circular dependencies, or no rule for shared state.',
  rule: 'A join ends late; or a deadlock is recorded; or two agents take turns three times each with no successful tool call in between and repeat a message.',
  containment: 'End the run, or give the task to a supervisor.',
  prevention: 'Static graphs, tracked dependencies, and a supervisor who decides.',
  mast: 'FM-2.5',
  detect: (run) => {
    const late = run.lateJoins.map(({ seq }) => seq);
    const deadlocks = run.decisions.filter(({ failure }) => failure === 'deadlock').map(({ seq }) => seq);
    const pingPong = pingPongIn(run.replies, run.calls);
    const events = [...late, ...deadlocks, ...pingPong.map(({ seq }) => seq)];
    if (events.length === 0) return null;
    const agents = [...new Set(pingPong.map(({ agent }) => agent))];
    return {
      events,
      seen:
        late.length > 0
          ? 'branches did not finish in time'
          : deadlocks.length > 0
            ? 'a deadlock was recorded'
            : `${agents.join(' and ')} handed the task back and forth`,
      contained:
        late.length > 0 ? 'the join ended the branches' : deadlocks.length > 0 ? 'the deadlock monitor acted' : null,
      remedy:
        late.length > 0
          ? remedyFor(run, {
              flow: 'raise `join.timeout`, or use `join: { type: count, count: 1 }` where one branch is enough',
              workflow: 'give the slow step less to do, or raise its `timeout_secs`',
              orchestration: 'give the slow agent less to do, or raise `Model.TimeoutSeconds` of it',
              staged: 'give the slow worker less to do, or raise `workers.timeout`',
              other: 'give the slow call less to do, or raise the `timeout` of its tool',
            })
          : `set \`protections.deadlock\`, or let a manager choose between ${agents.join(' and ') || 'the agents'}`,
      agent: agents[0] ?? null,
    };
  },
};

export const validatorRetryStorm: Pathology = {
  id: 'validator-retry-storm',
  title: 'Validator Retry Storm',
  symptom: 'Outputs fail schema or safety checks again and again.',
  cause: 'A bad prompt contract, a model that cannot keep it, or a check that is too strict.',
  rule: 'At least three replies of one agent, or three calls of one tool, fail a schema, argument or acceptance check.',
  containment: 'Cap the retries, then fail closed or escalate.',
  prevention: 'A model or prompt that is made for the schema, and tests of validators.',
  mast: 'FM-3.3',
  detect: (run) => {
    const replies = run.replies.flatMap(({ agent, node, invalid }) =>
      invalid.map((seq) => ({ seq, who: agent, node })),
    );
    const checks = run.failedChecks
      .filter(({ grounding }) => !grounding)
      .map(({ seq, check }) => ({ seq, who: check, node: check }));
    const [storm = []] = repeated([...replies, ...checks], ({ who }) => who, INVALID_MAX);
    return foundIn(storm, ({ who, node }) => ({
      seen: `${storm.length} outputs of ${who} failed their check`,
      contained: run.state === 'failed' ? `the run ended ${run.code}` : null,
      remedy: `${remedyFor(run, {
        orchestration: `give ${who} an example of the reply in its \`Instructions\``,
        other: `shorten the \`output\` schema of ${who} or give an example of it in the instructions`,
      })}; ${remedyFor(run, {
        flow: `set \`retry.max_attempts\` to 2, and add \`on_error\` to node ${node}`,
        loop: 'lower `budgets.reflections`',
        staged: 'lower `replans`',
        other: 'choose a model that keeps the schema',
      })}`,
      agent: who,
    }));
  },
};

export const reviewQueueSaturation: Pathology = {
  id: 'human-review-queue-saturation',
  title: 'Human-Review Queue Saturation',
  symptom: 'Runs pile up because they wait for approvals.',
  cause: 'Too many flows route to people, or the approval policy is too broad.',
  rule: 'A question of the run expired, or has been open for a day; or it is open while ten questions of the database are open.',
  containment: 'Postpone reviews of low priority, and end runs whose high-risk approval expired.',
  prevention: 'Better thresholds for approval, and queues for specialists.',
  mast: null,
  detect: (run, peers) => {
    const stuck = run.questions.filter(
      ({ open, expired, at }) => expired || (open && (peers.openQuestions >= OPEN_MAX || peers.now - at >= DAY)),
    );
    const hoursOf = ({ answeredAt, at }: (typeof stuck)[number]): number =>
      Math.round(((answeredAt ?? peers.now) - at) / 3_600_000);
    return foundIn(stuck, (first) => ({
      seen: first.expired
        ? `the question about ${first.about} expired after ${hoursOf(first)} hours`
        : `the question about ${first.about} has been open for ${hoursOf(first)} hours; ${peers.openQuestions} questions are open`,
      contained: first.expired ? 'the expiry answered the question' : null,
      remedy: remedyFor(run, {
        flow: `narrow the condition that leads to ${first.node}, add \`approvers\` for it, or set \`timeout\` and \`on_timeout\``,
        other: `narrow \`boundary.tools.approve\`, add \`approvers\`, or set \`boundary.approval_timeout\``,
      }),
    }));
  },
};

export const credentialExpiry: Pathology = {
  id: 'tool-credential-expiry',
  title: 'Tool Credential Expiry',
  symptom: 'A valid plan fails because the login of a tool expired during the run.',
  cause: 'The run lives longer than its credentials.',
  rule: 'A tool fails with 401, 403 or an expired login after an earlier call of it, or of its server, succeeded.',
  containment: 'Renew the login, or pause the run.',
  prevention: 'Credentials that live as long as the run, renewed before they expire.',
  mast: null,
  detect: (run) => {
    const expired = run.calls.filter((call) => isDenied(call) && hadSucceeded(run.calls, call));
    const isRecovered = (first: ToolStep): boolean =>
      run.calls.some(({ tool, ok, seq }) => tool === first.tool && ok && seq > first.seq);
    return foundIn(expired, (first) => ({
      events: expired.map(({ settled }) => settled),
      seen: `${first.tool} failed with "${first.error?.message ?? ''}" after it had worked`,
      contained: isRecovered(first) ? 'a later call of the tool succeeded' : null,
      remedy: remedyFor(run, {
        flow: `add \`on_error: [{ match: "401|403", to: … }]\` to node ${first.node}, with a node that renews the login and returns`,
        other: `renew the login of ${first.tool} before the run starts, for at least as long as \`budgets.wall_clock_seconds\` allows`,
      }),
    }));
  },
};

export const idempotencyFailure: Pathology = {
  id: 'idempotency-failure',
  title: 'Idempotency Failure',
  symptom: 'A retry performs a side effect more than once.',
  cause: 'Missing idempotency keys or locks.',
  rule: 'A call with effects whose outcome was unknown (a timeout or a lost connection) is made again with the same arguments, and the tool is not idempotent.',
  containment: 'Stop the retries, and compare with the state of the other system.',
  prevention: 'Idempotency keys for all tools with effects.',
  mast: null,
  detect: (run) => {
    const risky = run.calls.filter(({ effect, idempotent }) => effect !== 'read' && !idempotent);
    const retried = risky.filter(({ attempts }) => attempts.length > 1);
    const again = repeated(risky, ({ print }) => print, 2).filter((group) => group.slice(0, -1).some(isUnknown));
    return foundIn([...retried, ...again.flat()], ({ tool }) => ({
      seen: `${tool} was sent again although its first outcome is unknown`,
      remedy: `declare ${tool} \`idempotent: true\` and pass the key to the service, or give it \`verify: <tool>\` so that the outcome is looked up first`,
    }));
  },
};

export const escalationBypass: Pathology = {
  id: 'escalation-bypass',
  title: 'Escalation Bypass',
  symptom: 'A high-risk action that a model proposed proceeds without approval.',
  cause: 'The risk of a tool is wrong, or a guard is missing.',
  rule: 'A financial, communication or infrastructure call that a model proposed is committed, and no person approved it. Calls that the author wrote into the flow are authorised by the author.',
  containment: 'Revoke the path to the action, and open an incident.',
  prevention: 'Approval is a guard of the transition to the call.',
  mast: 'FM-3.2',
  detect: (run) => {
    const bypassed = run.calls.filter(
      ({ ok, proposed, effect, approvedBy }) => ok && proposed && RISKY.has(effect) && approvedBy === null,
    );
    return foundIn(bypassed, ({ tool, effect }) => ({
      events: bypassed.map(({ settled }) => settled),
      seen: `${tool} (${effect}) was committed without an approval`,
      remedy: `put ${tool} under \`boundary.tools.approve\`, or remove it from \`boundary.tools.allow\``,
    }));
  },
};

const DENIED =
  /\b40[13]\b|unauthori[sz]ed|forbidden|(?:token|credential|login|session|key)s? (?:has |have )?expired|authentication/i;

function isDenied({ ok, error }: ToolStep): boolean {
  return !ok && error !== null && (error.class === 'policy' || DENIED.test(`${error.type} ${error.message}`));
}

/** Tools of one module share a login. */
function hadSucceeded(calls: readonly ToolStep[], { tool, seq }: ToolStep): boolean {
  const moduleOf = (name: string): string => (name.includes('.') ? name.slice(0, name.lastIndexOf('.')) : name);
  return calls.some((each) => each.ok && each.seq < seq && moduleOf(each.tool) === moduleOf(tool));
}

function isUnknown({ ok, error }: ToolStep): boolean {
  return !ok && (error?.class === 'timeout' || error?.class === 'transient');
}

const POWERFUL = /shell|code|exec|python|http/i;

/** The only text argument is a computation. */
function isArithmetic({ args }: ToolStep): boolean {
  const texts =
    typeof args === 'object' && args !== null ? Object.values(args).filter((value) => typeof value === 'string') : [];
  const [text = ''] = texts;
  const bare = text
    .replace(/^(?:echo|expr|print|return|console\.log|calc|node -p|python3? -c)\b/i, '')
    .replaceAll(/["'`$;]/g, '')
    .trim();
  return texts.length === 1 && /\d/.test(bare) && /[-+*/%^]/.test(bare) && /^[-+*/%^().,\d\s]+$/.test(bare);
}

function isKnown(calls: readonly ToolStep[], call: ToolStep): boolean {
  const result = JSON.stringify(call.result);
  if (!call.ok || result.length < 3) return false;
  return calls.some(
    (each) => each.ok && !each.paid && each.settled < call.seq && JSON.stringify(each.result).includes(result),
  );
}

/** Six turns of two agents in alternation, with a repeated message and no successful call among them. */
function pingPongIn(replies: readonly ReplyStep[], calls: readonly ToolStep[]): readonly ReplyStep[] {
  for (let start = 0; start + 6 <= replies.length; start++) {
    const some = replies.slice(start, start + 6);
    const [a, b] = some;
    if (a === undefined || b === undefined || a.agent === b.agent) continue;
    const alternates = some.every(({ agent }, index) => agent === (index % 2 === 0 ? a.agent : b.agent));
    const repeats = repeated(some, ({ agent, text }) => `${agent} ${text.trim()}`, 2).length > 0;
    const worked = calls.some(({ ok, seq }) => ok && seq > a.seq && seq < (some.at(-1)?.settled ?? 0));
    if (alternates && repeats && !worked) return some;
  }
  return [];
}
