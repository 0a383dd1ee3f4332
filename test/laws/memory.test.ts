/** L12: 10,000 random operations of memory under random callers and tenants. No agent sees an entry of another. */
import { expect, test } from 'vitest';
import { memoryOwner, memoryPerformer } from '../../src/effects/memory/memory.ts';
import { createMemoryStore } from '../../src/effects/memory/store.ts';
import type { Json } from '../../src/expr/json.ts';
import type { Origin } from '../../src/ir/events.ts';
import { createVirtualClock } from '../../src/runtime/engine/clock.ts';
import type { Call } from '../../src/runtime/ports.ts';
import { createChance } from '../../src/surfaces/testing/chance.ts';

/** Names that would be the same owner if fields were joined without a border. */
const NAMES = ['a', 'b', 'ab', '', 'null', '["a"', 'a,b', 'a\n', '../a', 'A', 'ä', '0'] as const;

const seed = Number(process.env['SEED'] ?? 1);

test(`L12: no entry reaches another tenant, user or agent (seed ${seed})`, async () => {
  const { below } = createChance(seed);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;
  const maybe = (): string | undefined => (below(5) === 0 ? undefined : pick(NAMES));
  const performer = memoryPerformer(createMemoryStore());
  const clock = createVirtualClock();
  const written = new Map<string, string[]>();
  let [reads, seen] = [0, 0];
  for (let step = 0; step < 10_000; step++) {
    const tenant = maybe();
    const user = maybe();
    const agent = pick(NAMES);
    const origin: Origin = { ...(tenant === undefined ? {} : { tenant }), ...(user === undefined ? {} : { user }) };
    const owner = JSON.stringify([tenant ?? null, user ?? null, agent]);
    expect(memoryOwner(origin, agent)).toBe(owner);
    const isWrite = below(2) === 0;
    const input: { [field: string]: Json } = isWrite
      ? {
          owner: agent,
          goal: owner,
          answer: owner,
          citations: ['o1'],
          observations: [{ id: 'o1', tool: 't', ok: true }],
        }
      : { owner: agent };
    const command = { kind: 'check', name: isWrite ? 'memory.write' : 'memory.read', run: `r${step}`, origin, input };
    const result = await performer.perform({ command, flow: { tools: {} }, clock } as unknown as Call);
    if (isWrite) written.set(owner, [...(written.get(owner) ?? []), `r${step}`]);
    else {
      const { entries } = (result as unknown as { value: { entries: { answer: string; run: string }[] } }).value;
      reads += 1;
      seen += entries.length;
      for (const { answer } of entries) if (answer !== owner) throw new Error(`${owner} sees an entry of ${answer}`);
      const latest = (written.get(owner) ?? []).slice(-5);
      if (entries.length !== latest.length) throw new Error(`${owner} sees ${entries.length} of ${latest.length}`);
    }
  }
  expect(reads).toBeGreaterThan(4000);
  expect(seen).toBeGreaterThan(1000);
});
