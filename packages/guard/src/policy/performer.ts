/**
 * Performs the `policy:` checks, and the controls of calls together. Each returns a verdict with a reason; the flow decides what
 * follows. To add a check, write one function and list it here; a control of tool calls is a file of the package `controls`.
 */
import { isDeepStrictEqual } from 'node:util';
import { performControl } from '@sluice-internal/controls';
import type { Libraries } from '@sluice-internal/controls';
import { isRecord, listOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { CONTROLS_CHECK, statedOf } from '@sluice-internal/kernel/ir';
import { fail, failureOf } from '@sluice-internal/engine/ports';
import type { Call, Performer } from '@sluice-internal/engine/ports';
import { authorize, authorizeStage } from './authorize.ts';
import { checkCites } from '../values/cites.ts';
import { checkBound } from '../values/bind.ts';
import { checkGrounding } from '../values/grounding.ts';
import { checkArguments, checkOutput } from './schema-checks.ts';
import { checkEvidence } from './evidence-size.ts';
import { checkSecrets } from './confidential.ts';
import { checkAddresses } from './egress.ts';
import { checkProvenance } from './provenance.ts';

export function policyPerformer(): Performer {
  const checks: { readonly [name: string]: (call: Call) => Json } = {
    'policy:stage': authorizeStage,
    'policy:output': checkOutput,
    'policy:grounding': checkGrounding,
    'policy:evidence': checkEvidence,
    'policy:bind': checkBound,
    'policy:cites': checkCites,
    [CONTROLS_CHECK]: controlsTogether({
      validate: checkArguments,
      authorize,
      traceValues: checkProvenance,
      traceAddresses: checkAddresses,
      traceSecrets: checkSecrets,
      takeToken: rateLimiter(),
      readStated: checkStated,
    }),
  };
  return {
    perform: async (call) => {
      const { kind, name } = call.command;
      const check = kind === 'check' && Object.hasOwn(checks, name) ? checks[name] : undefined;
      if (check === undefined) throw fail('fatal', 'NotConfiguredError', `There is no ${kind} \`${name}\`.`);
      return { ok: true, value: check(call) };
    },
  };
}

/** The command is one of these checks. */
export function isPolicyCheck({ kind, name }: Call['command']): boolean {
  return kind === 'check' && (name === CONTROLS_CHECK || name.startsWith('policy:'));
}

interface Listed {
  readonly control: string;
  readonly check: string;
  readonly input: { readonly [field: string]: Json };
  /** Its no is a doubt, so the controls after it judge too. */
  readonly asks?: boolean;
}

/** The controls judge in order until one refuses. Each sees the arguments as the one before has left them. */
function controlsTogether(libraries: Libraries<Call>): (call: Call) => Json {
  return (call): Json => {
    const { controls, ...common } = call.command.input;
    const verdicts: { [control: string]: Json } = {};
    let { args = null } = common;
    let isChanged = false;
    for (const { control, check, input, asks = false } of listOf(controls) as unknown as readonly Listed[]) {
      const command = { ...call.command, name: check, input: { ...common, args, ...input } };
      const { args: given, ...verdict } = judged(check, { ...call, command }, libraries);
      if (given !== undefined && !isDeepStrictEqual(given, args)) {
        args = given;
        isChanged = true;
      }
      verdicts[control] = verdict;
      if (verdict['ok'] !== true && !asks) break;
    }
    return isChanged ? { verdicts, args } : { verdicts };
  };
}

/** A control that cannot be performed refuses the call. */
function judged(check: string, call: Call, libraries: Libraries<Call>): { readonly [field: string]: Json } {
  try {
    const verdict = performControl(check, call, libraries);
    return isRecord(verdict ?? null)
      ? (verdict as { [field: string]: Json })
      : { ok: false, reason: `there is no control \`${check}\`` };
  } catch (error) {
    return { ok: false, reason: failureOf(error).message };
  }
}

/** Every part that the document states of the call must have a value. */
function checkStated({ command: { input }, flow }: Call): Json {
  const name = String(input['tool']);
  const tool = Object.hasOwn(flow.tools, name) ? flow.tools[name] : undefined;
  const { problems } = tool === undefined ? { problems: [] } : statedOf(tool, input['args'] ?? null);
  return problems.length === 0 ? { ok: true } : { ok: false, reason: problems.join('; ') };
}

/** Limits the calls of a tool per tenant and time window, over all runs of this process. A call above the limit waits. */
function rateLimiter(): (call: Call) => Json {
  const taken = new Map<string, { readonly at: number; readonly key: string }[]>();
  return ({ command, flow, clock }): Json => {
    const tool = String(command.input['tool']);
    const rate = Object.hasOwn(flow.tools, tool) ? flow.tools[tool]?.rate : undefined;
    if (rate === undefined) return { ok: true };
    const { calls, perMs } = rate;
    const now = clock.now();
    const who = JSON.stringify([command.origin?.tenant ?? '', tool]);
    const key = `${command.run} ${String(command.input['call'] ?? command.key)}`;
    const recent = (taken.get(who) ?? []).filter(({ at }) => at > now - perMs);
    // A call that is judged again keeps its place.
    if (!recent.some((each) => each.key === key)) {
      const [oldest] = recent.slice(-calls);
      if (recent.length >= calls && oldest !== undefined) {
        const reason = `\`${tool}\` may be called ${calls} times in ${perMs / 1000} s`;
        return { ok: false, reason, until: oldest.at + perMs + 1 };
      }
      recent.push({ at: now, key });
    }
    taken.set(who, recent);
    return { ok: true };
  };
}
