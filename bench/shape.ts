/**
 * What is measured: the shapes of work with their targets, as data, and the interface that a contestant implements.
 * Every shape uses no-op steps with results of RESULT_BYTES, each durable before the next one starts.
 */
export const RESULT_BYTES = 200;

export const SHAPES: readonly Shape[] = [
  { id: 'chain-100', title: 'chain of 100 steps', metrics: [{ measure: 'ms', target: 1.3 }] },
  { id: 'loop-1000', title: 'loop of 1,000 with a guard', metrics: [{ measure: 'ms', target: 1.5 }] },
  { id: 'fanout-1000', title: 'fan-out of 1,000 and join', metrics: [{ measure: 'ms', target: 4 }] },
  { id: 'runs-1000x10', title: '1,000 runs at once, 10 steps each', metrics: [{ measure: 'ms', target: 3 }] },
  {
    id: 'paused-10000',
    title: '10,000 runs paused for a person',
    metrics: [
      { measure: 'bytesMemory', target: 2_048 },
      { measure: 'bytesDisk', target: 3_072 },
    ],
    roundsMax: 3,
  },
  { id: 'resume-10000', title: 'resume after 10,000 steps', metrics: [{ measure: 'ms', target: 3 }] },
  {
    id: 'resume-snapshot',
    title: 'resume from a snapshot after 1,250 to 10,000 steps',
    metrics: [{ measure: 'exponentMs', target: 0.25 }],
  },
  {
    id: 'state-1mb-100',
    title: '1 MB of state carried through 100 steps',
    metrics: [{ measure: 'bytesWritten', target: 4_000_000 }],
    roundsMax: 3,
  },
  {
    id: 'history-n',
    title: 'history of n appended messages',
    metrics: [
      { measure: 'exponentBytes', target: 1.05 },
      { measure: 'exponentMs', target: 1.05 },
    ],
  },
  {
    id: 'compile-2000',
    title: 'compile documents of 250 to 2,000 nodes',
    metrics: [{ measure: 'exponentMs', target: 1.1 }],
  },
];

/** Sizes of the shapes that fit an exponent. A contestant that is too slow for one may stop at a smaller size. */
export const HISTORY_SIZES = [250, 500, 1_000, 2_000, 4_000] as const;
export const RESUME_SIZES = [1_250, 2_500, 5_000, 10_000] as const;
export const COMPILE_SIZES = [250, 500, 1_000, 2_000] as const;

export interface Shape {
  id: string;
  title: string;
  metrics: readonly Metric[];
  /** Bytes hardly vary from round to round, so such shapes need few of them. */
  roundsMax?: number;
}

/** `ms` is judged as a ratio to the bare loop of the same round; everything else is judged as it is. */
export interface Metric {
  measure: Measure;
  target: number;
}

export type Measure = 'ms' | 'bytesMemory' | 'bytesDisk' | 'bytesWritten' | 'exponentMs' | 'exponentBytes';

/** What one execution of a shape gives. Memory and disk of paused runs are per run. */
export interface Measurement {
  ms?: number;
  bytesMemory?: number;
  bytesDisk?: number;
  bytesWritten?: number;
  points?: readonly Point[];
}

/** Bytes are those sent to storage: a store that rewrites one row for ever stays small and still writes a lot. */
export interface Point {
  n: number;
  ms?: number;
  bytes?: number;
}

export interface Contestant {
  name: string;
  version: string;
  shapes: { [shapeId: string]: () => Promise<Measurement> };
  /** Why a shape is left out, by shape id; printed with the table. */
  missing?: { [shapeId: string]: string };
  /** What a reader must know to read a figure, by shape id; printed with the table. */
  notes?: { [shapeId: string]: string };
  /** Set when nothing can run here at all, with the reason. */
  unavailable?: string;
  close?: () => Promise<void>;
}
