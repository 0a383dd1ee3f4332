/** The open questions: title, time left, flow, user, and the effect that weighs most. */
import type { ReactElement } from 'react';
import type { OpenQuestion } from '../data/types.ts';
import { useNow } from '../ui/clock.ts';
import { ago, duration } from '../ui/format.ts';
import { Icon } from '../ui/icon.tsx';
import { EffectTag, Safe } from '../ui/parts.tsx';

interface ListProps {
  readonly questions: readonly OpenQuestion[];
  readonly selected: string;
  readonly onSelect: (id: string) => void;
}

export function QuestionList({ questions, selected, onSelect }: ListProps): ReactElement {
  return (
    <ul className="question-list" aria-label="Open questions">
      {questions.map((question) => (
        <li key={question.id}>
          <button
            type="button"
            className={`question-line ${question.id === selected ? 'is-selected' : ''}`}
            aria-current={question.id === selected}
            onClick={() => onSelect(question.id)}
          >
            <Icon name="person" className="ink-waiting" />
            <span className="grow">
              <span className="question-title">
                <span className="grow ellipsis">
                  <Safe text={question.packet.question} />
                </span>
                <TimeLeft question={question} />
              </span>
              <Facts question={question} />
            </span>
          </button>
        </li>
      ))}
    </ul>
  );
}

function Facts({ question: { flow, packet, agreed, quorum } }: { readonly question: OpenQuestion }): ReactElement {
  const weighty = packet.effects.find(({ certain }) => certain) ?? packet.effects[0];
  return (
    <span className="question-facts">
      <span className="ellipsis">{flow}</span>
      {packet.user !== null && (
        <>
          <span aria-hidden="true">·</span>
          <span className="ellipsis">
            <Safe text={packet.user} />
          </span>
        </>
      )}
      {weighty !== undefined && <EffectTag effect={weighty.effect} />}
      {quorum > 1 && (
        <span>
          {agreed.length} of {quorum} agreed
        </span>
      )}
    </span>
  );
}

const SOON_MS = 3_600_000;

/** The time until it expires; its age if it does not. */
function TimeLeft({ question: { expiresAt, askedAt } }: { readonly question: OpenQuestion }): ReactElement {
  const now = useNow();
  if (expiresAt === null) return <span className="text-3 num">{ago(askedAt, now)}</span>;
  const left = Date.parse(expiresAt) - now;
  return (
    <span className={`num ${left < SOON_MS ? 'ink-waiting' : 'text-2'}`} title="until it expires">
      {left > 0 ? duration(left) : 'over'}
    </span>
  );
}
