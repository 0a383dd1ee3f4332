/** 185 recorded answers of real providers, served on loopback: each comes out as it was said, or as a typed failure. */
import { expect, test } from 'vitest';
import { FAILURE_CLASSES } from '@sluice-internal/kernel/ir';
import type { Settled } from '@sluice-internal/kernel/ir';
import { call } from './call.ts';
import { recordings } from './recorded.ts';
import type { Recorded, Said } from './recorded.ts';
import { serve, text } from './serve.ts';

const all = recordings();
const absent = 'provider-wire: the recordings are not on this machine, so nothing is compared with them';
if (all === null) console.log(absent);

test('recorded answers come out as they were said, or as a typed failure', { timeout: 120_000 }, async ({ skip }) => {
  skip(all === null, absent);
  await using served = await serve();
  const count = { equal: 0, failed: 0, unread: 0 };
  const why = new Map<string, number>();
  for (const each of all ?? []) {
    served.answer = text(each.status, each.body, {
      'content-type': each.stream ? 'text/event-stream' : 'application/json',
    });
    const before = served.asked.length;
    const settled = await call(
      { models: { m: { provider: each.provider, model: 'recorded', base_url: served.url } } },
      each.stream ? { stream: true } : {},
    );
    expect({ id: each.id, requests: served.asked.length - before }).toEqual({ id: each.id, requests: 1 });
    expect({ id: each.id, ...outcome(settled, each) }).toEqual({ id: each.id, ...wanted(settled, each) });
    if (settled.ok) {
      count[each.said === null ? 'unread' : 'equal'] += 1;
      continue;
    }
    count.failed += 1;
    const reason = `${settled.error.class} ${settled.error.type}`;
    why.set(reason, (why.get(reason) ?? 0) + 1);
  }
  console.log(
    `provider-wire: ${count.equal} equal, ${count.failed} typed failures (${[...why].map(([reason, times]) => `${reason} ${times}`).join(', ')}), ${count.unread} without a reference`,
  );
  expect(count.equal).toBeGreaterThan(100);
});

function outcome(settled: Settled, each: Recorded): object {
  if (settled.ok) return each.said === null ? {} : heard(settled, each);
  const { class: kind, type, message } = settled.error;
  return {
    typed: FAILURE_CLASSES.includes(kind) && message !== '',
    mayFail: each.said === null || isForeign(each) || isUnfinished(type, each),
  };
}

function wanted(settled: Settled, { said }: Recorded): object {
  return settled.ok ? (said ?? {}) : { typed: true, mayFail: true };
}

/** A reply that was cut off or has no content is a failure, although the reference reads it. */
function isUnfinished(type: string, { said, stop }: Recorded): boolean {
  if (type === 'TruncatedReplyError') return /length|max|incomplete/.test(stop);
  return type === 'EmptyReplyError' && said?.text.trim() === '' && said.calls.length === 0;
}

/** One provider's own variant of another's protocol: it is spoken to in the common one, so that these answers never come. */
function isForeign({ id, provider }: Recorded): boolean {
  return provider === 'openai' && id.startsWith('xai/');
}

function heard(settled: Settled & { ok: true }, { provider, said }: Recorded): Said {
  const value = settled.value as {
    text: string;
    toolCalls?: { id: string; name: string; args: unknown }[];
  };
  const { inputTokens = 0, outputTokens = 0, cachedInputTokens = 0, cacheWriteTokens = 0 } = settled.used ?? {};
  // One provider counts what it has in its cache apart from the input, the others within it.
  const apart = provider === 'anthropic' ? cachedInputTokens + cacheWriteTokens : 0;
  const calls = (value.toolCalls ?? []).map(({ id, name, args }) => ({ id, name, args }));
  return {
    text: value.text,
    calls,
    usage: said?.usage === null ? null : { in: inputTokens - apart, out: outputTokens },
  };
}
