/** Pathologies of truth: claims without evidence, wrong ends, drift, old or poisoned knowledge, and misread tool results. */
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { flat } from '@sluice-internal/guard/text';
import { foundIn, overlap, remedyFor, wordsIn, type Pathology } from './detector.ts';
import type { ToolStep, Trajectory } from './trajectory.ts';

export const hallucinatedObservation: Pathology = {
  id: 'hallucinated-observation',
  title: 'Hallucinated Observation',
  symptom: 'The model claims that a tool ran or succeeded, and it did not.',
  cause: 'The model infers success instead of reading the result of the tool.',
  rule: 'The grounding check of the flow fails: a reply states a value, cites an observation or lists a call that the observations do not show.',
  containment: 'Halt the loop and mark the violation.',
  prevention:
    'Separate intended, attempted, observed, verified and committed states; check the answer against the observations.',
  mast: 'FM-2.6',
  detect: (run) => {
    const [refused, ...more] = run.failedChecks.filter(({ grounding }) => grounding);
    if (refused === undefined) return null;
    return {
      events: [refused, ...more].map(({ seq }) => seq),
      seen: refused.reason,
      contained:
        run.code === 'SUCCESS' ? 'the grounding check asked for a correction' : 'the grounding check refused the reply',
      remedy: remedyFor(run, {
        loop: 'read the marked values in the report of the run; set `grounding.on_violation: halt` where a correction is not enough',
        other:
          'read the marked values in the report of the run; set `boundary.escalation.ungrounded: fail` where a correction is not enough',
      }),
      agent: lastAgent(run),
    };
  },
};

export const prematureTermination: Pathology = {
  id: 'premature-termination',
  title: 'Premature Termination',
  symptom: 'The run stops before its goal is complete.',
  cause: 'A weak check of completion, or a success that the model declares without evidence.',
  rule: 'The run ends SUCCESS, PARTIAL_SUCCESS or UNVERIFIED although its last check failed, a step of its plan is open, or nothing shows that its answer is right.',
  containment: 'Reopen the run through the engine only, from its last checkpoint.',
  prevention: 'SUCCESS needs verified criteria.',
  mast: 'FM-3.1',
  detect: (run) => {
    if (!ENDED.has(run.code ?? '')) return null;
    const unfinished = unfinishedIn(run);
    if (unfinished === null) return null;
    return {
      events: [unfinished.seq, run.last],
      seen: unfinished.reason,
      contained: run.code === 'SUCCESS' ? null : `the run ended ${run.code ?? ''} and not SUCCESS`,
      remedy: remedyFor(run, {
        loop: 'add a check to `criteria`, such as `{ when: "receipts.exists(r, r.tool == \'orders.place\')", reason: "no order" }`',
        staged: 'add a check to `validate.invariants`, as `{ when, reason }`',
        orchestration: 'add an evidence gate or a validator to the edge that leads to the end',
        workflow: 'add a step that checks the answer, with a condition on its reply',
        other: 'add a `when` to the route that leads to the terminal, which reads the results of the tools',
      }),
      agent: lastAgent(run),
    };
  },
};

const ENDED: ReadonlySet<string> = new Set(['SUCCESS', 'PARTIAL_SUCCESS', 'UNVERIFIED']);

export const planGoalDrift: Pathology = {
  id: 'plan-goal-drift',
  title: 'Plan / Goal Drift',
  symptom: 'The plan strays from the goal of the user.',
  cause: 'A broad planning prompt, old context, or decomposition without a bound.',
  rule: 'A later version of the plan shares at most half as many words with the goal as the first one, or none at all.',
  containment: 'Pause, and validate the plan again.',
  prevention: 'Each version of the plan must fit the goal and the nodes of the graph.',
  mast: 'FM-2.3',
  detect: (run) => {
    const goal = wordsIn(run.goal);
    const plans = run.plans
      .map(({ seq, steps }) => ({ seq, words: wordsIn(stepsText(steps)) }))
      .filter(({ words }) => words.size > 0);
    if (goal.size === 0 || plans.length === 0) return null;
    const shares = plans.map(({ seq, words }) => ({ seq, share: overlap(goal, words) }));
    const first = shares[0]?.share ?? 0;
    const drifted = shares.find(({ share }, index) => share === 0 || (index > 0 && share <= first / 2));
    if (drifted === undefined) return null;
    return {
      events: shares.map(({ seq }) => seq).filter((seq) => seq <= drifted.seq),
      seen: `the plan at event ${drifted.seq} shares ${Math.round(drifted.share * 100)} % of the words of the goal, the first one ${Math.round(first * 100)} %`,
      contained: run.code === 'SUCCESS' ? null : `the run ended ${run.code ?? run.state}`,
      remedy: remedyFor(run, {
        loop: 'set `plan.approve: true`, or add `criteria` that name the goal; tell the planner to quote the goal in each step',
        staged: 'tell the planner to quote the goal in each brief, and check the result in `validate.invariants`',
        orchestration: 'tell the planner in its `Instructions` to quote the goal in each step',
        other: 'tell the planner in its `instructions` to quote the goal in each step',
      }),
    };
  },
};

export const contextBloat: Pathology = {
  id: 'context-bloat',
  title: 'Context Bloat',
  symptom: 'Prompts grow until the model loses instructions or facts.',
  cause: 'Raw outputs, drafts and reflections are appended without compression.',
  rule: 'The limit on context tokens trips; or a prompt has at least 4,000 tokens and four times as many as the first prompt of its agent.',
  containment: 'Compress the context, or halt if that is unsafe.',
  prevention: 'Keep only verified state in the context; notes expire.',
  mast: 'FM-1.4',
  detect: (run) => {
    const trip = run.trips.find(({ unit }) => unit === 'contextTokens');
    if (trip !== undefined)
      return {
        events: [trip.seq],
        seen: `${trip.label} was reached`,
        contained: `${trip.label} stopped the call`,
        remedy: remedyFor(run, BLOAT_REMEDY),
        node: trip.node,
      };
    for (const reply of run.replies) {
      const first = run.replies.find(({ agent }) => agent === reply.agent) ?? reply;
      if (reply.inputTokens < BLOATED || reply.inputTokens < 4 * Math.max(1, first.inputTokens)) continue;
      return {
        events: [first.seq, reply.seq],
        seen: `the prompt of ${reply.agent} grew from ${first.inputTokens} to ${reply.inputTokens} tokens`,
        remedy: remedyFor(run, BLOAT_REMEDY),
        agent: reply.agent,
        node: reply.node,
      };
    }
    return null;
  },
};
const BLOAT_REMEDY = {
  orchestration: 'set `ContextWindow` of the agent, and `budgets.context_tokens`',
  other: 'set `budgets.context_tokens`, let the tool return less, or lower `budgets.tool_calls`',
};
const BLOATED = 4000;

export const memoryPoisoning: Pathology = {
  id: 'memory-poisoning',
  title: 'Memory Poisoning',
  symptom: 'Later steps rely on facts that nothing supports.',
  cause: 'Unverified observations or assumptions are written to memory.',
  rule: 'The write gate finds no observation that supports a memory entry.',
  containment: 'Quarantine the write, and load from the verified trace.',
  prevention: 'Memory is written after the run, through a gate that checks its sources.',
  mast: 'FM-3.2',
  detect: (run) => {
    const writes = run.memory.filter(({ kind, supported }) => kind === 'write' && !supported);
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
  },
};

export const memoryWritePoisoning: Pathology = {
  id: 'memory-write-poisoning',
  title: 'Memory-Write Poisoning',
  symptom: 'A bad memory of an earlier run is used again.',
  cause: 'A weak gate for memory, or an unsupported summary.',
  rule: 'The run reads a memory entry whose source is not trusted, and a reply or a call repeats a value that only that entry has.',
  containment: 'Quarantine the entry, and rebuild memory from the traces.',
  prevention: 'Memory entries have evidence, an expiry and links to their sources.',
  mast: 'FM-3.2',
  detect: (run) => {
    const reads = run.memory.filter(({ kind }) => kind === 'read');
    for (const { seq, entries } of reads)
      for (const entry of entries) {
        if (!isRecord(entry) || entry['trust'] === 'trusted') continue;
        const own = knownWords(run);
        const values = [...wordsIn(flat(entry['answer'] ?? null))].filter((word) => /\d/.test(word) && !own.has(word));
        const user = [
          ...run.replies.map((reply) => ({ at: reply.seq, text: `${reply.text} ${JSON.stringify(reply.proposes)}` })),
        ].find(({ at, text }) => at > seq && values.some((value) => wordsIn(text).has(value)));
        if (user === undefined) continue;
        return {
          events: [seq, user.at],
          seen: `the run used "${values[0]}" from the memory of run ${String(entry['run'] ?? 'unknown')}, whose sources are not trusted`,
          remedy: `mark the tools that may be remembered with \`trust: trusted\`, or set ${remedyFor(run, {
            orchestration: '`EnableMemory: false`',
            other: '`memory: false`',
          })} for this agent; remove the entry`,
        };
      }
    return null;
  },
};

export const staleState: Pathology = {
  id: 'stale-state',
  title: 'Stale State',
  symptom: 'The agent acts on an observation that a later one has replaced.',
  cause: 'No rule says how long an observation is valid.',
  rule: 'A call with effects uses a value that a tool returned, although a later call of that tool with the same arguments returned another value.',
  containment: 'Drop the old state and look it up again.',
  prevention: 'Keep the source and the time of every value.',
  mast: 'FM-1.4',
  detect: (run) => {
    for (const call of run.calls.filter(({ effect }) => effect !== 'read')) {
      const stale = staleReads(run.calls, call);
      if (stale === null) continue;
      return {
        events: [stale.old.settled, stale.fresh.settled, call.seq],
        seen: `${call.tool} was called with ${stale.value}, which ${stale.old.tool} no longer returns`,
        contained: call.approvedBy === null ? null : `${call.approvedBy} approved the call`,
        remedy: `read ${stale.old.tool} again right before ${call.tool}, and guard node ${call.node} with a comparison of the two`,
        node: call.node,
        agent: call.agent,
      };
    }
    return null;
  },
};

export const observationParserDrift: Pathology = {
  id: 'observation-parser-drift',
  title: 'Observation Parser Drift',
  symptom: 'The result of a tool is misread after its format changed.',
  cause: 'The schema of the tool no longer matches its responses.',
  rule: 'The result of a tool does not fit its output schema; or a tool fails while it parses; or the flow reads a field that a tool result does not have.',
  containment: 'Stop using the tool, and keep the raw result.',
  prevention: 'Version the schemas of tools, and test parsers against the provider.',
  mast: 'FM-3.3',
  detect: (run) => {
    const broken = run.calls.filter(
      ({ error }) => error !== null && (error.class === 'semantic' || PARSE.test(`${error.type} ${error.message}`)),
    );
    const nodes = new Set(run.calls.filter(({ ok }) => ok).map(({ node }) => node));
    const missing = run.missing.filter(({ paths }) => paths.some((path) => nodes.has(path.split('.')[0] ?? '')));
    if (broken.length === 0 && missing.length === 0) return null;
    const [first] = broken;
    return {
      events: [...broken.map(({ settled }) => settled), ...missing.map(({ seq }) => seq)],
      seen:
        first === undefined
          ? `${missing[0]?.paths.join(', ')} does not exist in the result`
          : `${first.tool}: ${first.error?.message ?? ''}`,
      contained: first === undefined ? null : 'the result was not accepted',
      remedy:
        first === undefined
          ? `give the tool of node ${missing[0]?.paths[0]?.split('.')[0]} an \`output\` schema that requires the field`
          : `compare the \`output\` schema of ${first.tool} with what the service returns now${remedyFor(run, { flow: `, and add \`on_error\` to node ${first.node}`, other: '' })}`,
      node: first?.node ?? missing[0]?.node ?? null,
    };
  },
};
const PARSE = /\bpars(?:e|ing)|unexpected (?:token|end|field)|not valid json|invalid json|schema/i;

/** The reason why a successful run is incomplete, and the event that shows it. */
function unfinishedIn(run: Trajectory): { readonly seq: number; readonly reason: string } | null {
  const check = run.failedChecks.at(-1);
  if (check !== undefined && !run.replies.some(({ seq }) => seq > check.seq)) return check;
  const last = run.replies.at(-1);
  if (last === undefined) return null;
  if (run.reason !== null) return { seq: last.settled, reason: run.reason };
  return null;
}

function lastAgent({ replies }: Trajectory): string | null {
  const last = replies.at(-1);
  return last === undefined ? null : last.agent;
}

/** Steps without their ids. A step that is the whole goal is left out. */
function stepsText(steps: readonly Json[]): string {
  return steps
    .map((step) =>
      isRecord(step)
        ? flat(Object.fromEntries(Object.entries(step).filter(([key]) => key !== 'id' && key !== 'tool')))
        : flat(step),
    )
    .join(' ');
}

function knownWords(run: Trajectory): ReadonlySet<string> {
  return wordsIn([run.goal, ...run.calls.map(({ result }) => flat(result))].join(' '));
}

/** An old read, the newer one, and the value that only the old one has. */
function staleReads(calls: readonly ToolStep[], call: ToolStep) {
  const before = calls.filter(({ ok, effect, settled }) => ok && effect === 'read' && settled < call.seq);
  const used = new Set(leavesOf(call.args).map(([, value]) => value));
  for (const old of before) {
    const fresh = before.findLast(({ print, settled }) => print === old.print && settled > old.settled);
    if (fresh === undefined) continue;
    const now = new Map(leavesOf(fresh.result));
    const values = new Set(now.values());
    for (const [path, value] of leavesOf(old.result))
      if (now.has(path) && now.get(path) !== value && !values.has(value) && used.has(value))
        return { old, fresh, value };
  }
  return null;
}

/** Texts and numbers with their paths. Short values are everywhere and prove nothing. */
function leavesOf(value: Json, path = ''): readonly (readonly [string, string])[] {
  if (Array.isArray(value)) return value.flatMap((each, index) => leavesOf(each, `${path}.${index}`));
  if (isRecord(value)) return Object.entries(value).flatMap(([key, each]) => leavesOf(each, `${path}.${key}`));
  if (typeof value !== 'string' && typeof value !== 'number') return [];
  const text = String(value);
  return text.length >= 2 ? [[path, text]] : [];
}
