/**
 * `policy:rate`: how often a tool is called within a stretch of time, per tenant and over all runs of this process. A call
 * that is too early fails as such and says how long to wait, so that it is put off rather than refused.
 */
import type { Json } from '../../expr/json.ts';
import { PerformError } from '../../runtime/failures.ts';
import type { Call } from '../../runtime/ports.ts';

export interface RateLimiter {
  check(call: Call): Json;
}

export function rateLimiter(): RateLimiter {
  const taken = new Map<string, { readonly at: number; readonly key: string }[]>();
  return {
    check: ({ command, flow, clock }) => {
      const tool = String(command.input['tool']);
      const rate = Object.hasOwn(flow.tools, tool) ? flow.tools[tool]?.rate : undefined;
      if (rate === undefined) return { ok: true };
      const now = clock.now();
      const who = JSON.stringify([command.origin?.tenant ?? '', tool]);
      const key = `${command.run} ${command.key}`;
      const recent = (taken.get(who) ?? []).filter(({ at }) => at > now - rate.perMs);
      // Asked again after a crash, a call keeps the place that it has.
      if (!recent.some((each) => each.key === key)) {
        const [oldest] = recent.slice(-rate.calls);
        if (recent.length >= rate.calls && oldest !== undefined)
          throw tooEarly(tool, rate, oldest.at + rate.perMs - now + 1);
        recent.push({ at: now, key });
      }
      taken.set(who, recent);
      return { ok: true };
    },
  };
}

function tooEarly(
  tool: string,
  { calls, perMs }: { readonly calls: number; readonly perMs: number },
  retryAfterMs: number,
): PerformError {
  const message = `\`${tool}\` may be called ${calls} times in ${perMs / 1000} s`;
  return new PerformError({ class: 'rate_limit', type: 'RateLimitError', message, retryAfterMs });
}
