/** Broken workflows never break the compiler: each gives a flow or errors, and a flow that it gives also ends. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Json } from '@sluice-internal/kernel/expr';
import { compileSteps, drive } from './steps-drive.ts';
import type { Reply } from './steps-drive.ts';

const root = new URL('../../../../test/dialects/steps/', import.meta.url);
const seeds = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((file) => /flow\.(yaml|json)$/.test(file))
  .map((file) => parse(readFileSync(new URL(file, root), 'utf8')) as Json);

const WORDS: readonly Json[] = [
  null,
  true,
  0,
  -1,
  1e9,
  '',
  ' ',
  '{{input}}',
  '{{v}}',
  '{{',
  '__proto__',
  'constructor',
  'collect',
  'fan_out',
  'loop',
  'conditional',
  'skip',
  'retry',
  'a',
  'b',
  [],
  {},
  [[]],
  { Loop: { until: 'x' } },
  { ByName: 'a' },
  { Retry: {} },
  '\u0000',
  '\ud800',
  'x'.repeat(3000),
];
const KEYS = [
  'name',
  'agent',
  'agent_name',
  'agent_id',
  'prompt',
  'mode',
  'until',
  'condition',
  'max_iterations',
  'timeout_secs',
  'error_mode',
  'max_retries',
  'output_var',
  'steps',
  'agents',
  'budgets',
  'zzz',
];

function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function mutated(value: Json, pick: (below: number) => number): Json {
  if (pick(12) === 0) return WORDS[pick(WORDS.length)] as Json;
  if (Array.isArray(value)) {
    const items = value.map((item) => (pick(3) === 0 ? mutated(item, pick) : item));
    if (pick(4) === 0) items.splice(pick(items.length + 1), pick(2), ...(pick(2) === 0 ? items.slice(0, 1) : []));
    return items;
  }
  if (value === null || typeof value !== 'object') return pick(3) === 0 ? (WORDS[pick(WORDS.length)] as Json) : value;
  const entries = Object.entries(value).flatMap(([key, item]): [string, Json][] =>
    pick(15) === 0
      ? []
      : [[pick(20) === 0 ? (KEYS[pick(KEYS.length)] as string) : key, pick(3) === 0 ? mutated(item, pick) : item]],
  );
  if (pick(4) === 0) entries.push([KEYS[pick(KEYS.length)] as string, WORDS[pick(WORDS.length)] as Json]);
  return Object.fromEntries(entries);
}

test('1,000 mutated workflows', () => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
  let flows = 0;
  for (let n = 0; n < 1000; n++) {
    const pick = randomFrom(seed + n);
    const document = mutated(seeds[pick(seeds.length)] as Json, pick);
    const hint = `seed ${seed + n}: ${JSON.stringify(document)}`;
    try {
      const { flow, diagnostics } = compileSteps(JSON.stringify(document));
      expect(flow === null, hint).toBe(diagnostics.some(({ severity }) => severity === 'error'));
      if (flow === null) continue;
      flows += 1;
      if (n % 5 > 0 || Object.values(flow.meters).some(({ max }) => (max ?? 0) > 50)) continue;
      const reply = (): Reply =>
        pick(4) === 0 ? { error: 'transient' } : (['', 'done', 'x', 'needs_review'][pick(4)] ?? '');
      const agents = Object.fromEntries(Object.keys(flow.agents).map((id) => [id, reply]));
      expect(['completed', 'failed'], hint).toContain(drive(JSON.stringify(document), agents).outcome.state);
    } catch (cause) {
      throw new Error(hint, { cause });
    }
  }
  console.log(`seed ${seed}: ${flows} of 1000 compiled`);
  expect(flows).toBeGreaterThan(100);
});
