/** The questions that wait for a person: a list, and all that is needed to decide one. */
import { useQuery } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { questionsQuery } from '../data/server.ts';
import type { OpenQuestion } from '../data/types.ts';
import { useParameter, useParameters } from '../data/url.ts';
import { Page } from '../shell/page.tsx';
import { useKeys } from '../ui/keys.ts';
import { Empty, Loading, Problem, Tabs } from '../ui/parts.tsx';
import { Answered } from './answered.tsx';
import { QuestionList } from './question-list.tsx';
import { QuestionPanel } from './question-panel.tsx';

type Show = 'me' | 'all' | 'answered';

export function InboxPage(): ReactElement {
  const { data, error, refetch } = useQuery(questionsQuery);
  const show = showOf(useParameter('show'));
  const setParameters = useParameters();
  const all = (data?.items ?? []).toSorted(byUrgency);
  const mine = all.filter(({ mayAnswer }) => mayAnswer);
  return (
    <Page title="Inbox">
      <div className="inbox">
        <div className="inbox-tabs">
          <Tabs
            label="Questions"
            selected={show}
            tabs={[
              { id: 'me', title: 'For me', amount: mine.length },
              { id: 'all', title: 'Everyone', amount: all.length },
              { id: 'answered', title: 'Answered' },
            ]}
            onSelect={(id) => setParameters({ show: id === 'me' ? undefined : id, q: undefined })}
          />
        </div>
        <div id="panel" role="tabpanel" aria-labelledby={`tab-${show}`} className="inbox-panel">
          {show === 'answered' ? (
            <Answered />
          ) : data === undefined ? (
            error === null ? (
              <Loading what="questions" />
            ) : (
              <Problem error={error} onRetry={() => void refetch()} />
            )
          ) : (
            <Questions questions={show === 'me' ? mine : all} everyone={all.length} />
          )}
        </div>
      </div>
    </Page>
  );
}

function showOf(given: string | undefined): Show {
  return given === 'all' || given === 'answered' ? given : 'me';
}

/** The one that expires first is first; then the oldest. */
function byUrgency(a: OpenQuestion, b: OpenQuestion): number {
  const end = (question: OpenQuestion): number =>
    question.expiresAt === null ? Infinity : Date.parse(question.expiresAt);
  const first = end(a) - end(b);
  return Number.isFinite(first) && first !== 0 ? first : end(a) !== end(b) ? first : a.askedAt < b.askedAt ? -1 : 1;
}

interface QuestionsProps {
  readonly questions: readonly OpenQuestion[];
  readonly everyone: number;
}

/** A question that was answered elsewhere stays in sight until another one is chosen. */
function Questions({ questions, everyone }: QuestionsProps): ReactElement {
  const named = useParameter('q');
  const setParameters = useParameters();
  const [seen, setSeen] = useState<OpenQuestion | null>(null);
  const open = questions.find(({ id }) => id === named);
  if (open !== undefined && open !== seen) setSeen(open);
  const gone = named !== undefined && seen?.id === named ? seen : undefined;
  const shown = open ?? gone ?? questions[0];
  const select = (id: string | undefined): void => setParameters({ q: id });
  const step = (by: number): void => {
    const at = questions.findIndex(({ id }) => id === shown?.id);
    select(questions[Math.max(0, Math.min(questions.length - 1, at + by))]?.id);
  };
  useKeys('Inbox', [
    { keys: 'j', does: 'Next question', run: () => step(1) },
    { keys: 'k', does: 'Previous question', run: () => step(-1) },
  ]);
  if (shown === undefined)
    return (
      <Empty icon="inbox" title="Nothing waits for you" command="sluice approvals">
        {everyone === 0
          ? 'A question of a run appears here by itself.'
          : `${everyone} wait for other people: see Everyone.`}
      </Empty>
    );
  return (
    <div className="inbox-split">
      <QuestionList questions={questions} selected={shown.id} onSelect={select} />
      <QuestionPanel key={shown.id} question={shown} isGone={open === undefined && shown === gone} />
    </div>
  );
}
