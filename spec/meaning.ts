/** What the interpreter is told of the world, and what it says a flow comes to. */
import type { EndState, FailureClass, TerminalCode } from '../src/core/codes.ts';
import type { Amounts, NodeId } from '../src/core/ir.ts';
import type { Json } from '../src/core/json.ts';

export type Slots = { readonly [name: string]: Json };

/** One attempt of one effect. Retries keep the key. */
export interface Asked {
  readonly thread: string;
  readonly key: string;
  readonly attempt: number;
  readonly kind: string;
  readonly name: string;
  readonly node: NodeId;
  readonly input: Slots;
}
export type Fault = { readonly class: FailureClass; readonly type: string; readonly message: string };
/** A fault as flows see it in the slot `error`. */
export type Problem = Fault & { readonly node: string; readonly code: TerminalCode };
export type Answered = ({ readonly ok: true; readonly value: Json } | { readonly ok: false; readonly error: Fault }) & {
  readonly used?: Amounts;
};

export interface World {
  /** A pure function of what is asked; null when no answer ever comes. */
  answer(asked: Asked): Answered | null;
  /** Which branches of a fork ended before its join, in order, and whether the join came from the clock. */
  joined?(fork: string): { readonly ended: readonly number[]; readonly late: boolean } | undefined;
  validate(schema: Json, value: Json): string | null;
  countTokens(text: string): number;
}

/** How a thread ended. */
export interface Ended {
  readonly state: EndState;
  readonly code: TerminalCode;
  readonly output: Json;
  readonly error: Json;
  readonly slots: Slots;
}
export interface Meaning extends Ended {
  readonly spent: { readonly [meter: string]: number };
  readonly usage: { readonly [dimension: string]: number };
  readonly asked: readonly Asked[];
  /** Threads that a join dropped. How far they came depends on time, so nothing is said about them. */
  readonly dropped: readonly string[];
  /** Joins that the world reported and that the flow does not allow. */
  readonly illegal: readonly string[];
}
