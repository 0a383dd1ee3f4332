/**
 * `policy:rate`: limits the calls of a tool per tenant and time window, over all runs of this process. A call above the limit
 * fails with `rate_limit` and the time to wait, so the flow retries it later.
 */
import type { Json } from '../../expr/json.ts';
import { PerformError } from '../../runtime/failures.ts';
import type { Call } from '../../runtime/ports.ts';

export function rateLimiter(): (call: Call) => Json {
  const taken = new Map<string, { readonly at: number; readonly key: string }[]>();
  return ({ command, flow, clock }) => {
    const tool = String(command.input['tool']);
    const rate = Object.hasOwn(flow.tools, tool) ? flow.tools[tool]?.rate : undefined;
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
        throw new PerformError({ class: 'rate_limit', type: 'RateLimitError', message, retryAfterMs });
      }
      recent.push({ at: now, key });
    }
    taken.set(who, recent);
    return { ok: true };
  };
}
