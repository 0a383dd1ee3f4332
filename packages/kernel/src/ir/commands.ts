/** Commands: the calls that the core requests, and the time at which it must be called again. */
import type { Json } from '../expr/json.ts';
import type { EffectKey, Instant, Origin, RunId } from './facts.ts';
import type { EffectKind, MeterId, NodeId } from './nodes.ts';

/** A call that the core requests: plain data, safe to repeat under its key. */
export interface Command {
  readonly run: RunId;
  readonly key: EffectKey;
  readonly attempt: number;
  readonly ordinal: number;
  readonly kind: EffectKind;
  readonly name: string;
  readonly node: NodeId;
  /** Of a model call: the alias of a fallback model. Absent for the agent's own. */
  readonly target?: string;
  /** The attempt only repeats a request that did not get through. */
  readonly transport?: true;
  readonly input: { readonly [field: string]: Json };
  /** Of a check: the user and the tenant of the run. */
  readonly origin?: Origin;
  readonly notBefore: Instant;
  readonly deadline: Instant | null;
}
export interface Outbox {
  readonly commands: readonly Command[];
  readonly wake: Instant | null;
}

/** A call that a `repeats` meter compares. `ok` and `result` are null until it has a result. */
export interface RecentCall {
  readonly key: EffectKey;
  readonly name: string;
  readonly print: string;
  /** The print without the order of words; only of a call with a text of several words. */
  readonly words?: string;
  readonly ok: boolean | null;
  readonly result: string | null;
}
/** A refused call: the rule, and the tools of the repeated block. */
export interface Repeated {
  readonly rule: 'identical' | 'cycle' | 'failures' | 'rephrased';
  readonly calls: readonly string[];
}
/** A suspected deadlock: the rule, and the agents of the cycle in order. */
export interface Stuck {
  readonly rule: 'cycle' | 'repeated_reply' | 'hops';
  readonly agents: readonly string[];
}
/** A rate limit that counts the start of a call, and for how long. */
export interface Pace {
  readonly meter: MeterId;
  readonly perMs: number;
}
