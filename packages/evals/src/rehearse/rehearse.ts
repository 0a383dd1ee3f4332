/** Rehearses a flow in many generated futures, and reports the reached nodes, the costs and the defects. */
import { present } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { createProgram, statusOf } from '@sluice-internal/kernel/core';
import type { Bounds } from '@sluice-internal/compile/prove';
import type { Picture } from '@sluice-internal/compile/picture';
import { BUDGET_ROWS } from '@sluice-internal/kernel/ir';
import type { CompiledFlow, Measure } from '@sluice-internal/kernel/ir';
import { pure } from '@sluice-internal/engine/ports';
import { usageOf } from '@sluice-internal/engine/report';
import { createCoverage, type Covered } from './coverage.ts';
import { defectsIn, type Defect } from './defects.ts';
import { drive, type Driven, type RealCheck } from './drive.ts';
import { createFuture } from './future.ts';
import { literalsIn } from './literals.ts';

export interface RehearsalOptions {
  readonly flow: CompiledFlow;
  readonly bounds: Bounds;
  readonly picture: Picture | null;
  readonly runs: number;
  readonly seed: number;
  readonly input?: Json;
  /** Stop when this many runs in a row reach nothing new. `runs` is then the most. */
  readonly untilCoverage?: boolean;
  readonly check: RealCheck;
  readonly onProgress?: (done: number) => void;
}
interface Spread {
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
}
export interface Rehearsal {
  readonly flow: string;
  readonly runs: number;
  readonly seed: number;
  readonly codes: { readonly [code: string]: number };
  readonly nodes: Covered;
  readonly edges: Covered;
  readonly costUsd: Spread;
  readonly steps: Spread;
  readonly worst: {
    readonly seed: number;
    readonly code: string;
    readonly costUsd: number;
    readonly steps: number;
  } | null;
  /** The largest amounts that were seen, against the certificate. */
  readonly certificate: {
    readonly [measure: string]: { readonly seen: number; readonly most: number | null; readonly holds: boolean };
  };
  readonly defects: readonly Defect[];
  readonly crashes: number;
  /** Cost and steps of every run, for plots. */
  readonly samples: { readonly costUsd: readonly number[]; readonly steps: readonly number[] };
}

const QUIET_RUNS = 200;

export async function rehearse(options: RehearsalOptions): Promise<Rehearsal> {
  const { flow, seed, check } = options;
  const program = createProgram(flow, pure);
  const literals = literalsIn(flow);
  const tally = createTally(options);
  for (let index = 0; index < options.runs; index++) {
    const runSeed = (seed + index) >>> 0;
    const future = createFuture(flow, literals, runSeed);
    const driven = await drive(program, future, check, { seed: runSeed, ...present({ input: options.input }) });
    tally.add(runSeed, driven);
    if (index % 50 === 49) {
      options.onProgress?.(index + 1);
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (options.untilCoverage === true && tally.quietFor() >= QUIET_RUNS) break;
  }
  return tally.result();
}

function createTally({ flow, bounds, picture, seed }: RehearsalOptions) {
  const coverage = createCoverage(flow, picture);
  const codes: { [code: string]: number } = {};
  const seen = new Map<Measure, number>();
  const costUsd: number[] = [];
  const steps: number[] = [];
  const defects = new Map<string, Defect>();
  let worst: Rehearsal['worst'] = null;
  let crashes = 0;
  let lastNew = 0;
  return {
    add: (runSeed: number, driven: Driven): void => {
      const usage = usageOf(flow, driven.state, driven.events);
      const code = codeOf(driven);
      const isNewCode = codes[code] === undefined;
      codes[code] = (codes[code] ?? 0) + 1;
      costUsd.push(usage.costUsd);
      steps.push(usage.steps);
      crashes += driven.crashes;
      if (coverage.add(driven.events) || isNewCode) lastNew = costUsd.length;
      for (const { measure } of BUDGET_ROWS) seen.set(measure, Math.max(seen.get(measure) ?? 0, usage[measure]));
      if (
        worst === null ||
        usage.costUsd > worst.costUsd ||
        (usage.costUsd === worst.costUsd && usage.steps > worst.steps)
      )
        worst = { seed: runSeed, code, costUsd: usage.costUsd, steps: usage.steps };
      for (const defect of defectsIn(flow, driven, runSeed)) {
        const known = defects.get(`${defect.kind} ${defect.about}`);
        defects.set(`${defect.kind} ${defect.about}`, { ...(known ?? defect), runs: (known?.runs ?? 0) + 1 });
      }
    },
    /** Runs since something new was reached. */
    quietFor: () => costUsd.length - lastNew,
    result: (): Rehearsal => ({
      flow: flow.id,
      runs: costUsd.length,
      seed,
      codes: sorted(codes),
      nodes: coverage.nodes(),
      edges: coverage.edges(),
      costUsd: spreadOf(costUsd),
      steps: spreadOf(steps),
      worst,
      certificate: Object.fromEntries([...seen].flatMap(([measure, amount]) => certified(bounds, measure, amount))),
      defects: [...coverage.defects(), ...defects.values()],
      crashes,
      samples: { costUsd, steps },
    }),
  };
}

function certified(
  bounds: Bounds,
  measure: Measure,
  amount: number,
): readonly (readonly [string, Rehearsal['certificate'][string]])[] {
  const { most } = bounds.flow[measure];
  if (amount === 0 && most === 0) return [];
  return [[measure, { seen: amount, most, holds: most === null || amount <= most + 1e-9 }]];
}

function codeOf({ state, stuck }: Driven): string {
  if (state.outcome !== null) return state.outcome.code;
  if (stuck) return 'STUCK';
  const [open] = [...state.pending.values()].flatMap(({ question }) => (question === null ? [] : [question.code]));
  return open ?? statusOf(state).toUpperCase();
}

function spreadOf(values: readonly number[]): Spread {
  const ordered = values.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    ordered[Math.min(ordered.length - 1, Math.max(0, Math.ceil(ordered.length * share) - 1))] ?? 0;
  return { p50: at(0.5), p95: at(0.95), max: ordered.at(-1) ?? 0 };
}

function sorted(counts: { readonly [code: string]: number }): { readonly [code: string]: number } {
  return Object.fromEntries(Object.entries(counts).sort(([a, x], [b, y]) => y - x || a.localeCompare(b)));
}
