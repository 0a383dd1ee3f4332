/** A detector finds one kind of unsupported statement in a text. `grounding.ts` lists the detectors that run. */
import type { Json } from '@sluice-internal/kernel/expr';
import type { Stated } from '../text/read-values.ts';
import type { ToolWords } from './tool-words.ts';

export type Detector = (utterance: Utterance, evidence: Evidence) => Detected;

export interface Detected {
  readonly findings: readonly Finding[];
  /** Sentences whose claims the evidence supports. */
  readonly confirmed?: readonly string[];
}

export interface Finding {
  readonly kind: 'action' | 'lookup' | 'value' | 'citation' | 'claim';
  /** The sentence or value that has no support. */
  readonly text: string;
  /** A clause that follows "the answer …". */
  readonly reason: string;
}

/**
 * `names`: identifiers, dates, times and amounts of money need support. `all`: other numbers too, and at least half of the
 * words of the answer; for short answers that only a source can give.
 */
type Strictness = 'off' | 'names' | 'all';

/** A text by an agent, and the rules that apply to it. */
export interface Utterance {
  /** The reply as an object; empty where the reply is plain text. */
  readonly fields: { readonly [field: string]: Json };
  /** The text of every field that a person reads. */
  readonly text: string;
  /** The text of the answer alone. */
  readonly answer: string;
  readonly cite: boolean;
  readonly claims: boolean;
  readonly values: Strictness;
}

export interface Observation {
  readonly id: string;
  /** The name of the node in notations that do not number turns. */
  readonly turn: number | string;
  readonly tool: string;
  readonly args: Json;
  readonly ok: boolean;
  readonly result?: Json;
  readonly error?: Json;
  /** The step that refused the call: it was not made. */
  readonly refused?: string;
}

/** The values and words that occur in the observations, the input, the instructions and the answers of people. */
export interface Known {
  /** `arrives`: the value stands in a line about an arrival. */
  has(stated: Stated, arrives?: boolean): boolean;
  hasWord(word: string): boolean;
  /** False if a text was too long to be read as a whole. */
  readonly isComplete: boolean;
  /** Not known itself, and a known number differs from it by one digit or by the order of two. */
  isNear(stated: Stated): boolean;
  /** The total of one list in an observation, by one field. */
  isTotal(value: number): boolean;
  /** A price of the one thing that a line names, times the length of a list in the arguments of a call. */
  isMultiple(value: number, line: string): boolean;
  /** The sum of one field over the things that a text names, once or times the length of a list in a call. */
  isFare(value: number, text: string): boolean;
  /** Identifiers of objects that a line names. */
  subjectsIn(line: string): readonly string[];
  /** A value of another thing: the objects that the line names have such values, and not this one. */
  isOdd(stated: Stated, line: Line, arrives: boolean): boolean;
}

/** A line of a text, with the things that the lines around it name. */
export interface Line {
  readonly line: string;
  /** The identifier in a line above that this line is about. */
  readonly heading: string | null;
  /** The identifiers in the list that the line announces. */
  readonly below: readonly string[];
}

export interface Evidence {
  readonly observations: readonly Observation[];
  /** Texts by people in this run, and the input. */
  readonly userTexts: readonly string[];
  /** Texts by the author: instructions. */
  readonly given: readonly string[];
  /** The turn of the last message of a person; null if there is none. */
  readonly since: number | null;
  /** Earlier sentences whose claims were supported. */
  readonly confirmed: readonly string[];
  readonly tools: readonly ToolWords[];
  /** Another part of the flow has a tool that changes something. */
  readonly elsewhere?: boolean;
  readonly known: Known;
}

/** Observed after the last message of a person. */
export function isFresh(observation: Observation, { since }: Evidence): boolean {
  return since === null || isAfter(observation, since);
}

export function isAfter({ turn }: Observation, since: number): boolean {
  return typeof turn !== 'number' || turn > since;
}

const QUOTE_MAX = 100;

/** The start of a sentence, in quotation marks. */
export function quoted(text: string): string {
  const line = text.replace(/\s+/g, ' ');
  return `"${line.length > QUOTE_MAX ? `${line.slice(0, QUOTE_MAX)}…` : line}"`;
}
