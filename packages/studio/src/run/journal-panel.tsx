/** All events, one by one, and the values of the run at the chosen event. */
import { harmless } from '@sluice-internal/wire';
import type { RunEvent } from '@sluice-internal/wire';
import { useQuery } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { stateQuery } from '../data/server.ts';
import { pretty } from '../ui/format.ts';
import { Button, ProblemNote, Value } from '../ui/parts.tsx';
import { Rows } from '../ui/rows.tsx';
import { useRun } from './context.tsx';

export function JournalPanel(): ReactElement {
  const { events, at, go, before, store } = useRun();
  const [open, setOpen] = useState<string | null>(null);
  const [shows, setShows] = useState<'events' | 'values'>('events');
  const current = events.findLastIndex(({ seq }) => seq <= at);
  return (
    <section className="journal" aria-label="Journal">
      <div className="switch" role="group" aria-label="Show">
        <Button kind="quiet" aria-pressed={shows === 'events'} onClick={() => setShows('events')}>
          Events
        </Button>
        <Button kind="quiet" aria-pressed={shows === 'values'} onClick={() => setShows('values')}>
          Values at event {at}
        </Button>
      </div>
      {shows === 'values' ? (
        <Values />
      ) : (
        <Rows
          label="Events"
          items={events}
          keyOf={({ id }) => id}
          height={26}
          measured
          selected={current}
          onStart={before > 0 ? () => void store.readOlder() : undefined}
          render={(event, index) => (
            <EventLine
              event={event}
              isCurrent={index === current}
              isOpen={open === event.id}
              onClick={() => {
                go(event.seq);
                setOpen(open === event.id ? null : event.id);
              }}
            />
          )}
        />
      )}
    </section>
  );
}

interface EventLineProps {
  readonly event: RunEvent;
  readonly isCurrent: boolean;
  readonly isOpen: boolean;
  readonly onClick: () => void;
}

function EventLine({ event, isCurrent, isOpen, onClick }: EventLineProps): ReactElement {
  const { id, type, node, seq: _, at: __, ...fields } = event;
  return (
    <div className={isCurrent ? 'is-current' : ''}>
      <button type="button" className="event-line" aria-expanded={isOpen} onClick={onClick}>
        <span className="num text-3">{id}</span>
        <span className="mono ellipsis">{type}</span>
        <span className="text-2 ellipsis">{node === undefined ? '' : harmless(node)}</span>
      </button>
      {isOpen && <pre className="event-json">{harmless(pretty(fields))}</pre>}
    </div>
  );
}

function Values(): ReactElement {
  const { report, at, isAtEnd } = useRun();
  const { data, error } = useQuery({
    ...stateQuery(report.run, at),
    placeholderData: (before) => before,
    staleTime: isAtEnd ? 0 : Infinity,
  });
  if (error !== null) return <ProblemNote error={error} />;
  const slots = Object.entries(data?.slots ?? {});
  return (
    <ul className="values" aria-label="Values">
      {slots.map(([name, { writtenBy, seq, value } = NONE]) => (
        <li key={name}>
          <p>
            <strong className="mono">{harmless(name)}</strong>
            <span className="text-2">
              {' '}
              {writtenBy === null ? 'given' : `by ${harmless(writtenBy)}`}, event {seq}
            </span>
          </p>
          <Value text={pretty(value)} />
        </li>
      ))}
    </ul>
  );
}

const NONE = { writtenBy: null, seq: 0, value: null };
