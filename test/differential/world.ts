/** One world for both sides: what is asked decides what is answered, whoever asks and whenever. */
import { createHash } from 'node:crypto';
import { digest } from '@sluice-internal/kernel/core';
import { CONTROLS_CHECK } from '@sluice-internal/kernel/ir';
import type { Answer, CompiledFlow, Settled } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { pure } from '@sluice-internal/engine/ports';
import { OUTPUT_PRICE } from './lower.ts';

export interface Question {
  readonly key: string;
  readonly attempt: number;
  readonly kind: string;
  readonly name: string;
  readonly node: string;
  readonly input: { readonly [field: string]: Json };
}
export interface RandomWorld {
  answer(asked: Question): Settled | null;
  /** By the key with dots, since that is all that a question's id tells. */
  person(dotted: string): Answer | null;
  /** The data of a signal; undefined if it does not come. */
  sent(key: string, signal: string): Json | undefined;
  latencyMs(asked: Question): number;
}

const TEXTS = [
  'ok',
  '{"k": 1}',
  '{"k": 2, "v": 1}',
  '1',
  ' {"broken',
  '```json\n{"k": 3, "v": 1}\n```\n',
  '```\n2\n```',
];
const VALUES: readonly Json[] = [{ v: 0 }, { v: 1 }, { v: 2 }, { v: 1, k: 1 }, 1, 'text', [1, 2], null, true];
const CLASSES = [
  'transient',
  'transient',
  'transient',
  'rate_limit',
  'rate_limit',
  'timeout',
  'fatal',
  'refused',
  'semantic',
  'policy',
] as const;

export function createWorld(seed: number, flow: CompiledFlow, options: { readonly undoHolds: boolean }): RandomWorld {
  const draw = (label: string): ((count: number) => number) => {
    const bytes = createHash('sha256').update(`${seed} ${label}`).digest();
    let at = 0;
    return (count) => bytes.readUInt16LE((at += 2)) % count;
  };
  const person = (dotted: string): Answer | null => {
    const next = draw(`ask ${dotted}`);
    return next(4) === 0 ? null : { choice: ['yes', 'no'][next(2)] as string, by: 'ann' };
  };
  const sent = (key: string): Json | undefined => {
    const next = draw(`signal ${key}`);
    return next(3) === 0 ? undefined : VALUES[next(VALUES.length)];
  };
  return {
    person,
    sent,
    latencyMs: ({ key, attempt }) => draw(`latency ${key} ${attempt}`)(60),
    answer: ({ key, attempt, kind, name, node, input }): Settled | null => {
      // The order of compensations is free between branches that ran together, so their keys say nothing.
      if (key.includes('#u')) return undone(draw(`undo ${node} ${digest(input, pure.hash)}`), options.undoHolds);
      if (kind === 'ask') {
        const said = person(key.replace(/[#:]/g, '.'));
        if (said === null) return null;
        // An engine marks the answers of a script.
        return { ok: true, value: { choice: said.choice, by: said.by, proof: { via: 'script' } } } satisfies Settled;
      }
      if (name === CONTROLS_CHECK) return judged(draw(`${key} ${digest(input, pure.hash)}`), input);
      if (kind === 'wait') {
        const data = 'signal' in input ? sent(key) : undefined;
        return data === undefined ? null : ({ ok: true, value: { data, by: 'script' } } satisfies Settled);
      }
      const next = draw(`${key} ${attempt} ${kind} ${name} ${digest(input, pure.hash)}`);
      const timed = (flow.nodes[node] as { timeoutMs?: number | null } | undefined)?.timeoutMs;
      const luck = next(20);
      if (luck === 0 && typeof timed === 'number') return null;
      const used = usedBy(flow, node, next);
      if (luck < 4)
        return {
          ok: false,
          error: {
            class: CLASSES[next(CLASSES.length)] as 'fatal',
            type: 'WorldError',
            message: 'it failed',
            ...(luck === 3 ? { retryAfterMs: 30 } : {}),
          },
          used,
        };
      return {
        ok: true,
        value: kind === 'model' ? { text: TEXTS[next(TEXTS.length)] as string } : (VALUES[next(VALUES.length)] as Json),
        used,
      };
    },
  };
}

/** The verdicts of the checks of a call. Some checks change the arguments, and some cannot be performed. */
function judged(next: (count: number) => number, { controls }: { readonly [field: string]: Json }): Settled {
  if (next(12) === 0) return { ok: false, error: { class: 'rate_limit', type: 'WorldError', message: 'not now' } };
  const verdicts: { [control: string]: Json } = {};
  for (const { control } of controls as unknown as readonly { readonly control: string }[]) {
    const luck = next(10);
    if (luck < 5) verdicts[control] = { ok: true };
    else if (luck < 7) verdicts[control] = { ok: false, reason: `not ${luck}` };
    else if (luck < 9) verdicts[control] = { ok: false, reason: 'later', until: 1_000_000 + next(500) };
    else verdicts[control] = { ok: false, reason: 'never', stop: 'NeverError' };
  }
  return { ok: true, value: { verdicts, ...(next(3) === 0 ? { args: { v: next(3) } } : {}) } };
}

function undone(next: (count: number) => number, holds: boolean): Settled {
  if (holds || next(6) > 0) return { ok: true, value: null };
  return { ok: false, error: { class: 'fatal', type: 'WorldError', message: 'cannot be undone' } };
}

/** Never more than was reserved: that the world keeps to its word is what the bounds rest on. */
function usedBy(
  flow: CompiledFlow,
  node: string,
  next: (count: number) => number,
): { outputTokens?: number; costMicros?: number } {
  const of = flow.nodes[node];
  const reserved = of?.op === 'do' ? (of.effect.reserve.outputTokens ?? 0) : 0;
  const outputTokens = next(reserved + 1);
  return { outputTokens, costMicros: outputTokens * OUTPUT_PRICE };
}
