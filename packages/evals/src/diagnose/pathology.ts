/** A pathology: its words for people, and the rule that finds it in the events of a run, if events define it. */
import type { Trajectory } from './trajectory.ts';

export interface Found {
  /** Sequence numbers of the events that show it. */
  readonly events: readonly number[];
  /** The symptom in this run. */
  readonly seen: string;
  /** The engine's reaction; null if nothing stopped it. */
  readonly contained: string | null;
  /** The change to make in the document. */
  readonly remedy: string;
  readonly node: string | null;
  readonly agent: string | null;
}
export type Detect = (run: Trajectory) => Found | null;

export interface Pathology {
  readonly id: string;
  readonly title: string;
  readonly symptom: string;
  readonly cause: string;
  /** The events that define it, in words; or, where events cannot show it, what to look at. */
  readonly rule: string;
  readonly containment: string;
  readonly prevention: string;
  /** The failure mode of the MAST taxonomy that is nearest; null if none is. */
  readonly mast: string | null;
  /** Absent where events cannot show it. */
  readonly detect?: Detect;
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
  return { events: steps.map(({ seq }) => seq), contained: null, node, agent, ...tell(first) };
}

type Notation = 'flow' | 'workflow' | 'orchestration' | 'staged' | 'loop';

/** The remedy in the keys of the run's notation. */
export function remedyFor(
  { notation }: Pick<Trajectory, 'notation'>,
  remedies: { readonly [notation in Notation]?: string } & { readonly other: string },
): string {
  return remedies[notation as Notation] ?? remedies.other;
}

/** Values by their text, with the groups that have at least `least` members. */
export function repeated<T>(all: readonly T[], keyOf: (each: T) => string, least: number): readonly (readonly T[])[] {
  return [...Map.groupBy(all, keyOf).values()].filter((group) => group.length >= least);
}
