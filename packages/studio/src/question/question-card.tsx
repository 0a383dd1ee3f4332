/** A question beside its run: what a yes would do, where its values come from, and the answers. */
import { harmless } from '@sluice-internal/wire';
import type { ReactElement } from 'react';
import type { OpenQuestion, PacketEffect } from '../data/types.ts';
import { useNow } from '../ui/clock.ts';
import { duration, inline } from '../ui/format.ts';
import { Icon } from '../ui/icon.tsx';
import { EffectTag, Value } from '../ui/parts.tsx';
import { Actions } from './actions.tsx';

/** Questions that expire sooner are urgent. */
const SOON_MS = 3_600_000;
const EFFECTS_SHOWN = 3;

interface CardProps {
  readonly question: OpenQuestion;
  readonly isDisabled?: boolean;
}

export function QuestionCard({ question, isDisabled = false }: CardProps): ReactElement {
  const { message, packet, expiresAt, agreed, quorum } = question;
  const { effects } = packet;
  return (
    <section className="question" aria-label="Question">
      <header>
        <Icon name="person" />
        <strong>{question.mayAnswer ? 'Needs your decision' : 'Needs a decision'}</strong>
        {quorum > 1 && (
          <span className="num">
            {agreed.length} of {quorum} agreed
          </span>
        )}
        <span className="grow" />
        {expiresAt !== null && <Expires at={expiresAt} />}
      </header>
      <h2>{harmless(message)}</h2>
      <dl className="facts">
        {effects.slice(0, EFFECTS_SHOWN).map((effect) => (
          <Effect key={`${effect.node}-${effect.tool}`} effect={effect} />
        ))}
        {effects.length > EFFECTS_SHOWN && (
          <div className="fact">
            <dt>And</dt>
            <dd>{effects.length - EFFECTS_SHOWN} more calls</dd>
          </div>
        )}
        <Sources question={question} />
        <Why question={question} />
        <Answerers question={question} />
      </dl>
      <Actions question={question} isDisabled={isDisabled} />
    </section>
  );
}

function Expires({ at }: { readonly at: string }): ReactElement {
  const left = new Date(at).getTime() - useNow();
  return (
    <span className={`num ${left < SOON_MS ? 'ink-waiting' : 'text-2'}`}>
      {left <= 0 ? 'expires now' : `expires in ${duration(left)}`}
    </span>
  );
}

function Effect({
  effect: { tool, effect, args, reversible, undo, certain },
}: {
  readonly effect: PacketEffect;
}): ReactElement {
  return (
    <>
      <div className="fact">
        <dt>{certain ? 'Calls' : 'May call'}</dt>
        <dd>
          <code>{harmless(tool)}</code> <EffectTag effect={effect} />
        </dd>
      </div>
      {args !== null && (
        <div className="fact">
          <dt>With</dt>
          <dd>
            <Value text={inline(args, 400)} />
          </dd>
        </div>
      )}
      <div className="fact">
        <dt>{reversible ? 'Undone by' : 'Undo'}</dt>
        <dd>
          {reversible ? <code>{harmless(undo ?? '')}</code> : <span className="tag is-failed">cannot be undone</span>}
        </dd>
      </div>
    </>
  );
}

/** Where the values come from: a value that nobody vouches for says so. */
function Sources({ question: { packet } }: CardProps): ReactElement | null {
  const sources = packet.effects.flatMap((each) => each.sources);
  if (sources.length === 0) return null;
  return (
    <div className="fact">
      <dt>Evidence</dt>
      <dd>
        {sources.map(({ path, from, trusted }, at) => (
          <span key={`${path}-${from}`}>
            {at > 0 && ', '}
            {harmless(path)} from <code>{harmless(from)}</code>
            {!trusted && <span className="ink-waiting"> (not verified)</span>}
          </span>
        ))}
      </dd>
    </div>
  );
}

function Why({ question: { packet } }: CardProps): ReactElement | null {
  const { rule, words, problem } = packet.why;
  const text = [rule, words, problem].filter((each) => each !== null && each !== '').join(' · ');
  if (text === '') return null;
  return (
    <div className="fact">
      <dt>Because</dt>
      <dd>{harmless(text)}</dd>
    </div>
  );
}

function Answerers({ question: { approvers } }: CardProps): ReactElement | null {
  const { roles = [], people = [] } = (approvers ?? {}) as {
    readonly roles?: readonly string[];
    readonly people?: readonly string[];
  };
  const names = roles.length > 0 ? roles : people;
  if (names.length === 0) return null;
  return (
    <div className="fact">
      <dt>Goes to</dt>
      <dd>{harmless(names.join(' or '))}</dd>
    </div>
  );
}
