/** The packet of a question, in the order in which a person needs it. */
import { useId, type ReactElement, type ReactNode } from 'react';
import type { OpenQuestion, PacketEffect } from '../data/types.ts';
import { clock, count, dollars, inline, plural, pretty } from '../ui/format.ts';
import { Icon } from '../ui/icon.tsx';
import { Button, EffectTag, Safe, Value } from '../ui/parts.tsx';
import { changesBetween, editOf, problemOf, type Changed, type Draft, type Part } from './draft.ts';

interface PacketProps {
  readonly question: OpenQuestion;
  readonly draft: Draft;
  readonly onDraft: (draft: Draft) => void;
}

export function PacketView({ question, draft, onDraft }: PacketProps): ReactElement {
  const { packet } = question;
  const certain = packet.effects.filter((each) => each.certain);
  const possible = packet.effects.filter((each) => !each.certain);
  return (
    <>
      {packet.goal !== null && packet.goal !== '' && (
        <Part title="What was asked for">
          <blockquote className="card packet-goal">
            <Safe text={packet.goal} />
            {packet.user !== null && (
              <footer>
                <Safe text={packet.user} />
              </footer>
            )}
          </blockquote>
        </Part>
      )}
      <Part title={certain.length > 1 ? 'The calls, as they will be sent' : 'The call, as it will be sent'}>
        {certain.length === 0 && <p className="text-2">A yes makes no call by itself.</p>}
        {certain.map((effect, at) => (
          <Call key={at} effect={effect} isFirst={at === 0} draft={draft} onDraft={onDraft} />
        ))}
        {possible.map((effect) => (
          <p key={effect.node + effect.tool} className="packet-maybe">
            <Icon name="agent" />
            <span>
              {agentOf(effect)} may then call <code>{effect.tool}</code> <EffectTag effect={effect.effect} />
              {callOf(effect) === 'asks' ? ' and asks again before it.' : ' without asking again.'}
            </span>
          </p>
        ))}
      </Part>
      <Repeats repeats={packet.repeats} />
      <div className="packet-pair">
        <IfYes question={question} certain={certain} />
        <Why question={question} />
      </div>
      <Sources effects={certain} />
      <Evidence evidence={packet.evidence} />
      <Left left={packet.left} />
    </>
  );
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactElement {
  const id = useId();
  return (
    <section className="packet-part" aria-labelledby={id}>
      <h3 id={id} className="label">
        {title}
      </h3>
      {children}
    </section>
  );
}

interface CallProps extends Omit<PacketProps, 'question'> {
  readonly effect: PacketEffect;
  readonly isFirst: boolean;
}

function Call({ effect, isFirst, draft, onDraft }: CallProps): ReactElement {
  const isEdited = isFirst && draft.text !== null;
  const edit = isFirst ? editOf(draft) : undefined;
  return (
    <div className="card packet-call">
      <header>
        <code>{effect.tool}</code>
        <EffectTag effect={effect.effect} />
        <span className="grow" />
        {edit !== undefined && <span className="text-2">edited by you</span>}
      </header>
      {isEdited && <EditField draft={draft} onDraft={onDraft} />}
      {edit === undefined ? (
        !isEdited && <Arguments effect={effect} />
      ) : (
        <Diff changes={changesBetween(draft.original, edit)} />
      )}
    </div>
  );
}

function Arguments({ effect }: { readonly effect: PacketEffect }): ReactElement {
  const { args } = effect;
  if (args === null)
    return <p className="packet-line text-2">Its arguments are not known yet: they follow from a later step.</p>;
  if (typeof args !== 'object' || Array.isArray(args))
    return (
      <p className="packet-line">
        <Value text={pretty(args)} />
      </p>
    );
  return (
    <dl className="packet-args">
      {Object.entries(args as { readonly [name: string]: unknown }).map(([name, value]) => (
        <div key={name}>
          <dt className="mono">
            <Safe text={name} />
          </dt>
          <dd>
            <Value text={pretty(value)} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function EditField({ draft, onDraft }: Pick<PacketProps, 'draft' | 'onDraft'>): ReactElement {
  const id = useId();
  const problem = problemOf(draft);
  return (
    <div className="packet-edit">
      <label htmlFor={id} className="label">
        Edit
      </label>
      <textarea
        id={id}
        className="input mono"
        spellCheck={false}
        rows={Math.min(14, (draft.text ?? '').split('\n').length + 1)}
        value={draft.text ?? ''}
        aria-invalid={problem !== null}
        aria-describedby={`${id}-problem`}
        ref={(field) => {
          if (field !== null && document.activeElement === document.body) field.focus();
        }}
        onChange={({ target }) => onDraft({ ...draft, text: target.value })}
        onKeyDown={({ key }) => {
          if (key === 'Escape') onDraft({ ...draft, text: null });
        }}
      />
      <p id={`${id}-problem`} className={problem === null ? 'text-3' : 'ink-failed'}>
        {problem ?? 'The arguments as JSON. Escape takes the changes back.'}
      </p>
      <div>
        <Button onClick={() => onDraft({ ...draft, text: null })}>Take back</Button>
      </div>
    </div>
  );
}

function Diff({ changes }: { readonly changes: readonly Changed[] }): ReactElement {
  return (
    <div className="packet-diff mono">
      {changes.map(({ path, before, after }) => (
        <div key={path}>
          <p className="text-2">
            <Safe text={path === '' ? 'arguments' : path} />:
          </p>
          {before !== null && <DiffLine sign="-" part={before} name="was" />}
          {after !== null && <DiffLine sign="+" part={after} name="is now" />}
        </div>
      ))}
    </div>
  );
}

function DiffLine({
  sign,
  part,
  name,
}: {
  readonly sign: '-' | '+';
  readonly part: Part;
  readonly name: string;
}): ReactElement {
  return (
    <p className={sign === '-' ? 'diff-out' : 'diff-in'}>
      <span aria-hidden="true">{sign}</span>
      <span className="visually-hidden">{name}</span>
      <span className="value">
        <Safe text={part.head} />
        <mark>
          <Safe text={part.middle} />
        </mark>
        <Safe text={part.tail} />
      </span>
    </p>
  );
}

/** The same effect was there before in this run. */
function Repeats({ repeats }: { readonly repeats: OpenQuestion['packet']['repeats'] }): ReactElement | null {
  if (repeats.length === 0) return null;
  return (
    <div className="note is-failed packet-repeats" role="note">
      <strong>The same call was made before in this run</strong>
      {(
        repeats as readonly {
          readonly seq: number;
          readonly at: string;
          readonly tool: string;
          readonly args: unknown;
          readonly status: string;
        }[]
      ).map(({ seq, at, tool, args, status }) => (
        <p key={seq}>
          <code>{tool}</code> <Value text={inline(args)} />, {clock(at)}, {status}
        </p>
      ))}
    </div>
  );
}

function IfYes({
  question,
  certain,
}: {
  readonly question: OpenQuestion;
  readonly certain: readonly PacketEffect[];
}): ReactElement {
  const lasting = certain.filter(({ reversible }) => !reversible);
  const undo = certain.flatMap((each) => (each.undo === null ? [] : [each.undo]));
  const cost = certain.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0);
  const to = certain.flatMap(({ payee, recipients }) => [...(payee === null ? [] : [payee]), ...recipients]);
  return (
    <section className="card packet-card" aria-label="If you approve">
      <h3 className="label">If you approve</h3>
      <dl className="facts">
        <dt>Changes</dt>
        <dd>{certain.length === 0 ? 'nothing by itself' : certain.map(said).join(', ')}</dd>
        {certain.some(({ amount }) => amount !== null) && (
          <>
            <dt>Amount</dt>
            <dd>{certain.flatMap(({ amount }) => (amount === null ? [] : [inline(amount)])).join(', ')}</dd>
          </>
        )}
        {to.length > 0 && (
          <>
            <dt>To</dt>
            <dd>
              <Safe text={to.map((each) => inline(each)).join(', ')} />
            </dd>
          </>
        )}
        <dt>Undo</dt>
        <dd>
          {lasting.length > 0 ? (
            <span className="tag is-failed">cannot be undone</span>
          ) : undo.length > 0 ? (
            <code>{undo.join(', ')}</code>
          ) : (
            'nothing to undo'
          )}
        </dd>
        <dt>Cost</dt>
        <dd className="num">{dollars(cost)}</dd>
        <dt>Expires</dt>
        <dd>
          {question.expiresAt === null ? (
            'never'
          ) : (
            <>
              {clock(question.expiresAt)}, then <code>{question.onExpiry}</code>
            </>
          )}
        </dd>
      </dl>
    </section>
  );
}

const SAID: { readonly [effect: string]: string } = {
  financial: 'money moves',
  communication: 'a message leaves the house',
  infrastructure: 'a system changes',
  write: 'data changes',
  egress: 'data leaves the house',
  read: 'nothing changes',
};

function said({ effect, times }: PacketEffect): string {
  const words = SAID[effect] ?? effect;
  return times.most !== null && times.most > 1 ? `${words}, at most ${times.most} times` : words;
}

function Why({ question }: { readonly question: OpenQuestion }): ReactElement {
  const { packet, askedBy, tenant, approvers, agreed, quorum } = question;
  const { rule, words, problem, confidence } = packet.why;
  const { people = [], roles = [] } = (approvers ?? {}) as { people?: readonly string[]; roles?: readonly string[] };
  return (
    <section className="card packet-card" aria-label="Why you are asked">
      <h3 className="label">Why you are asked</h3>
      <dl className="facts">
        <Fact name="Rule">{rule}</Fact>
        <Fact name="Asked by">{askedBy}</Fact>
        <Fact name="It says">{words === null ? null : `“${words}”`}</Fact>
        <Fact name="Problem">{problem}</Fact>
        <Fact name="Confidence">{confidence === null ? null : `${Math.round(confidence * 100)} %`}</Fact>
        <Fact name="For">
          {[packet.user, tenant === null ? null : `tenant ${tenant}`].filter((each) => each !== null).join(', ')}
        </Fact>
        <Fact name="May decide">{[...people, ...roles.map((role) => `role ${role}`)].join(', ')}</Fact>
        <Fact name="Agreed">
          {quorum > 1
            ? `${agreed.length} of ${quorum}${agreed.map(({ by, choice }) => `, ${by}: ${choice}`).join('')}`
            : null}
        </Fact>
      </dl>
    </section>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: string | null }): ReactElement | null {
  if (children === null || children === '') return null;
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <Safe text={children} />
      </dd>
    </>
  );
}

function Sources({ effects }: { readonly effects: readonly PacketEffect[] }): ReactElement | null {
  const all = effects.flatMap(({ tool, sources }) => sources.map((each) => ({ ...each, tool })));
  if (all.length === 0) return null;
  return (
    <Part title="Where the values come from">
      <dl className="card packet-sources">
        {all.map(({ tool, path, from, trusted }) => (
          <div key={`${tool} ${path}`}>
            <dt className="mono">
              <Safe text={path} />
            </dt>
            <dd>
              <Trust trusted={trusted} /> <Safe text={from} />
            </dd>
          </div>
        ))}
      </dl>
    </Part>
  );
}

function Trust({ trusted }: { readonly trusted: boolean }): ReactElement {
  return <span className={`tag ${trusted ? 'is-ok' : 'is-waiting'}`}>{trusted ? 'trusted' : 'not trusted'}</span>;
}

function Evidence({ evidence }: { readonly evidence: OpenQuestion['packet']['evidence'] }): ReactElement | null {
  if (evidence.length === 0) return null;
  return (
    <Part title="What the run has seen">
      <div className="packet-evidence">
        {(evidence as readonly Shown[]).map(({ from, trusted, value, shows = [] }, at) => (
          <details key={at} className="card" open={at < 3}>
            <summary>
              <Icon name="right" />
              <code>
                <Safe text={from} />
              </code>
              <Trust trusted={trusted} />
              {shows.length > 0 && (
                <span className="text-2 ellipsis">
                  shows <Safe text={shows.join(', ')} />
                </span>
              )}
            </summary>
            <Value text={pretty(value)} />
          </details>
        ))}
      </div>
    </Part>
  );
}

interface Shown {
  readonly from: string;
  readonly trusted: boolean;
  readonly value: unknown;
  readonly shows?: readonly string[];
}

const LEFT: { readonly [measure: string]: (value: number) => string } = {
  modelCalls: (value) => plural(value, 'model call'),
  toolCalls: (value) => plural(value, 'tool call'),
  tokens: (value) => `${count(value)} tokens`,
  inputTokens: (value) => `${count(value)} input tokens`,
  outputTokens: (value) => `${count(value)} output tokens`,
  costUsd: dollars,
  steps: (value) => plural(value, 'step'),
  retries: (value) => plural(value, 'retry', 'retries'),
};

function Left({ left }: { readonly left: OpenQuestion['packet']['left'] }): ReactElement | null {
  const texts = Object.entries(left).flatMap(([measure, value]) => LEFT[measure]?.(value) ?? []);
  if (texts.length === 0) return null;
  return (
    <Part title="What is left of the budget">
      <p className="text-2 num">{texts.join(' · ')}</p>
    </Part>
  );
}

function agentOf(effect: PacketEffect): string {
  return (effect as PacketEffect & { readonly agent?: string }).agent ?? 'An agent';
}

function callOf(effect: PacketEffect): string | undefined {
  return (effect as PacketEffect & { readonly call?: string }).call;
}
