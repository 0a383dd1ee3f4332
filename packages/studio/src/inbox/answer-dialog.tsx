/** The confirmation of an answer: what it does, words if it takes them, and a signature if the person has a key. */
import { SluiceError } from '@sluice-internal/client';
import { useEffect, useId, useState, type ReactElement } from 'react';
import { useMe } from '../data/me.ts';
import { post } from '../data/server.ts';
import type { OpenQuestion, PacketEffect } from '../data/types.ts';
import { Dialog } from '../ui/dialog.tsx';
import { clock, inline } from '../ui/format.ts';
import { Button, EffectTag, ProblemNote, Safe, Value } from '../ui/parts.tsx';
import { canSign, signText, textToSign } from './sign.ts';

interface DialogProps {
  readonly question: OpenQuestion;
  readonly choice: string;
  /** The changed arguments. */
  readonly edit: unknown;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

const YES = new Set(['approve', 'edit']);
const BUTTONS: { readonly [choice: string]: string } = {
  approve: 'Approve',
  edit: 'Approve',
  reject: 'Reject',
  respond: 'Respond',
};

export function AnswerDialog(props: DialogProps): ReactElement {
  const { question, choice, edit, onClose } = props;
  const answer = useAnswer(props);
  const isYes = YES.has(choice);
  const action = BUTTONS[choice] ?? choice;
  // What moves money or stays is begun with the focus on the way back.
  const first = isYes && question.packet.effects.some(isGrave) ? 'cancel' : answer.needsText ? 'words' : 'send';
  return (
    <Dialog label={`${action}: ${question.packet.question}`} onClose={onClose} className={answer.signs ? 'wide' : ''}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void answer.send();
        }}
      >
        <h2>
          <Safe text={question.packet.question} />
        </h2>
        {isYes && <Effects effects={question.packet.effects} edit={edit} />}
        <Words choice={choice} answer={answer} isFirst={first === 'words'} />
        {answer.signs && <Signature answer={answer} />}
        {answer.error !== null && <Refused error={answer.error} />}
        <div className="dialog-foot">
          <Button data-autofocus={first === 'cancel' ? '' : undefined} onClick={onClose}>
            Cancel
          </Button>
          <Button
            type="submit"
            kind={isYes ? 'primary' : 'plain'}
            shortcut="⌘↵"
            data-autofocus={first === 'send' ? '' : undefined}
            disabled={!answer.isReady}
          >
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

interface Answering {
  readonly words: string;
  readonly setWords: (words: string) => void;
  readonly needsText: boolean;
  /** The person answers with a key. */
  readonly signs: boolean;
  readonly by: string;
  readonly hasKey: boolean;
  readonly setKey: (pem: string) => void;
  readonly signed: string;
  readonly error: unknown;
  readonly isReady: boolean;
  readonly send: () => Promise<void>;
}

function useAnswer({ question, choice, edit, onDone }: DialogProps): Answering {
  const me = useMe();
  const [words, setWords] = useState('');
  const [error, setError] = useState<unknown>(null);
  const [isSending, setSending] = useState(false);
  const [key, setKey] = useState('');
  const [at] = useState(() => Date.now());
  const by = me?.person ?? me?.name ?? '';
  const signs = signingOf(question).includes(by);
  const needs = question.needs[choice];
  const needsText = needs === 'text' || (needs === 'either' && edit === undefined);
  const text = words.trim() === '' ? undefined : words.trim();
  const given = { choice, ...(edit === undefined ? {} : { edit }), ...(text === undefined ? {} : { text }) };
  const signed = textToSign(question, { ...given, by, at });
  const isReady = !isSending && (!needsText || text !== undefined) && (!signs || key !== '');
  const send = async (): Promise<void> => {
    if (!isReady) return;
    setSending(true);
    setError(null);
    try {
      const proof = signs ? { signature: await signText(key, signed), signedAt: at } : {};
      const body = { ...given, ...proof, payload: question.payload };
      await post(`/questions/${encodeURIComponent(question.id)}/answer`, body);
      onDone();
    } catch (problem) {
      setError(problem);
      setSending(false);
    }
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) void send();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  });
  return { words, setWords, needsText, signs, by, hasKey: key !== '', setKey, signed, error, isReady, send };
}

function signingOf({ approvers }: OpenQuestion): readonly string[] {
  return ((approvers ?? {}) as { readonly signing?: readonly string[] }).signing ?? [];
}

/** Money, or what cannot be taken back. */
function isGrave({ certain, effect, reversible }: PacketEffect): boolean {
  return certain && (effect === 'financial' || !reversible);
}

function Effects({
  effects,
  edit,
}: {
  readonly effects: readonly PacketEffect[];
  readonly edit: unknown;
}): ReactElement {
  const certain = effects.filter((each) => each.certain);
  if (certain.length === 0) return <p className="text-2">It makes no call by itself.</p>;
  return (
    <ul className="dialog-effects" aria-label="What happens">
      {certain.map(({ tool, effect, args, reversible, undo }, at) => (
        <li key={at}>
          <code>{tool}</code> <EffectTag effect={effect} />{' '}
          <Value text={inline(at === 0 && edit !== undefined ? edit : args, 300)} />
          <span className="text-2">{reversible ? ` undone by ${undo ?? ''}` : ' cannot be undone'}</span>
        </li>
      ))}
    </ul>
  );
}

interface WordsProps {
  readonly choice: string;
  readonly answer: Answering;
  readonly isFirst: boolean;
}

function Words({ choice, answer: { words, setWords, needsText }, isFirst }: WordsProps): ReactElement {
  const label = choice === 'respond' ? 'Words for the agent' : needsText ? 'Words' : 'Remark (not needed)';
  return (
    <label className="field">
      <span>{label}</span>
      <textarea
        className="input"
        rows={needsText ? 4 : 2}
        value={words}
        data-autofocus={isFirst ? '' : undefined}
        onChange={({ target }) => setWords(target.value)}
      />
    </label>
  );
}

function Signature({ answer: { signed, by, hasKey, setKey } }: { readonly answer: Answering }): ReactElement {
  const id = useId();
  if (!canSign())
    return (
      <p className="note is-waiting">
        A browser signs only over https or on this machine. Sign in a terminal:{' '}
        <code>sluice answer ID CHOICE --key FILE</code>
      </p>
    );
  return (
    <div className="field">
      <label htmlFor={id}>Private key of {by}: a file of sluice keys add. It stays in this page.</label>
      <input
        id={id}
        type="file"
        className="input file"
        onChange={({ target }) => void target.files?.[0]?.text().then(setKey)}
      />
      <details>
        <summary>{hasKey ? 'The text that you sign with this key' : 'The text that you sign'}</summary>
        <Value text={signed} />
      </details>
    </div>
  );
}

/** Another person was first: who, what and when. */
function Refused({ error }: { readonly error: unknown }): ReactElement {
  if (error instanceof SluiceError && error.code === 'approval-closed') {
    const { by, choice, at } = error.details as {
      readonly by?: string;
      readonly choice?: string;
      readonly at?: string;
    };
    if (by !== undefined)
      return (
        <p className="note is-waiting" role="alert">
          <strong>
            <Safe text={by} />
          </strong>{' '}
          was first: <code>{choice}</code>
          {at === undefined ? '' : ` on ${clock(at)}`}. <code>approval-closed</code>
        </p>
      );
  }
  return <ProblemNote error={error} />;
}
