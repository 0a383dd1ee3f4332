/** One run in a list. */
import { harmless } from '@sluice-internal/wire';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { ListedRun } from '../data/types.ts';
import { useNow } from '../ui/clock.ts';
import { ago, dollars, plural } from '../ui/format.ts';
import { StateIcon } from '../ui/parts.tsx';
import { runState } from '../ui/states.ts';

interface RunLineProps {
  readonly row: ListedRun;
  readonly isSelected: boolean;
  /** Where the row leads, if not to the run. */
  readonly to?: string;
  readonly params?: { readonly [name: string]: string };
}

export function RunLine({ row, isSelected, to = '/runs/$run', params = { run: row.run } }: RunLineProps): ReactElement {
  const { run, flow, status, code, questions = 0, steps = 0, costUsd } = row;
  const shown = runState(status, code, questions);
  const about = `row-${run}`;
  return (
    <div className={`run-line ${isSelected ? 'is-selected' : ''}`}>
      <StateIcon shown={shown} />
      <span id={about} className="run-line-text">
        <span className="visually-hidden">{shown.word}. </span>
        <strong className="ellipsis">{flow}</strong>
        <Link to={to} params={params} className="mono text-2 run-link" aria-describedby={about}>
          {run}
        </Link>
        <span className={`ellipsis run-line-why ink-${shown.tone}`}>{why(row, shown.word)}</span>
        <span className="num text-2 run-line-steps">{plural(steps, 'step')}</span>
        <span className="num text-2 run-line-cost">{costUsd === null ? '' : dollars(costUsd)}</span>
        <Age time={row.updatedAt} />
      </span>
    </div>
  );
}

function Age({ time }: { readonly time: string }): ReactElement {
  const now = useNow();
  return <span className="num text-2 run-line-age">{ago(time, now)}</span>;
}

/** The reason in words: where it waits, or why it ended so. */
function why({ status, code, node, error, questions = 0 }: ListedRun, word: string): string {
  if (questions > 0) return `waits for ${plural(questions, 'answer')}${at(node)}`;
  if (error !== undefined && error !== null) return harmless(`${code ?? status}${at(node)}: ${error.message}`);
  if (status === 'running' || status === 'suspended') return `${word.toLowerCase()}${at(node)}`;
  return code ?? word.toLowerCase();
}

function at(node: string | null | undefined): string {
  return node === undefined || node === null ? '' : ` at ${node}`;
}
