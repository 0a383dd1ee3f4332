/** The answers that a person can give to a question: yes, yes with a change, no, words, or a choice of the document. */
import { useEffect, useRef, useState, type ReactElement } from 'react';
import { useConnection } from '../data/live.ts';
import type { OpenQuestion } from '../data/types.ts';
import { parsedJson, type Parsed } from '../ui/json.ts';
import { useKeys } from '../ui/keys.ts';
import { pretty } from '../ui/format.ts';
import { Button, ProblemNote } from '../ui/parts.tsx';
import { proposed, useAnswer, wasFirst, type Given } from './answer.ts';
import { Changes } from './changes.tsx';
import { Confirm } from './confirm.tsx';

/** A key that was meant for the question before this one does nothing. */
const LOOK_MS = 400;

type Mode = 'choose' | 'edit' | 'respond' | 'reject';

export function Actions({ question, isDisabled = false, onAnswered }: ActionsProps): ReactElement {
  const dialog = useAnswering(question, onAnswered);
  const { mode, setMode, isAsking, setAsking, edited, answer, send } = dialog;
  const isLive = useConnection() === 'live';
  const off = !question.mayAnswer || !isLive || isDisabled || answer.isPending;
  useAnswerKeys(question, off, dialog);
  const editing = mode === 'edit' && edited.ok ? { before: proposed(question), after: edited.value } : undefined;
  return (
    <div className="actions">
      {mode === 'choose' ? (
        <Choices
          question={question}
          off={off}
          onYes={() => setAsking(true)}
          onMode={setMode}
          onOther={(choice) => send({ choice })}
        />
      ) : (
        <Form dialog={dialog} off={off} />
      )}
      <Notes question={question} isLive={isLive} error={isAsking ? null : answer.error} />
      {isAsking && (
        <Confirm
          question={question}
          edit={editing}
          isSending={off}
          error={answer.error}
          onConfirm={() =>
            send(editing === undefined ? { choice: 'approve' } : { choice: 'edit', edit: editing.after })
          }
          onClose={() => setAsking(false)}
        />
      )}
    </div>
  );
}

interface Answering {
  readonly question: OpenQuestion;
  readonly mode: Mode;
  readonly setMode: (mode: Mode) => void;
  /** The confirmation is open. */
  readonly isAsking: boolean;
  readonly setAsking: (isAsking: boolean) => void;
  readonly edit: string;
  readonly setEdit: (edit: string) => void;
  readonly edited: Parsed;
  readonly words: string;
  readonly setWords: (words: string) => void;
  readonly answer: ReturnType<typeof useAnswer>;
  readonly send: (given: Given) => void;
}

function useAnswering(question: OpenQuestion, onAnswered: (() => void) | undefined): Answering {
  const answer = useAnswer(question);
  const [mode, setMode] = useState<Mode>('choose');
  const [isAsking, setAsking] = useState(false);
  const [edit, setEdit] = useState(() => pretty(proposed(question)));
  const [words, setWords] = useState('');
  const onSuccess = (): void => {
    setAsking(false);
    setMode('choose');
    onAnswered?.();
  };
  return {
    ...{ question, mode, setMode, isAsking, setAsking, edit, setEdit, words, setWords, answer },
    edited: parsedJson(edit),
    send: (given) => answer.mutate(given, { onSuccess }),
  };
}

function useAnswerKeys({ id, choices }: OpenQuestion, off: boolean, { setMode, setAsking }: Answering): void {
  const guard = useLook(id);
  const keys = [
    { choice: 'approve', keys: 'a', does: 'Approve', run: () => setAsking(true) },
    { choice: 'edit', keys: 'e', does: 'Edit', run: () => setMode('edit') },
    { choice: 'reject', keys: 'r', does: 'Reject', run: () => setMode('reject') },
    { choice: 'respond', keys: 't', does: 'Respond', run: () => setMode('respond') },
  ];
  const own = keys.filter(({ choice }) => choices.includes(choice));
  useKeys(
    'Question',
    own.map(({ run, ...rest }) => ({ ...rest, run: guard(() => (off ? undefined : run())) })),
  );
}

/** What comes with an answer: another value, or words. */
function Form({ dialog, off }: { readonly dialog: Answering; readonly off: boolean }): ReactElement {
  const { question, mode, setMode, setAsking, edit, setEdit, edited, words, setWords, send } = dialog;
  const text = words.trim();
  return (
    <>
      {mode === 'edit' ? (
        <EditField
          value={edit}
          onChange={setEdit}
          problem={edited.ok ? null : edited.problem}
          before={proposed(question)}
          after={edited.ok ? edited.value : undefined}
        />
      ) : (
        <WordsField mode={mode} value={words} onChange={setWords} />
      )}
      <div className="action-row">
        {mode === 'edit' && (
          <Button kind="primary" disabled={off || !edited.ok} onClick={() => setAsking(true)}>
            Approve with edit
          </Button>
        )}
        {mode === 'respond' && (
          <Button kind="primary" disabled={off || text === ''} onClick={() => send({ choice: mode, text })}>
            Send
          </Button>
        )}
        {mode === 'reject' && (
          <Button kind="danger" disabled={off} onClick={() => send({ choice: mode, ...(text === '' ? {} : { text }) })}>
            Reject
          </Button>
        )}
        <Button onClick={() => setMode('choose')}>Back</Button>
      </div>
    </>
  );
}

/** Why an answer cannot be given now, or was not taken. */
function Notes({ question, isLive, error }: NotesProps): ReactElement {
  const first = wasFirst(error);
  return (
    <>
      {!question.mayAnswer && <p className="text-2">You are not one of the people who may answer.</p>}
      {question.mayAnswer && !isLive && <p className="text-2">Answers wait until the page is live again.</p>}
      {first !== null && (
        <p className="note is-waiting" role="alert">
          {first}
        </p>
      )}
      {first === null && error !== null && <ProblemNote error={error} />}
    </>
  );
}
interface NotesProps {
  readonly question: OpenQuestion;
  readonly isLive: boolean;
  readonly error: unknown;
}

export interface ActionsProps {
  readonly question: OpenQuestion;
  /** The page does not show the run as it is now. */
  readonly isDisabled?: boolean;
  readonly onAnswered?: () => void;
}

interface ChoicesProps {
  readonly question: OpenQuestion;
  readonly off: boolean;
  readonly onYes: () => void;
  readonly onMode: (mode: Mode) => void;
  readonly onOther: (choice: string) => void;
}

const KNOWN = new Set(['approve', 'edit', 'reject', 'respond']);

function Choices({ question: { choices }, off, onYes, onMode, onOther }: ChoicesProps): ReactElement {
  return (
    <div className="action-row">
      {choices.includes('approve') && (
        <Button kind="primary" shortcut="A" disabled={off} onClick={onYes}>
          Approve
        </Button>
      )}
      {choices.includes('edit') && (
        <Button shortcut="E" disabled={off} onClick={() => onMode('edit')}>
          Edit
        </Button>
      )}
      {choices.includes('reject') && (
        <Button shortcut="R" disabled={off} onClick={() => onMode('reject')}>
          Reject
        </Button>
      )}
      {choices.includes('respond') && (
        <Button shortcut="T" disabled={off} onClick={() => onMode('respond')}>
          Respond
        </Button>
      )}
      {choices
        .filter((choice) => !KNOWN.has(choice))
        .map((choice) => (
          <Button key={choice} disabled={off} onClick={() => onOther(choice)}>
            {choice}
          </Button>
        ))}
    </div>
  );
}

function useLook(id: string): (then: () => void) => () => void {
  const seen = useRef({ id: '', since: 0 });
  useEffect(() => {
    seen.current = { id, since: Date.now() };
  }, [id]);
  return (then) => () => {
    if (Date.now() - seen.current.since >= LOOK_MS) then();
  };
}

interface EditProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly problem: string | null;
  readonly before: unknown;
  readonly after: unknown;
}

function EditField({ value, onChange, problem, before, after }: EditProps): ReactElement {
  return (
    <>
      <label className="field">
        <span>Edit</span>
        <textarea
          className="input mono"
          aria-label="Edit"
          spellCheck={false}
          rows={Math.min(14, value.split('\n').length + 1)}
          value={value}
          onChange={({ target }) => onChange(target.value)}
        />
      </label>
      {problem === null ? <Changes before={before} after={after} /> : <p className="ink-failed">{problem}</p>}
    </>
  );
}

function WordsField({
  mode,
  value,
  onChange,
}: {
  readonly mode: Mode;
  readonly value: string;
  readonly onChange: (value: string) => void;
}): ReactElement {
  return (
    <label className="field">
      <span>{mode === 'reject' ? 'Why (if you like)' : 'Your answer'}</span>
      <textarea className="input" rows={3} value={value} onChange={({ target }) => onChange(target.value)} />
    </label>
  );
}
