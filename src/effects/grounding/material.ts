/** What a text is held against, and what can be wrong with it. */
import type { Json } from '../../expr/json.ts';
import type { ToolWords } from './tools.ts';
import type { Stated } from './values.ts';

export interface Observation {
  readonly id: string;
  readonly turn: number;
  readonly tool: string;
  readonly args: Json;
  readonly ok: boolean;
  readonly result?: Json;
  readonly error?: Json;
}

/** What stands in anything that was given or observed. */
export interface Known {
  has(stated: Stated): boolean;
  hasWord(word: string): boolean;
}

export interface Material {
  readonly observations: readonly Observation[];
  /** What people have said in this run, and what the author and the flow have. */
  readonly told: readonly string[];
  readonly given: readonly string[];
  /** The turn in which somebody was last heard; null where nobody was. */
  readonly since: number | null;
  /** Sentences that claimed something before, and rightly. */
  readonly claimed: readonly string[];
  readonly tools: readonly ToolWords[];
  readonly known: Known;
}

export interface Finding {
  /** `deed`: nothing shows that it was done. `lookup`: nor that it was looked up. `value`: it stands nowhere. */
  readonly kind: 'deed' | 'lookup' | 'value' | 'citation' | 'claim';
  readonly reason: string;
}

/** Whether it was observed after somebody last asked for something. */
export function isFresh({ turn }: Observation, { since }: Material): boolean {
  return since === null || turn > since;
}

/** The beginning of a sentence, for people to find it by. */
export function quoted(text: string): string {
  const line = text.replace(/\s+/g, ' ');
  return `"${line.length > QUOTED ? `${line.slice(0, QUOTED)}…` : line}"`;
}

const QUOTED = 100;
