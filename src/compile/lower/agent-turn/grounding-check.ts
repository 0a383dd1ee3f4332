/**
 * Asks whether what an agent said rests on what was observed, as a check of its own: its verdict and the reason are on the
 * journal. What follows from a violation is for whoever asks to say.
 */
import type { CheckEffect, Expr } from '../../../ir/nodes.ts';
import { OBSERVATIONS } from './slots.ts';
import { literal, quote } from '../../expressions/cel-text.ts';

export const VALUES = ['off', 'names', 'all'] as const;
export const ON_VIOLATIONS = ['repair', 'halt', 'escalate'] as const;
export type OnViolation = (typeof ON_VIOLATIONS)[number];

export interface GroundingRules {
  /** Whether observations must be cited. */
  readonly cite: boolean;
  /** Whether words that claim something need an observation of it. */
  readonly claims: boolean;
  /** Which values must stand in what was observed or given. */
  readonly values: (typeof VALUES)[number];
}

export interface Uttered {
  /** What a reason calls it. */
  readonly what: string;
  readonly tools: readonly string[];
  readonly said: Expr;
  /** What the flow has given the agent to go by. */
  readonly given: readonly Expr[];
  /** What people said when: `[{ turn, text }]`. */
  readonly heard: Expr;
  /** Sentences that claimed something before, and rightly. */
  readonly claimed: Expr;
}

/** The verdict is `{ ok, claimed, reason?, kinds? }`. */
export function groundingEffect(uttered: Uttered, { cite, claims, values }: GroundingRules): CheckEffect {
  return {
    kind: 'check',
    check: 'policy:grounding',
    input: {
      what: quote(uttered.what),
      tools: literal([...uttered.tools]),
      said: uttered.said,
      observations: OBSERVATIONS,
      given: `[${uttered.given.join(', ')}]`,
      heard: uttered.heard,
      claimed: uttered.claimed,
      cite: String(cite),
      claims: String(claims),
      values: quote(values),
    },
    reserve: {},
  };
}
