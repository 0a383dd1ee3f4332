/**
 * `policy:answer`: the verdict on the last reply of a turn, for agents whose boundary has no rule for unsupported claims. It
 * marks claims of actions that no call performed. If the turn must do its task, it also marks a reply without a result, and
 * a reply that hides that every call failed. One verdict a turn: `{ kind, text, message }`. The kind `none` means that
 * nothing is wrong.
 */
import { listOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { onlyReads } from '@sluice-internal/kernel/ir';
import type { Call } from '@sluice-internal/engine/ports';
import { judgeResult } from './result.ts';
import { flat, structured } from '../text/sources.ts';
import { askedIn, isWritingTask, judgeDeeds } from '../values/deeds.ts';
import type { Finding, Observation } from '../values/detector.ts';
import { unmentionedFailure } from '../values/detectors/failures.ts';
import { changesElsewhere, checkGrounding } from '../values/grounding.ts';
import { observationsIn } from '../values/observations.ts';
import { toolWords, type ToolWords } from '../values/tool-words.ts';

type Verdict = { readonly kind: string; readonly text: string; readonly message: string };

type Input = Call['command']['input'];

const NONE: Verdict = { kind: 'none', text: '', message: '' };

export function checkAnswer(call: Call): Json {
  const { command, flow } = call;
  const { input } = command;
  const tools = toolWords(input['tools'], flow);
  const observations = observationsIn(input['observations'], tools, input['reply'] ?? null);
  const claim = claimIn(call, observations);
  if (claim !== null) return { ok: false, verdict: claim };
  const problem =
    input['task'] === true
      ? openTask(input, tools, observations, changesElsewhere(flow, tools))
      : input['task'] === 'goal'
        ? openGoal(call, tools, observations)
        : null;
  const verdict =
    problem === null ? failedThroughout(input, observations) : { kind: 'result', text: '', message: problem };
  return { ok: verdict === NONE, verdict };
}

/** The verdict on a reply that gives a result although every call has failed. Members of a team without a task are not judged. */
function failedThroughout({ reply = null, task }: Input, observations: readonly Observation[]): Verdict {
  const last = task === false ? null : unmentionedFailure(flat(structured(reply)), observations);
  if (last === null) return NONE;
  const message = `no tool call succeeded, and the answer does not say so; the last one, ${last.tool}, failed: ${flat(last.error ?? null)}`;
  return { kind: 'calls', text: '', message };
}

/** The first unsupported claim, with the messages of all. */
function claimIn(call: Call, observations: readonly Observation[]): Verdict | null {
  const { findings = [] } = checkGrounding(call) as { readonly findings?: readonly (Finding & Verdict)[] };
  // Another agent may have made the lookup. Its results are then in the prompt.
  const isBlind = !observations.some(({ ok }) => ok);
  const counted = findings.filter(({ kind }) => kind !== 'lookup' || isBlind);
  const [first] = counted;
  if (first === undefined) return null;
  return { kind: first.kind, text: first.text, message: counted.map(({ message }) => message).join('; ') };
}

/** No call of the run has changed anything, and the reply leaves the goal of the run open. */
function openGoal(
  { command: { input }, flow }: Call,
  tools: readonly ToolWords[],
  observations: readonly Observation[],
): string | null {
  const isChanged = observations.some(({ ok, tool }) => ok && !onlyReads(flow.tools[tool]?.effect));
  const [goal = null] = listOf(input['given']) as readonly Json[];
  return isChanged ? null : openTask({ reply: input['reply'] ?? null, prompt: goal }, tools, observations, true);
}

/** The reply announces, asks or apologises and nothing was changed, or the turn has not done what its prompt asks for. */
function openTask(
  { reply = null, prompt = null }: Input,
  tools: readonly ToolWords[],
  observations: readonly Observation[],
  elsewhere: boolean,
): string | null {
  const changing = new Set(tools.flatMap(({ name, changes }) => (changes ? [name] : [])));
  if (changing.size === 0) return null;
  const isUndone = !observations.some(({ ok, tool }) => ok && changing.has(tool));
  // A bare confirmation (`done`) is judged below, by the calls that the prompt asks for.
  const { ok, reason = '' } = judgeResult(structured(reply), { writing: isWritingTask({ goal: prompt }) });
  if (!ok && isUndone) return reason;
  return judgeDeeds({
    asked: askedIn({ goal: prompt }),
    criteria: [],
    answer: reply,
    observations,
    tools,
    lenient: true,
    elsewhere,
  });
}
