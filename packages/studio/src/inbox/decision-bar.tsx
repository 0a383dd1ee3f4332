/** The buttons of a question. No key and no button approves at once: a dialog stands in between. */
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState, type ReactElement } from 'react';
import { useConnection } from '../data/live.ts';
import { useMe } from '../data/me.ts';
import type { OpenQuestion } from '../data/types.ts';
import { useKeys } from '../ui/keys.ts';
import { Button } from '../ui/parts.tsx';
import { AnswerDialog } from './answer-dialog.tsx';
import { editChoice, editOf, problemOf, type Draft } from './draft.ts';

interface BarProps {
  readonly question: OpenQuestion;
  readonly draft: Draft;
  readonly onDraft: (draft: Draft) => void;
  readonly isGone: boolean;
}

/** A key that was typed for the question before must not decide this one. */
const PAUSE_MS = 400;

export function DecisionBar(props: BarProps): ReactElement {
  const { question, draft, onDraft } = props;
  const decision = useDecision(props);
  const { chosen, setChosen } = decision;
  const queries = useQueryClient();
  return (
    <div className="decision">
      {decision.why !== null && <p className={decision.isLate ? 'ink-waiting' : 'text-2'}>{decision.why}</p>}
      <Buttons question={question} decision={decision} hasProblem={problemOf(draft) !== null} />
      {chosen !== null && (
        <AnswerDialog
          question={question}
          choice={chosen}
          edit={chosen === editChoice(question) ? editOf(draft) : undefined}
          onClose={() => setChosen(null)}
          onDone={() => {
            setChosen(null);
            onDraft({ ...draft, text: null });
            void queries.invalidateQueries({ queryKey: ['questions'] });
            void queries.invalidateQueries({ queryKey: ['report'] });
          }}
        />
      )}
    </div>
  );
}

interface Decision {
  /** The choice that is being confirmed. */
  readonly chosen: string | null;
  readonly setChosen: (choice: string | null) => void;
  readonly begin: (choice: string | undefined) => void;
  readonly startEdit: () => void;
  readonly yes: string | undefined;
  readonly no: string | undefined;
  readonly isOff: boolean;
  readonly isLate: boolean;
  readonly why: string | null;
}

function useDecision({ question, draft, onDraft, isGone }: BarProps): Decision {
  const { choices, payload, id } = question;
  const [chosen, setChosen] = useState<string | null>(null);
  const isPaused = usePause(`${id} ${payload}`);
  const connection = useConnection();
  const obstacle = useObstacle(question, isGone);
  const isLate = obstacle === null && connection !== 'live';
  const isOff = obstacle !== null || isLate;
  const editing = editChoice(question);
  const yes =
    editOf(draft) !== undefined && editing !== undefined ? editing : choices.find((each) => each === 'approve');
  const no = choices.find((each) => each === 'reject' || each === 'stop');
  const begin = (choice: string | undefined): void => {
    if (choice !== undefined && !isOff) setChosen(choice);
  };
  const startEdit = (): void => {
    if (editing === undefined || isOff) return;
    onDraft({ ...draft, text: draft.text ?? JSON.stringify(draft.original, null, 2) });
  };
  const byKey = (run: () => void) => (): void => {
    if (!isPaused()) run();
  };
  useKeys('Question', [
    { keys: 'a', does: 'Approve, after a confirmation', run: byKey(() => begin(yes)) },
    { keys: 'e', does: 'Edit the arguments', run: byKey(startEdit) },
    { keys: 'r', does: 'Reject', run: byKey(() => begin(no)) },
    { keys: 't', does: 'Respond with words', run: byKey(() => begin(choices.find((each) => each === 'respond'))) },
  ]);
  const why = obstacle ?? (isLate ? 'Answers wait until the page is up to date again.' : null);
  return { chosen, setChosen, begin, startEdit, yes, no, isOff, isLate, why };
}

/** True for a moment after what is asked has changed. */
function usePause(what: string): () => boolean {
  const since = useRef({ what: '', at: 0 });
  useEffect(() => {
    since.current = { what, at: performance.now() };
  }, [what]);
  return () => performance.now() - since.current.at < PAUSE_MS;
}

const NAMED = new Set(['approve', 'edit', 'reject', 'stop', 'respond']);

interface ButtonsProps {
  readonly question: OpenQuestion;
  readonly decision: Decision;
  readonly hasProblem: boolean;
}

function Buttons({ question: { choices, ...question }, decision, hasProblem }: ButtonsProps): ReactElement {
  const { begin, startEdit, yes, no, isOff } = decision;
  const canEdit = editChoice({ choices, ...question }) !== undefined;
  return (
    <div className="decision-buttons">
      <Button
        kind="primary"
        shortcut="A"
        disabled={isOff || yes === undefined || hasProblem}
        onClick={() => begin(yes)}
      >
        Approve
      </Button>
      <Button shortcut="E" disabled={isOff || !canEdit} onClick={startEdit}>
        Edit
      </Button>
      <Button shortcut="R" disabled={isOff || no === undefined} onClick={() => begin(no)}>
        Reject
      </Button>
      <Button shortcut="T" disabled={isOff || !choices.includes('respond')} onClick={() => begin('respond')}>
        Respond
      </Button>
      {choices
        .filter((each) => !NAMED.has(each))
        .map((each) => (
          <Button key={each} disabled={isOff} onClick={() => begin(each)}>
            {each}
          </Button>
        ))}
      <span className="grow" />
      <span className="decision-hint text-2" aria-hidden="true">
        <kbd>J</kbd> <kbd>K</kbd> next, previous
      </span>
    </div>
  );
}

/** Why the caller cannot answer; null if it can. */
function useObstacle({ mayAnswer, approvers, agreed }: OpenQuestion, isGone: boolean): string | null {
  const me = useMe();
  if (isGone) return 'This question is closed.';
  if (mayAnswer) return null;
  if (me !== null && agreed.some(({ by }) => by === me.person))
    return 'You have agreed. Another person must agree too.';
  const { people = [] } = (approvers ?? {}) as { readonly people?: readonly string[] };
  if (people.length > 0) return `Only ${people.join(' or ')} may decide this.`;
  return 'You have no access to answer.';
}
