/** An answer, and what it is compared with: the observations of a run, and the texts that people and the author gave. */
import type { ToolDef } from '@sluice-internal/kernel/ir';
import { listOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';

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

export interface UsedTool {
  readonly name: string;
  /** The result follows from the arguments alone, as with a calculator. */
  readonly neutral: boolean;
}

export interface Material {
  readonly observations: readonly Observation[];
  /** Texts by people in this run, and the input. */
  readonly userTexts: readonly string[];
  /** Texts by the author: instructions. */
  readonly given: readonly string[];
  readonly tools: readonly UsedTool[];
}

/** `names`: identifiers, dates, times, amounts, percentages, and numbers above 100. `all`: also smaller numbers, above 12. */
export type Strictness = 'names' | 'all';

export interface Finding {
  readonly kind: 'value' | 'citation' | 'claim';
  /** The value or the id that has no support. */
  readonly text: string;
  /** A clause that follows "the answer …". */
  readonly reason: string;
}

/** A reply of an agent, and the rules that apply to it. */
export interface Utterance {
  /** The reply as an object; empty where the reply is plain text. */
  readonly fields: { readonly [field: string]: Json };
  /** The text of every field that a person reads. */
  readonly text: string;
  readonly cite: boolean;
  readonly values: Strictness | 'off';
}

/** The tools of a flow with these names. */
export function usedTools(
  names: unknown,
  { tools }: { readonly tools: { readonly [name: string]: ToolDef } },
): readonly UsedTool[] {
  return (listOf(names) as readonly string[]).flatMap((name) => {
    const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
    return tool === undefined ? [] : [{ name, neutral: tool.trust === 'neutral' }];
  });
}
