/** A pathology: its words for people, and the rule that finds it in a run. */
import type { Trajectory } from './trajectory.ts';

export interface Found {
  /** Sequence numbers of the events that show it. */
  readonly events: readonly number[];
  /** The symptom in this run. */
  readonly seen: string;
  /** The engine's reaction; absent or null if nothing stopped it. */
  readonly contained?: string | null;
  /** The change to make in the document. */
  readonly remedy: string;
  readonly node?: string | null;
  readonly agent?: string | null;
}
export interface Pathology {
  readonly id: string;
  readonly title: string;
  readonly symptom: string;
  readonly cause: string;
  /** The rule of the detector, in words. */
  readonly rule: string;
  /** The step to take at once if nothing contained it. */
  readonly containment: string;
  /** The setting that prevents it. */
  readonly prevention: string;
  /** The failure mode of the MAST taxonomy that is nearest; null if none is. */
  readonly mast: string | null;
  detect(run: Trajectory, peers: Peers): Found | null;
}

interface Step {
  readonly seq: number;
  readonly node?: string;
  readonly agent?: string | null;
}

/** A finding about steps; null without any. Its events are those of the steps, and its node and agent those of the first one. */
export function foundIn<Each extends Step>(
  steps: readonly Each[],
  tell: (first: Each) => Partial<Found> & Pick<Found, 'seen' | 'remedy'>,
): Found | null {
  const [first] = steps;
  if (first === undefined) return null;
  const { node = null, agent = null } = first;
  return { events: steps.map(({ seq }) => seq), node, agent, ...tell(first) };
}

type Notation = 'flow' | 'workflow' | 'orchestration' | 'staged' | 'loop';

/** The remedy in the keys of the run's notation. */
export function remedyFor(
  { notation }: Pick<Trajectory, 'notation'>,
  remedies: { readonly [notation in Notation]?: string } & { readonly other: string },
): string {
  return remedies[notation as Notation] ?? remedies.other;
}

/** Other runs of the same database: their usual amounts, and their open questions. */
export interface Peers {
  /** Successful runs of the same flow. */
  readonly successes: readonly { readonly toolCalls: number; readonly modelCalls: number; readonly costUsd: number }[];
  readonly openQuestions: number;
  /** The present time; of a run that is read alone, its last event. */
  readonly now: number;
}

/** The value that 95 % of the values do not exceed; null for fewer than five. */
export function usualMost(values: readonly number[]): number | null {
  if (values.length < 5) return null;
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * 0.95) - 1)] ?? null;
}

/** Values by their text, with the groups that have at least `least` members. */
export function repeated<T>(all: readonly T[], keyOf: (each: T) => string, least: number): readonly (readonly T[])[] {
  return [...Map.groupBy(all, keyOf).values()].filter((group) => group.length >= least);
}

const SMALL: ReadonlySet<string> = new Set(
  'the and for with from that this into your you are was were will has have not but then than its their there here what when where which who how all any can must should may about after before over under only each every please using use also more most other some such'.split(
    ' ',
  ),
);

/** The content words of a text, without endings. */
export function wordsIn(text: string): ReadonlySet<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}][\p{L}\p{N}-]{2,}/gu) ?? [];
  return new Set(words.filter((word) => !SMALL.has(word)).map((word) => word.replace(/(ing|ed|es|s)$/, '')));
}

/** The share of the words of `a` that `b` has. */
export function overlap(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  if (a.size === 0) return 1;
  return [...a].filter((word) => b.has(word)).length / a.size;
}
