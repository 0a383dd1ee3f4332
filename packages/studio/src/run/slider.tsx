/** All events of the run on one line. The page is as the run was at the chosen one. */
import { useEffect, useMemo, useState, type ReactElement } from 'react';
import { useKeys } from '../ui/keys.ts';
import { Button } from '../ui/parts.tsx';
import { useRun } from './context.tsx';
import { storyOf, type StoryRow } from './story.ts';

const STEP_MS = 350;
const MARKS_MAX = 240;

export function Slider(): ReactElement {
  const { at, last, go, isAtEnd, events, store, follow, setFollow } = useRun();
  const [plays, setPlays] = useState(false);
  const stops = useMemo(() => [...new Set(events.map(({ seq }) => seq))], [events]);
  const rows = useMemo(() => storyOf(events), [events]);
  const step = (by: 1 | -1): void => {
    const next = by === 1 ? stops.find((seq) => seq > at) : stops.findLast((seq) => seq < at);
    go(next ?? (by === 1 ? last : Math.max(1, at - 1)));
  };
  const trouble = (by: 1 | -1): void => {
    const found = rows.filter(({ isTrouble }) => isTrouble);
    const next = by === 1 ? found.find(({ seq }) => seq > at) : found.findLast(({ seq }) => seq < at);
    if (next !== undefined) go(next.seq);
  };
  usePlay(plays, () => (isAtEnd ? setPlays(false) : step(1)), at);
  const play = (): void => {
    if (!plays && isAtEnd) go(1);
    setPlays(!plays);
  };
  useKeys('Run', [
    { keys: 'ArrowLeft', does: 'Previous event', run: () => step(-1) },
    { keys: 'ArrowRight', does: 'Next event', run: () => step(1) },
    { keys: ' ', does: 'Play', run: play },
    { keys: 'n', does: 'Next trouble', run: () => trouble(1) },
    { keys: 'p', does: 'Previous trouble', run: () => trouble(-1) },
    { keys: 'L', does: 'Follow the run', run: () => setFollow(!follow) },
    { keys: 'End', does: 'Last event', run: () => go(last) },
  ]);
  return (
    <div className="slider">
      <Button kind="quiet" icon="left" aria-label="Previous event" onClick={() => step(-1)} disabled={at <= 1} />
      <Button kind="quiet" icon={plays ? 'pause' : 'play'} aria-label={plays ? 'Stop' : 'Play'} onClick={play} />
      <Button kind="quiet" icon="right" aria-label="Next event" onClick={() => step(1)} disabled={isAtEnd} />
      <div className="slider-line" data-folded={store.folded()}>
        <Marks rows={rows} last={last} />
        <input
          type="range"
          aria-label="Event"
          aria-valuetext={`event ${at} of ${last}`}
          min={1}
          max={Math.max(1, last)}
          value={at}
          style={{ '--share': `${last <= 1 ? 100 : (100 * (at - 1)) / (last - 1)}%` } as never}
          onChange={({ target }) => go(Number(target.value))}
          onKeyDown={(event) => {
            // The keys of the page step from event to event.
            if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') event.preventDefault();
          }}
        />
      </div>
      <span className="num text-2 slider-text">
        event {at} of {last}
      </span>
    </div>
  );
}

function usePlay(plays: boolean, step: () => void, at: number): void {
  useEffect(() => {
    if (!plays) return undefined;
    const timer = setTimeout(step, STEP_MS);
    return () => clearTimeout(timer);
    // The step is that of this event.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [plays, at]);
}

/** A short line for what happened, a long one for trouble. Of very many, those with trouble. */
function Marks({ rows, last }: { readonly rows: readonly StoryRow[]; readonly last: number }): ReactElement {
  const shown =
    rows.length <= MARKS_MAX
      ? rows
      : rows.filter(({ isTrouble, tone }) => isTrouble || tone === 'waiting').slice(0, MARKS_MAX);
  return (
    <svg className="marks" aria-hidden="true" preserveAspectRatio="none" viewBox="0 0 1000 16">
      {shown.map(({ id, seq, tone, isTrouble }) => {
        const x = last <= 1 ? 0 : (1000 * (seq - 1)) / (last - 1);
        return (
          <line
            key={id}
            className={`mark-${isTrouble || tone === 'waiting' ? tone : 'idle'}`}
            x1={x}
            x2={x}
            y1={isTrouble || tone === 'waiting' ? 2 : 9}
            y2={16}
          />
        );
      })}
    </svg>
  );
}
