/** Where a time lies on the timeline. Long times in which the run only waited are folded to a short stretch. */
import type { Bar } from '@sluice-internal/wire';

/** Idle times that are longer are folded. */
const IDLE_MS = 10_000;
const FOLD = 0.05;
const FOLDS_MAX = 6;
/** Runs of a script take no time: their timeline counts events. */
const INSTANT_MS = 20;

interface Piece {
  readonly from: number;
  readonly to: number;
  readonly isFolded: boolean;
  /** Shares of the width. */
  readonly x: number;
  readonly w: number;
}

export interface Scale {
  readonly start: number;
  readonly end: number;
  /** From 0 to 1. */
  readonly x: (at: number, seq: number) => number;
  readonly folds: readonly { readonly x: number; readonly w: number; readonly ms: number }[];
  readonly ticks: readonly { readonly x: number; readonly label: string }[];
  readonly isByEvent: boolean;
}

export function scaleOf(bars: readonly Bar[], start: number, end: number, lastSeq: number): Scale {
  if (end - start < INSTANT_MS) return byEvent(start, end, lastSeq);
  const idle = idleTimes(bars, start, end);
  const folded = idle.reduce((sum, [from, to]) => sum + to - from, 0);
  const busy = Math.max(1, end - start - folded);
  const room = 1 - idle.length * FOLD;
  const pieces: Piece[] = [];
  let x = 0;
  let at = start;
  const add = (to: number, isFolded: boolean): void => {
    const w = isFolded ? FOLD : (room * (to - at)) / busy;
    pieces.push({ from: at, to, isFolded, x, w });
    x += w;
    at = to;
  };
  for (const [from, to] of idle) {
    add(from, false);
    add(to, true);
  }
  add(end, false);
  const place = (time: number): number => {
    const piece = pieces.findLast((each) => each.from <= time) ?? pieces[0];
    if (piece === undefined) return 0;
    const share = piece.to === piece.from ? 0 : (time - piece.from) / (piece.to - piece.from);
    return piece.x + piece.w * Math.max(0, Math.min(1, share));
  };
  return {
    ...{ start, end, x: place, isByEvent: false },
    folds: pieces.filter(({ isFolded }) => isFolded).map(({ x: left, w, from, to }) => ({ x: left, w, ms: to - from })),
    ticks: ticksOf(pieces, start, busy),
  };
}

function byEvent(start: number, end: number, lastSeq: number): Scale {
  const most = Math.max(1, lastSeq);
  const step = roundStep(most / 5);
  const ticks = Array.from({ length: Math.floor(most / step) + 1 }, (_, index) => ({
    x: (index * step) / most,
    label: index === 0 ? '' : `event ${index * step}`,
  }));
  return { start, end, x: (_, seq) => seq / most, folds: [], ticks, isByEvent: true };
}

/** Stretches in which nothing but questions and waits is open: the longest ones, in order. */
function idleTimes(bars: readonly Bar[], start: number, end: number): readonly (readonly [number, number])[] {
  const work = bars
    .filter(({ kind }) => kind === 'model' || kind === 'tool' || kind === 'undo')
    .map(({ startedAt, endedAt }) => [startedAt, endedAt ?? end] as const)
    .toSorted(([a], [b]) => a - b);
  const found: (readonly [number, number])[] = [];
  let busyUntil = start;
  for (const [from, to] of [...work, [end, end] as const]) {
    // A little of the wait is drawn at both sides.
    const pad = Math.min(1000, (from - busyUntil) / 10);
    if (from - busyUntil > IDLE_MS) found.push([busyUntil + pad, from - pad]);
    busyUntil = Math.max(busyUntil, to);
  }
  const longest = found.toSorted(([a, b], [c, d]) => d - c - (b - a)).slice(0, FOLDS_MAX);
  return longest.toSorted(([a], [b]) => a - b);
}

function ticksOf(pieces: readonly Piece[], start: number, busy: number): Scale['ticks'] {
  const step = roundStep(busy / 1000 / 5) * 1000;
  return pieces.flatMap(({ from, to, isFolded, x, w }) => {
    if (isFolded || to <= from) return [];
    const first = Math.ceil((from - start) / step);
    const count = Math.max(0, Math.min(20, Math.floor((to - start) / step) - first + 1));
    return Array.from({ length: count }, (_, index) => {
      const at = (first + index) * step;
      return { x: x + (w * (start + at - from)) / (to - from), label: secondsText(at) };
    });
  });
}

/** 1, 2 or 5 times a power of ten. */
function roundStep(wanted: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(wanted, 0.001)));
  const factor = [1, 2, 5, 10].find((each) => each * power >= wanted) ?? 10;
  return factor * power;
}

function secondsText(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 120) return `${Number(seconds.toFixed(2))} s`;
  if (seconds < 7200)
    return `${Math.floor(seconds / 60)} min${seconds % 60 === 0 ? '' : ` ${Math.round(seconds % 60)} s`}`;
  return `${Number((seconds / 3600).toFixed(1))} h`;
}
