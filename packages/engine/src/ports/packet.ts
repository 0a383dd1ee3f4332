/** The packet of a question: everything that a person needs in order to decide. Its JSON shape is part of the contract. */
import type { Json } from '@sluice-internal/kernel/expr';
import type { EffectClass } from '@sluice-internal/kernel/ir';

/**
 * The facts to decide by.
 * @example
 * const tools = ({ effects }: Packet) => effects.map(({ tool, amount, payee }) => [tool, amount, payee]);
 */
export interface Packet {
  /** The question in one sentence, with its values. */
  readonly question: string;
  /** The task in the words of the user. */
  readonly goal: string;
  readonly user: string | null;
  /** Every call with an effect that a yes unlocks, on all routes until the next question or the end, in the order of the graph. */
  readonly effects: readonly PacketEffect[];
  readonly why: PacketWhy;
  /** The observations that the arguments come from, and those that the question is about. */
  readonly evidence: readonly PacketEvidence[];
  /** Calls of this run with the same effect. */
  readonly repeats: readonly PacketRepeat[];
  /** Calls of this run that changed something, so far. */
  readonly receipts: readonly PacketRepeat[];
  /** What is left of each budget, by its name in `usage`. */
  readonly left: { readonly [measure: string]: number };
  /** When the question expires, and the choice that then counts. */
  readonly expires: string | null;
  readonly onExpiry: string;
}

/**
 * A call that a yes unlocks.
 * @example
 * const line = ({ tool, amount, payee, undo }: PacketEffect) => [tool, amount, payee, undo ?? 'cannot be undone'];
 */
export interface PacketEffect {
  /** The authored node. */
  readonly node: string;
  readonly tool: string;
  readonly effect: EffectClass;
  /** Null where they are not known yet. */
  readonly args: Json;
  /** Of arguments that are not all known yet: those that are. */
  readonly known?: { readonly [argument: string]: Json };
  /** Several calls with different arguments. */
  readonly each?: readonly Json[];
  /** By `amount`, `recipients` and `payee` of the tool. */
  readonly amount: Json;
  readonly recipients: readonly Json[];
  readonly payee: Json;
  /** Why one of the three has no value. */
  readonly problem?: string;
  readonly reversible: boolean;
  /** The tool that undoes the call. */
  readonly undo: string | null;
  readonly sources: readonly PacketSource[];
  /** False: an agent may call it, and a person may be asked again. */
  readonly certain: boolean;
  /** Of a call that an agent may make: the agent, and if a person is asked before it. */
  readonly agent?: string;
  readonly call?: 'runs' | 'asks';
  /** The most calls; null if that is not known. */
  readonly times: { readonly most: number | null };
  /** The price of one call. */
  readonly costUsd: number;
}

/**
 * Where an argument comes from.
 * @example
 * const doubtful = (sources: readonly PacketSource[]) => sources.filter(({ trusted }) => !trusted);
 */
export interface PacketSource {
  readonly path: string;
  /** `input`, a tool, a node, a person, or `document`. An agent's own name if it is found nowhere else. */
  readonly from: string;
  readonly trusted: boolean;
}

/**
 * Why a person is asked.
 * @example
 * const reason = ({ problem, words }: PacketWhy) => problem ?? words;
 */
export interface PacketWhy {
  /** The rule that asks. */
  readonly rule: string | null;
  /** The words of the agent beside the call, or with the answer. */
  readonly words: string | null;
  /** The objection of a verifier, a critic, a criterion or a control. */
  readonly problem: string | null;
  readonly confidence: number | null;
}

/**
 * An observation that a question rests on.
 * @example
 * const label = ({ from, trusted }: PacketEvidence) => `${from}${trusted ? '' : ' (not trusted)'}`;
 */
export interface PacketEvidence {
  readonly from: string;
  readonly trusted: boolean;
  readonly value: Json;
  /** Of a tool call: its arguments. */
  readonly args?: Json;
  /** The arguments that come from it. */
  readonly shows?: readonly string[];
}

/**
 * A receipt of this run.
 * @example
 * const paid = ({ tool, at }: PacketRepeat) => `${tool} at ${at}`;
 */
export interface PacketRepeat {
  readonly seq: number;
  readonly at: string;
  readonly tool: string;
  readonly args: Json;
  readonly result: Json;
  readonly status: string;
}
