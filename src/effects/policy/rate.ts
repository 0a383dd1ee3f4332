/**
 * `policy:rate`: limits the calls of a tool per tenant and time window, over all runs of this process. A call above the limit
 * fails with `rate_limit` and the time to wait, so the flow retries it later.
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
      // A call that is checked again after a crash keeps its place.
      if (!recent.some((each) => each.key === key)) {
        const [oldest] = recent.slice(-rate.calls);
        if (recent.length >= rate.calls && oldest !== undefined)
          throw rateLimited(tool, rate, oldest.at + rate.perMs - now + 1);
        recent.push({ at: now, key });
      }
      taken.set(who, recent);
      return { ok: true };
    },
  };
}

function rateLimited(
  tool: string,
  { calls, perMs }: { readonly calls: number; readonly perMs: number },
  retryAfterMs: number,
): PerformError {
  const message = `\`${tool}\` may be called ${calls} times in ${perMs / 1000} s`;
  return new PerformError({ class: 'rate_limit', type: 'RateLimitError', message, retryAfterMs });
}
