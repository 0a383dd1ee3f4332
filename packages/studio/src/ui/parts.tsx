/** The small parts that all pages share. */
import { harmless } from '@sluice-internal/wire';
import type { ButtonHTMLAttributes, ReactElement, ReactNode } from 'react';
import { Icon, type IconName } from './icon.tsx';
import { effectTone, nodeState, runState, type Shown } from './states.ts';

/** Text of models, tools and documents. What cannot be seen, or reorders text, is shown as an escape. */
export function Safe({ text }: { readonly text: string }): ReactElement {
  return <>{harmless(text)}</>;
}

/** A value of a run, in the letters of code. */
export function Value({ text, className = '' }: { readonly text: string; readonly className?: string }): ReactElement {
  return <code className={`value ${className}`}>{harmless(text)}</code>;
}

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly kind?: 'plain' | 'primary' | 'quiet' | 'danger';
  readonly icon?: IconName;
  /** The key that does the same. */
  readonly shortcut?: string;
}

export function Button({
  kind = 'plain',
  icon,
  shortcut,
  className = '',
  children,
  ...rest
}: ButtonProps): ReactElement {
  const square = children === undefined ? 'square' : '';
  return (
    <button type="button" className={`button ${kind} ${square} ${className}`} {...rest}>
      {icon !== undefined && <Icon name={icon} />}
      {children}
      {shortcut !== undefined && <kbd aria-hidden="true">{shortcut}</kbd>}
    </button>
  );
}

export function StateBadge({ shown }: { readonly shown: Shown }): ReactElement {
  return (
    <span className={`badge is-${shown.tone}`}>
      <Icon name={shown.icon} />
      {shown.word}
    </span>
  );
}

export function RunBadge({ status, code, questions }: RunBadgeProps): ReactElement {
  return <StateBadge shown={runState(status, code, questions)} />;
}
interface RunBadgeProps {
  readonly status: string;
  readonly code: string | null;
  readonly questions?: number;
}

export function StateIcon({ shown }: { readonly shown: Shown }): ReactElement {
  return <Icon name={shown.icon} className={`ink-${shown.tone}`} />;
}

export function NodeIcon({ state }: { readonly state: string }): ReactElement {
  return <StateIcon shown={nodeState(state)} />;
}

export function EffectTag({ effect }: { readonly effect: string }): ReactElement {
  return <span className={`tag is-${effectTone(effect)}`}>{effect}</span>;
}

/** A page without content says which command fills it. */
export function Empty({ icon, title, children, command }: EmptyProps): ReactElement {
  return (
    <div className="state">
      <Icon name={icon} />
      <h2>{title}</h2>
      <p>{children}</p>
      {command !== undefined && <code className="command">{command}</code>}
    </div>
  );
}
interface EmptyProps {
  readonly icon: IconName;
  readonly title: string;
  readonly children?: ReactNode;
  readonly command?: string;
}

/** A problem of the server: its sentence, its code and what helps. The page of the code is in the documentation. */
export function Problem({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }): ReactElement {
  const { code, message, help } = problemOf(error);
  return (
    <div className="state" role="alert">
      <Icon name="warning" className="ink-failed" />
      <h2>
        <Safe text={message} />
      </h2>
      {help !== undefined && (
        <p>
          <Safe text={help} />
        </p>
      )}
      <p className="text-3">
        <code>{code}</code>, explained in <code>docs/errors/{code}.md</code>
      </p>
      {onRetry !== undefined && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}

/** The same in one line, beside what failed. */
export function ProblemNote({ error }: { readonly error: unknown }): ReactElement {
  const { code, message, help } = problemOf(error);
  return (
    <p className="note is-failed" role="alert">
      <Safe text={message} /> {help !== undefined && <Safe text={help} />} <code>{code}</code>
    </p>
  );
}

interface ProblemParts {
  readonly code: string;
  readonly message: string;
  readonly help: string | undefined;
}

function problemOf(error: unknown): ProblemParts {
  const { code = 'internal', message = String(error), help } = (error ?? {}) as Partial<ProblemParts>;
  return { code, message, help };
}

export function Loading({ what }: { readonly what: string }): ReactElement {
  return (
    <div className="state" aria-busy="true">
      <Icon name="ring" className="text-3" />
      <span className="visually-hidden">Loading {what}</span>
    </div>
  );
}

interface TabsProps<Id extends string> {
  readonly label: string;
  readonly tabs: readonly { readonly id: Id; readonly title: string; readonly amount?: number | undefined }[];
  readonly selected: Id;
  readonly onSelect: (id: Id) => void;
}

/** Tabs of one panel, with the id `panel`. The arrow keys move between them. */
export function Tabs<Id extends string>({ label, tabs, selected, onSelect }: TabsProps<Id>): ReactElement {
  const move = (step: number): void => {
    const at = tabs.findIndex(({ id }) => id === selected);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (next === undefined) return;
    onSelect(next.id);
    document.getElementById(`tab-${next.id}`)?.focus();
  };
  return (
    <div className="tabs" role="tablist" aria-label={label}>
      {tabs.map(({ id, title, amount }) => (
        <button
          key={id}
          id={`tab-${id}`}
          type="button"
          role="tab"
          className="tab"
          aria-selected={id === selected}
          aria-controls="panel"
          tabIndex={id === selected ? 0 : -1}
          onClick={() => onSelect(id)}
          onKeyDown={({ key }) => {
            if (key === 'ArrowRight' || key === 'ArrowLeft') move(key === 'ArrowRight' ? 1 : -1);
          }}
        >
          {title}
          {amount !== undefined && (
            <span className="amount num" aria-hidden="true">
              {amount}
            </span>
          )}
        </button>
      ))}
    </div>
  );
}
