/** What happened, in words. A click goes to the event. */
import { harmless } from '@sluice-internal/wire';
import { useMemo, type ReactElement } from 'react';
import { inline } from '../ui/format.ts';
import { Icon } from '../ui/icon.tsx';
import { Button, Empty, Value } from '../ui/parts.tsx';
import { Rows } from '../ui/rows.tsx';
import { useParameters } from '../data/url.ts';
import { useRun } from './context.tsx';
import { storyOf, type StoryRow } from './story.ts';

const ROW = 44;

type Shown = StoryRow & { readonly isLive?: boolean };

export function StoryPanel(): ReactElement {
  const { events, before, at, isAtEnd, go, node, select, follow, store, texts, view } = useRun();
  const rows = useMemo(() => storyOf(events), [events]);
  const shown = useMemo<readonly Shown[]>(() => {
    const own = node === undefined ? rows : rows.filter((row) => row.node === node);
    if (!isAtEnd) return own;
    const open = view.bars.filter(({ kind, endedAt }) => endedAt === null && (kind === 'model' || kind === 'tool'));
    return [...own, ...open.filter((bar) => node === undefined || bar.node === node).map((bar) => goingOn(bar, texts))];
  }, [rows, node, isAtEnd, view, texts]);
  const first = events[0]?.at ?? 0;
  const current = isAtEnd ? -1 : shown.findLastIndex(({ seq }) => seq <= at);
  return (
    <section className="story" aria-label="Story">
      {node !== undefined && (
        <div className="story-filter">
          <span>
            Only <strong>{harmless(node)}</strong>
          </span>
          <Button kind="quiet" onClick={() => select(undefined)}>
            Show all
          </Button>
        </div>
      )}
      {before > 0 && <p className="story-filter text-2">Events before {before + 1} are read when you scroll up.</p>}
      {shown.length === 0 ? (
        <Empty icon="runs" title="Nothing happened yet" />
      ) : (
        <Rows
          label="Story"
          items={shown}
          keyOf={({ id }) => id}
          height={ROW}
          measured
          selected={current >= 0 ? current : undefined}
          follows={isAtEnd && follow && shown.at(-1)?.isLive === true}
          onStart={before > 0 ? () => void store.readOlder() : undefined}
          render={(row, index) => (
            <StoryLine
              row={row}
              from={before === 0 ? first : null}
              isFuture={!isAtEnd && row.seq > at}
              isCurrent={index === current}
              go={go}
            />
          )}
        />
      )}
    </section>
  );
}

/** A call that has not ended, with what was written of its reply. */
function goingOn(
  { id, kind, label, node, seq, startedAt }: ReturnType<typeof useRun>['view']['bars'][number],
  texts: ReadonlyMap<string, string>,
): Shown {
  const text = texts.get(id) ?? '';
  return {
    ...{ id: `open-${id}`, seq, at: startedAt, node, icon: 'ring', tone: 'running', name: label },
    ...{ does: kind === 'tool' ? 'is called' : text === '' ? 'is asked' : 'writes', aside: '', body: text.slice(-600) },
    ...{ isTrouble: false, isReason: false, controls: [], call: null, isMinor: false, isLive: true },
  };
}

interface LineProps {
  readonly row: Shown;
  /** The time of the first event; null if it was not read. */
  readonly from: number | null;
  readonly isFuture: boolean;
  readonly isCurrent: boolean;
  readonly go: (seq: number) => void;
}

function StoryLine({ row, from, isFuture, isCurrent, go }: LineProps): ReactElement {
  const { seq, at, icon, tone, name, does, aside, body, isReason, controls, call } = row;
  const set = useParameters();
  return (
    <div
      className={`story-line ${isFuture ? 'is-future' : ''} ${isCurrent ? 'is-current' : ''} ${row.isMinor ? 'is-minor' : ''}`}
    >
      <div className="story-main">
        <button
          type="button"
          className="story-time num"
          aria-label={`Event ${seq}`}
          aria-current={isCurrent ? 'step' : undefined}
          onClick={() => go(seq)}
        >
          <span aria-hidden="true">{from === null ? seq : ((at - from) / 1000).toFixed(1)}</span>
        </button>
        <Icon name={icon} className={`ink-${tone}`} />
        <span className="story-text">
          <span className="story-head">
            <span className="story-title">
              <strong>{harmless(name)}</strong> <span className="text-2">{harmless(does)}</span>
            </span>
            <span className="story-aside num">{aside}</span>
          </span>
          {controls.length > 0 && <Controls row={row} />}
          {body !== '' &&
            (isReason ? (
              <span className="story-reason">{harmless(body)}</span>
            ) : (
              <Value className="story-body" text={inline(body, 600)} />
            ))}
        </span>
      </div>
      {call !== null && (
        <Button
          kind="quiet"
          icon="file"
          className="story-call"
          aria-label={`Call of ${name}`}
          title="The call as it was sent"
          onClick={() => set({ tab: 'prompts', call })}
        />
      )}
    </div>
  );
}

/** The controls in the order of the walk. The one that stopped the call is red; those after it were not asked. */
function Controls({ row: { controls } }: { readonly row: StoryRow }): ReactElement {
  return (
    <span className="controls">
      {controls.map(({ control, ok, reason }) => (
        <span
          key={control}
          className={`control ${ok === null ? 'is-open' : ok ? 'is-passed' : 'is-stopped'}`}
          title={reason}
        >
          {control}
          <span className="visually-hidden">{ok === null ? ' not asked' : ok ? ' passed' : ' refused'}, </span>
        </span>
      ))}
    </span>
  );
}
