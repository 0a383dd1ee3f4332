/** What the run has used, holds for calls that are open, and may use. */
import type { ReactElement } from 'react';
import { useNow } from '../ui/clock.ts';
import { dollars, duration, short } from '../ui/format.ts';
import { useRun } from './context.tsx';

interface Shown {
  readonly name: string;
  readonly used: number;
  readonly held: number;
  readonly limit: number | null;
  readonly write: (amount: number) => string;
}

/** In this order: those with a limit first. */
const NAMES: { readonly [measure: string]: string } = {
  ...{ modelCalls: 'Model calls', toolCalls: 'Tool calls', tokens: 'Tokens', costUsd: 'Cost', steps: 'Steps' },
  ...{ sideEffects: 'Side effects', externalCalls: 'External calls', retries: 'Retries', reflections: 'Reflections' },
  ...{
    inputTokens: 'Input tokens',
    outputTokens: 'Output tokens',
    memoryWrites: 'Memory writes',
    undoCalls: 'Undo calls',
  },
};
const ALWAYS = ['modelCalls', 'toolCalls', 'tokens', 'costUsd', 'steps'];
const MOST = 5;
type Amounts = { readonly [measure: string]: number | undefined };

export function Meters(): ReactElement {
  const { view } = useRun();
  const used: Amounts = view.meters.used;
  const held: Amounts = view.meters.held;
  const limit: Amounts = view.meters.limit;
  const all = Object.entries(NAMES).flatMap(([measure, name]): readonly Shown[] => {
    const bound = limit[measure] ?? null;
    if (bound === null && !ALWAYS.includes(measure)) return [];
    const write = measure === 'costUsd' ? dollars : short;
    return [{ name, used: used[measure] ?? 0, held: held[measure] ?? 0, limit: bound, write }];
  });
  const shown = all.toSorted((a, b) => Number(b.limit !== null) - Number(a.limit !== null)).slice(0, MOST);
  const inOrder = all.filter((each) => shown.includes(each));
  return (
    <section className="meters" aria-label="Budgets">
      {inOrder.map((meter) => (
        <Meter key={meter.name} meter={meter} />
      ))}
      <Elapsed />
    </section>
  );
}

function Meter({ meter: { name, used, held, limit, write } }: { readonly meter: Shown }): ReactElement {
  const share = (amount: number): number => (limit === null || limit === 0 ? 0 : Math.min(100, (100 * amount) / limit));
  const tone = limit !== null && limit > 0 && used + held >= limit ? 'is-full' : '';
  return (
    <div className={`meter ${tone}`}>
      <div className="meter-head">
        <span>{name}</span>
        <span className="meter-amount num">
          {write(used)}
          {held > 0 && <span className="text-3" title="held for calls that are open">{` +${write(held)}`}</span>}
          {limit !== null && ` / ${write(limit)}`}
        </span>
      </div>
      {limit === null ? (
        <div className="meter-line is-open" />
      ) : (
        <div
          className="meter-line"
          role="meter"
          aria-label={name}
          aria-valuemin={0}
          aria-valuemax={limit}
          aria-valuenow={Math.min(used, limit)}
          aria-valuetext={`${write(used)} used, ${write(held)} held, of ${write(limit)}`}
        >
          <i className="used" style={{ width: `${share(used)}%` }} />
          <i className="held" style={{ width: `${Math.min(100 - share(used), share(held))}%` }} />
        </div>
      )}
    </div>
  );
}

function Elapsed(): ReactElement {
  const { view, events, isAtEnd, before, tip } = useRun();
  const now = useNow();
  const first = before === 0 ? events[0]?.at : undefined;
  const goesOn = isAtEnd && (tip?.state === 'running' || tip?.state === 'pending');
  const end = goesOn ? Math.max(now, view.at) : view.at;
  return (
    <div className="meter">
      <div className="meter-head">
        <span>Time</span>
        <span className="meter-amount num">{first === undefined ? '…' : duration(end - first)}</span>
      </div>
      <div className="meter-line is-open" />
    </div>
  );
}
