/** The questions that people have answered in the latest runs. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { ask, runPath, runsPage } from '../data/server.ts';
import { clock } from '../ui/format.ts';
import { Empty, Loading, Problem, Safe } from '../ui/parts.tsx';

const RUNS = 30;

interface QuestionEvent {
  readonly id: string;
  readonly type: string;
  readonly question: string;
  readonly message?: string;
  readonly choice?: string;
  readonly by?: string;
  readonly text?: string | null;
  readonly at: number;
}

interface Row extends QuestionEvent {
  readonly run: string;
  readonly flow: string;
  readonly title: string;
}

async function latest(): Promise<readonly Row[]> {
  const { items } = await runsPage({}, undefined, RUNS);
  const all = await Promise.all(
    items.map(async ({ run, flow }) => {
      const types = 'question.asked,question.answered';
      const events = await ask<{ readonly items: readonly QuestionEvent[] }>(`${runPath(run)}/events`, {
        query: { types, limit: 500 },
      });
      const titles = new Map(
        events.items
          .map(({ question, message = '' }) => [question, message] as const)
          .filter(([, text]) => text !== ''),
      );
      return events.items
        .filter(({ type }) => type === 'question.answered')
        .map((each): Row => ({ ...each, run, flow, title: titles.get(each.question) ?? each.question }));
    }),
  );
  return all.flat().toSorted((a, b) => b.at - a.at);
}

export function Answered(): ReactElement {
  const { data, error, refetch } = useQuery({ queryKey: ['questions', 'answered'], queryFn: latest });
  if (data === undefined)
    return error === null ? <Loading what="answers" /> : <Problem error={error} onRetry={() => void refetch()} />;
  if (data.length === 0)
    return (
      <Empty icon="inbox" title="Nobody has answered yet" command="sluice answer ID CHOICE">
        The answers of the latest {RUNS} runs appear here.
      </Empty>
    );
  return (
    <div className="answered">
      <table className="table">
        <thead>
          <tr>
            <th>Question</th>
            <th>Answer</th>
            <th>By</th>
            <th>At</th>
            <th>Run</th>
          </tr>
        </thead>
        <tbody>
          {data.map(({ id, run, flow, title, choice = '', by = '', text, at }) => (
            <tr key={`${run} ${id}`}>
              <td>
                <Safe text={title} />
              </td>
              <td>
                <span className={`tag ${choice === 'reject' ? 'is-failed' : 'is-ok'}`}>{choice}</span>{' '}
                {text !== null && text !== undefined && <Safe text={text} />}
              </td>
              <td>
                <Safe text={by} />
              </td>
              <td className="num">{clock(at)}</td>
              <td>
                {flow}{' '}
                <Link to="/runs/$run" params={{ run }} className="mono link">
                  {run}
                </Link>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
