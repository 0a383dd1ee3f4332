/** A bounded loop with every default settled. */
import type { TerminalCode } from '../../../ir/codes.ts';
import type { Expr, View } from '../../../ir/nodes.ts';
import type { Definitions } from '../../document/definitions.ts';
import type { GroundingRules, OnViolation } from '../../lower/agent-turn/grounding-check.ts';
import type { LoopProfile } from './presets.ts';

export interface Loop {
  readonly id: string;
  readonly description: string | null;
  /** Who does the work, and who plans it; null where nobody does. */
  readonly executor: string;
  readonly planner: string | null;
  readonly goal: string | null;
  readonly criteria: readonly string[];
  readonly profile: LoopProfile | null;
  readonly requires: readonly string[];
  readonly intents: readonly { readonly id: string; readonly when: Expr; readonly description: string }[];
  readonly guards: readonly { readonly when: Expr; readonly code: TerminalCode; readonly reason: string }[];
  readonly plan: { readonly stepsMax: number; readonly repairs: number; readonly approve: boolean };
  readonly validate: readonly { readonly when: Expr; readonly reason: string }[];
  readonly verifier: string | null;
  readonly confidence: number | null;
  readonly conflict: Expr | null;
  readonly review: boolean;
  readonly reflection: { readonly repairs: number; readonly confidence: number; readonly conflict: number };
  readonly grounding: GroundingRules & { readonly onViolation: OnViolation };
  readonly compression: { readonly at: number; readonly window: number | null };
  readonly escalation: {
    readonly people: boolean;
    readonly timeoutMs: number | null;
    readonly safer: string | null;
    readonly expansions: number;
  };
  readonly breaker: { readonly identical: number; readonly window: number };
  readonly memory: boolean;
  /** How often a failed attempt of a model call is repeated. */
  readonly retries: number;
  /** How often the loop goes round at most. */
  readonly rounds: number;
  readonly rates: View['rates'];
  /** The shared sections, with the budgets of the profile filled in. */
  readonly definitions: Definitions;
}
