/**
 * Performs the `policy:` checks. Each returns a verdict with a reason; the flow decides what follows. To add a check, write one
 * function and list it here.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import { PerformError, fail } from '@sluice-internal/engine/ports';
import type { Call, Performer } from '@sluice-internal/engine/ports';
import { authorize, authorizeStage } from './authorize.ts';
import { checkCites } from '../values/cites.ts';
import { checkBound } from '../values/bind.ts';
import { checkGrounding } from '../values/grounding.ts';
import { checkArguments, checkOutput } from './schema-checks.ts';
import { checkEvidence } from './evidence-size.ts';
import { checkEgress } from './egress.ts';
import { checkProvenance } from './provenance.ts';

export function policyPerformer(): Performer {
  const checks: { readonly [name: string]: (call: Call) => Json } = {
    'policy:arguments': checkArguments,
    'policy:authorize': authorize,
    'policy:stage': authorizeStage,
    'policy:rate': rateLimiter(),
    'policy:provenance': checkProvenance,
    'policy:egress': checkEgress,
    'policy:output': checkOutput,
    'policy:grounding': checkGrounding,
    'policy:evidence': checkEvidence,
    'policy:bind': checkBound,
    'policy:cites': checkCites,
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

function noPlace(message: string, queueMs: number): PerformError {
  const why = `${message}, and has no place within ${queueMs / 1000} s`;
  return new PerformError({ class: 'timeout', type: 'QueueTimeoutError', message: why });
}

/** The command is one of these checks. */
export function isPolicyCheck({ kind, name }: Call['command']): boolean {
  return kind === 'check' && name.startsWith('policy:');
}

/**
 * `policy:rate`: limits the calls of a tool per tenant and time window, over all runs of this process. A call above the limit
 * fails with `rate_limit` and the time to wait, so the flow retries it later.
 */
function rateLimiter(): (call: Call) => Json {
  const taken = new Map<string, { readonly at: number; readonly key: string }[]>();
  /** Since when a call waits that was refused before. */
  const waiting = new Map<string, { readonly since: number; readonly forgetAt: number }>();
  return ({ command, flow, clock }) => {
    const tool = String(command.input['tool']);
    const { rate, queueMs = Infinity } = Object.hasOwn(flow.tools, tool) ? (flow.tools[tool] ?? {}) : {};
    if (rate === undefined) return { ok: true };
    const { calls, perMs } = rate;
    const now = clock.now();
    const who = JSON.stringify([command.origin?.tenant ?? '', tool]);
    const key = `${command.run} ${command.key}`;
    const recent = (taken.get(who) ?? []).filter(({ at }) => at > now - perMs);
    // A call that is checked again after a crash keeps its place.
    if (!recent.some((each) => each.key === key)) {
      const [oldest] = recent.slice(-calls);
      if (recent.length >= calls && oldest !== undefined) {
        const message = `\`${tool}\` may be called ${calls} times in ${perMs / 1000} s`;
        const retryAfterMs = oldest.at + perMs - now + 1;
        for (const [each, { forgetAt }] of waiting) if (forgetAt <= now) waiting.delete(each);
        const { since } = waiting.get(key) ?? { since: now };
        if (now + retryAfterMs - since > queueMs) throw noPlace(message, queueMs);
        waiting.set(key, { since, forgetAt: now + retryAfterMs + perMs });
        throw new PerformError({ class: 'rate_limit', type: 'RateLimitError', message, retryAfterMs });
      }
      waiting.delete(key);
      recent.push({ at: now, key });
    }
    taken.set(who, recent);
    return { ok: true };
  };
}
