/** One question: what happens on a yes, why it is asked, where the values come from, and the answer. */
import { Link } from '@tanstack/react-router';
import { useQuery } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { ask, reportQuery, runPath } from '../data/server.ts';
import type { OpenQuestion } from '../data/types.ts';
import { clock } from '../ui/format.ts';
import { Icon } from '../ui/icon.tsx';
import { Safe } from '../ui/parts.tsx';
import { DecisionBar } from './decision-bar.tsx';
import { startOfDraft, type Draft } from './draft.ts';
import { PacketView } from './packet-view.tsx';

interface PanelProps {
  readonly question: OpenQuestion;
  /** Somebody has answered it, or its run has ended. */
  readonly isGone: boolean;
}

export function QuestionPanel({ question, isGone }: PanelProps): ReactElement {
  const { run, flow, packet } = question;
  const [draft, setDraft] = useState<Draft>(() => startOfDraft(question));
  return (
    <section className="inbox-question" aria-label="Question">
      <div className="question-body">
        <p className="question-place">
          <Link to="/flows/$flow" params={{ flow }}>
            {flow}
          </Link>
          <span aria-hidden="true">/</span>
          <Link to="/runs/$run" params={{ run }} className="mono">
            {run}
          </Link>
        </p>
        <h2 className="question-head">
          <Safe text={packet.question} />
        </h2>
        <Way question={question} />
        {isGone && <Closed question={question} />}
        <PacketView question={question} draft={draft} onDraft={setDraft} />
      </div>
      <DecisionBar question={question} draft={draft} onDraft={setDraft} isGone={isGone} />
    </section>
  );
}

const SHOWN = 4;

/** The last nodes of the run, and the one that asks. */
function Way({ question: { run, node } }: { readonly question: OpenQuestion }): ReactElement {
  const { data } = useQuery(reportQuery(run));
  const path = (data?.path ?? []).filter((each, at, all) => each !== node || at < all.length - 1);
  const before = (path.at(-1) === node ? path.slice(0, -1) : path).slice(-SHOWN);
  return (
    <ol className="question-way" aria-label="Path so far">
      {before.map((each, at) => (
        <li key={`${each}${at}`}>
          <Icon name="check" className="ink-ok" /> {each}
        </li>
      ))}
      <li aria-current="step" className="ink-waiting">
        <Icon name="person" /> {node}
      </li>
    </ol>
  );
}

interface Ended {
  readonly items: readonly {
    readonly type: string;
    readonly question: string;
    readonly choice?: string;
    readonly by?: string;
    readonly at: number;
  }[];
}

/** Who was first. */
function Closed({ question: { run, id } }: { readonly question: OpenQuestion }): ReactElement {
  const { data } = useQuery({
    queryKey: ['closed', id],
    queryFn: () =>
      ask<Ended>(`${runPath(run)}/events`, { query: { types: 'question.answered,question.closed', limit: 1000 } }),
  });
  const end = data?.items.findLast((each) => each.question === id);
  return (
    <p className="note is-waiting" role="status">
      {end?.by === undefined ? (
        'This question is closed.'
      ) : (
        <>
          <strong>
            <Safe text={end.by} />
          </strong>{' '}
          was first: <code>{end.choice}</code> on {clock(end.at)}.
        </>
      )}
    </p>
  );
}
