/** An edit as lines that go and lines that come. */
import { harmless } from '@sluice-internal/wire';
import type { ReactElement } from 'react';
import { changesOf, partsOf } from './diff.ts';

export function Changes({ before, after }: { readonly before: unknown; readonly after: unknown }): ReactElement {
  const changes = changesOf(before, after);
  if (changes.length === 0) return <p className="text-2 changes-none">Nothing is changed.</p>;
  return (
    <div className="changes">
      {changes.map(({ path, before: old, after: now }) => (
        <div key={path}>
          <p className="mono text-2">{harmless(path)}:</p>
          {old !== null && <Line sign="-" text={old} other={now ?? ''} />}
          {now !== null && <Line sign="+" text={now} other={old ?? ''} />}
        </div>
      ))}
    </div>
  );
}

function Line({
  sign,
  text,
  other,
}: {
  readonly sign: '-' | '+';
  readonly text: string;
  readonly other: string;
}): ReactElement {
  const { start, changed, end } = partsOf(text, other);
  return (
    <p className={`mono change ${sign === '-' ? 'goes' : 'comes'}`}>
      <span className="visually-hidden">{sign === '-' ? 'goes: ' : 'comes: '}</span>
      <span aria-hidden="true">{sign} </span>
      {harmless(start)}
      <mark>{harmless(changed)}</mark>
      {harmless(end)}
    </p>
  );
}
