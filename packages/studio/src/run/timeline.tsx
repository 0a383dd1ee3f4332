/** Who worked when. One row for each node and branch; what ran at the same time lies below each other. */
import type { Bar } from '@sluice-internal/wire';
import { harmless } from '@sluice-internal/wire';
import { useEffect, useMemo, useRef, useState, type ReactElement } from 'react';
import { useNow } from '../ui/clock.ts';
import { duration, plural } from '../ui/format.ts';
import { useRun } from './context.tsx';
import { scaleOf, type Scale } from './timeline-scale.ts';

const ROW = 22;
const LABELS = 104;
/** Thinner bars are drawn together. */
const THIN = 2;

interface Lane {
  readonly key: string;
  readonly node: string;
  readonly depth: number;
  readonly bars: readonly Bar[];
}

export function Timeline(): ReactElement {
  const { tip, events, view, last, go, isAtEnd, at } = useRun();
  const box = useRef<HTMLDivElement>(null);
  const { width, top, height } = useSight(box);
  const bars = tip?.bars ?? NO_BARS;
  const goesOn = tip?.state === 'running';
  const now = useNow();
  const lanes = useMemo(() => lanesOf(bars), [bars]);
  const start = events[0]?.at ?? 0;
  const end = goesOn ? Math.max(now, tip.at) : (tip?.at ?? start);
  const scale = useMemo(() => scaleOf(bars, start, end, last), [bars, start, end, last]);
  const room = Math.max(120, width - LABELS - 24);
  const first = Math.max(0, Math.floor(top / ROW) - 4);
  const shown = lanes.slice(first, Math.ceil((top + height) / ROW) + 4);
  return (
    <section className="timeline" aria-label="Timeline">
      <div ref={box} className="timeline-box">
        <div className="timeline-head" style={{ paddingLeft: LABELS }}>
          {scale.ticks.map(({ x, label }) => (
            <span key={x} className="timeline-tick num" style={{ left: LABELS + x * room }}>
              {label}
            </span>
          ))}
        </div>
        <ul className="timeline-body" aria-label="Who worked when" style={{ height: lanes.length * ROW + 8 }}>
          <Marks scale={scale} room={room} />
          {shown.map((lane, index) => (
            <LaneRow
              key={lane.key}
              lane={lane}
              y={(first + index) * ROW}
              scale={scale}
              room={room}
              end={end}
              seq={isAtEnd ? Infinity : at}
              go={go}
            />
          ))}
          {events.length > 0 && (
            <li
              aria-hidden="true"
              className="timeline-now"
              style={{ left: LABELS + scale.x(isAtEnd ? end : view.at, at) * room }}
            />
          )}
        </ul>
      </div>
    </section>
  );
}

/** Lines of time, and stretches in which the run only waited. */
function Marks({ scale, room }: { readonly scale: Scale; readonly room: number }): ReactElement {
  return (
    <>
      {scale.ticks.map(({ x }) => (
        <li key={x} aria-hidden="true" className="timeline-grid" style={{ left: LABELS + x * room }} />
      ))}
      {scale.folds.map(({ x, w, ms }) => (
        <li
          key={x}
          aria-hidden="true"
          className="timeline-fold"
          style={{ left: LABELS + x * room, width: w * room }}
          title={`${duration(ms)} in which the run waited`}
        >
          {duration(ms)}
        </li>
      ))}
    </>
  );
}

const NO_BARS: readonly Bar[] = [];

/** In the order in which they began. Calls in branches of a visit lie in the row of that visit; branches are moved to the right. */
function lanesOf(bars: readonly Bar[]): readonly Lane[] {
  const lanes = new Map<string, { readonly node: string; readonly branch: string; readonly bars: Bar[] }>();
  for (const bar of bars) {
    const own = [...branchesOf(bar.branch)].find((branch) => lanes.has(`${bar.node}|${branch}`)) ?? bar.branch;
    const key = `${bar.node}|${bar.kind === 'node' ? bar.branch : own}`;
    const lane = lanes.get(key);
    if (lane === undefined) lanes.set(key, { node: bar.node, branch: bar.branch, bars: [bar] });
    else lane.bars.push(bar);
  }
  return [...lanes].map(([key, { node, branch, bars: all }]) => {
    const inner = all.filter(({ kind }) => kind !== 'node');
    return { key, node, depth: Math.min(3, branch.split(':').length - 1), bars: inner.length > 0 ? inner : all };
  });
}

/** A branch and those that it is in: `0:2.1`, `0`. */
function* branchesOf(branch: string): Generator<string> {
  for (let end = branch.length; end > 0; end = branch.lastIndexOf(':', end - 1)) yield branch.slice(0, end);
}

interface LaneProps {
  readonly lane: Lane;
  readonly y: number;
  readonly scale: Scale;
  readonly room: number;
  readonly end: number;
  /** The event that the page shows; later bars are pale. */
  readonly seq: number;
  readonly go: (seq: number) => void;
}

function LaneRow({ lane, y, scale, room, end, seq, go }: LaneProps): ReactElement {
  const { node, select } = useRun();
  const pieces = useMemo(() => piecesOf(lane.bars, scale, room, end), [lane, scale, room, end]);
  return (
    <li
      className={`lane ${node === lane.node ? 'is-selected' : ''}`}
      style={{ transform: `translateY(${y}px)`, height: ROW }}
      aria-label={laneText(lane, end)}
    >
      <button
        type="button"
        className="lane-name ellipsis"
        aria-hidden="true"
        tabIndex={-1}
        style={{ width: LABELS - 8, paddingLeft: 14 + lane.depth * 12 }}
        onClick={() => select(node === lane.node ? undefined : lane.node)}
      >
        {harmless(lane.node)}
      </button>
      {pieces.map(({ key, bar, x, w, count }) =>
        bar === null ? (
          <i key={key} className="bar is-dense" style={{ left: LABELS + x, width: w }} title={plural(count, 'call')} />
        ) : (
          <button
            key={key}
            type="button"
            aria-hidden="true"
            tabIndex={-1}
            className={barClass(bar, seq)}
            style={{ left: LABELS + x, width: w }}
            title={barText(bar, end)}
            onClick={() => go(bar.seq)}
          >
            {w > 44 && <span className="ellipsis">{barName(bar)}</span>}
          </button>
        ),
      )}
    </li>
  );
}

/** What the row shows, for those who do not see it. */
function laneText({ node, bars }: Lane, end: number): string {
  const told = bars.slice(0, TOLD_MAX).map((bar) => barText(bar, end));
  return harmless(`${node}: ${told.join('; ')}${bars.length > TOLD_MAX ? ` and ${bars.length - TOLD_MAX} more` : ''}`);
}
const TOLD_MAX = 12;

function barClass({ kind, failed, endedAt, seq: own }: Bar, seq: number): string {
  return `bar kind-${kind} ${failed ? 'is-bad' : ''} ${endedAt === null ? 'is-open' : ''} ${own > seq ? 'is-future' : ''}`;
}

function barName({ kind, label }: Bar): string {
  if (kind === 'pause' || kind === 'node') return '';
  return kind === 'question' ? 'asks' : harmless(label);
}

function barText({ kind, label, startedAt, endedAt, failed }: Bar, end: number): string {
  const words = kind === 'question' ? 'waits for a person' : kind === 'pause' ? `pause ${label}` : label;
  return harmless(
    `${words}, ${duration((endedAt ?? end) - startedAt)}${failed ? ', failed' : ''}${endedAt === null ? ', goes on' : ''}`,
  );
}

interface PieceOfLane {
  readonly key: string;
  /** Null: several thin ones. */
  readonly bar: Bar | null;
  readonly x: number;
  readonly w: number;
  readonly count: number;
}

const LEAST = 4;

function piecesOf(bars: readonly Bar[], scale: Scale, room: number, end: number): readonly PieceOfLane[] {
  const pieces: (PieceOfLane & { readonly seq: number })[] = [];
  for (const bar of bars) {
    const x = scale.x(bar.startedAt, bar.seq) * room;
    const w = scale.isByEvent ? Math.max(10, room / 40) : scale.x(bar.endedAt ?? end, bar.seq) * room - x;
    const before = pieces.at(-1);
    if (
      before !== undefined &&
      w < THIN &&
      x - (before.x + before.w) < THIN &&
      before.w < 60 &&
      before.key.startsWith('thin')
    ) {
      pieces[pieces.length - 1] = {
        ...before,
        bar: null,
        w: Math.max(before.w, x + w - before.x),
        count: before.count + 1,
      };
      continue;
    }
    pieces.push({
      key: `${w < THIN ? 'thin' : 'bar'}-${bar.id}`,
      bar,
      x,
      w: Math.max(LEAST, w),
      count: 1,
      seq: bar.seq,
    });
  }
  return pieces;
}

/** What of the box is in sight. */
function useSight(box: React.RefObject<HTMLDivElement | null>): {
  readonly width: number;
  readonly height: number;
  readonly top: number;
} {
  const [sight, setSight] = useState({ width: 800, height: 200, top: 0 });
  useEffect(() => {
    const { current } = box;
    if (current === null) return undefined;
    const look = (): void =>
      setSight({ width: current.clientWidth, height: current.clientHeight, top: current.scrollTop });
    const sizes = new ResizeObserver(look);
    sizes.observe(current);
    current.addEventListener('scroll', look, { passive: true });
    return () => {
      sizes.disconnect();
      current.removeEventListener('scroll', look);
    };
  }, [box]);
  return sight;
}
