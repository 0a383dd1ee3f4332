/** Checks an exported run in the browser. The file is read here, and nothing is sent anywhere. */
import { checkChain, readExport, type ChainCheck, type ExportedRun } from '@sluice-internal/wire';
import { useState, type ReactElement } from 'react';
import { Page } from '../shell/page.tsx';
import { count, plural } from '../ui/format.ts';
import { Icon } from '../ui/icon.tsx';
import { Safe, Value } from '../ui/parts.tsx';
import { browserCrypto, canCheck } from './browser-crypto.ts';

type Result =
  | { readonly state: 'none' }
  | { readonly state: 'checking'; readonly name: string }
  | { readonly state: 'unreadable'; readonly name: string }
  | { readonly state: 'checked'; readonly name: string; readonly file: ExportedRun; readonly check: ChainCheck };

export function AuditPage(): ReactElement {
  const [result, setResult] = useState<Result>({ state: 'none' });
  const [isOver, setOver] = useState(false);
  const read = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    const { name } = file;
    setResult({ state: 'checking', name });
    const found = readExport(jsonOf(await file.text()));
    if (found === null) setResult({ state: 'unreadable', name });
    else setResult({ state: 'checked', name, file: found, check: await checkChain(found, browserCrypto) });
  };
  return (
    <Page title="Audit">
      <div className="audit">
        <label
          className={`audit-drop ${isOver ? 'is-over' : ''}`}
          onDragOver={(event) => {
            event.preventDefault();
            setOver(true);
          }}
          onDragLeave={() => setOver(false)}
          onDrop={(event) => {
            event.preventDefault();
            setOver(false);
            void read(event.dataTransfer.files[0]);
          }}
        >
          <Icon name="audit" />
          <strong>Export file</strong>
          <span className="text-2">
            Drop a file of <code>sluice audit export RUN --out FILE</code>, or choose one. Nothing is sent anywhere.
          </span>
          <input
            type="file"
            accept=".json,application/json"
            aria-label="Export file"
            disabled={!canCheck()}
            onChange={({ target }) => {
              void read(target.files?.[0]);
              // The same file may be chosen again after it has changed.
              target.value = '';
            }}
          />
          {!canCheck() && (
            <span className="ink-waiting">
              A browser computes hashes only over https or on this machine. Use <code>sluice audit verify FILE</code>.
            </span>
          )}
        </label>
        <div role="status" aria-live="polite">
          <Outcome result={result} />
        </div>
      </div>
    </Page>
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

function Outcome({ result }: { readonly result: Result }): ReactElement | null {
  if (result.state === 'none') return null;
  if (result.state === 'checking') return <p className="text-2">Checking {result.name} …</p>;
  if (result.state === 'unreadable')
    return (
      <p className="note is-failed">
        <Safe text={result.name} /> is no file of <code>sluice audit export</code>.
      </p>
    );
  const { file, check } = result;
  return (
    <section className="card audit-result" aria-label="Result">
      <h2>
        <Icon
          name={check.broken === null ? 'check' : 'cross'}
          className={check.broken === null ? 'ink-ok' : 'ink-failed'}
        />
        {check.broken === null ? 'The chain holds' : 'The chain is broken'}
      </h2>
      {check.broken !== null && <Broken file={file} broken={check.broken} />}
      <dl className="facts">
        <dt>Run</dt>
        <dd className="mono">
          <Safe text={file.run} />
        </dd>
        <dt>Events</dt>
        <dd className="num">
          {count(check.events)} checked, in {plural(check.appends, 'append')}
        </dd>
        <dt>Head</dt>
        <dd className="mono">{check.head}</dd>
        <dt>Signed</dt>
        <dd>
          {check.signedBy.length === 0
            ? 'no checkpoint is signed: the chain alone shows that nothing was changed in between'
            : `${plural(check.signedBy.length, 'checkpoint')} by ${[...new Set(check.signedBy.map(({ key }) => key))].join(', ')}`}
        </dd>
      </dl>
    </section>
  );
}

interface BrokenProps {
  readonly file: ExportedRun;
  readonly broken: NonNullable<ChainCheck['broken']>;
}

/** The first event of the first append whose hash does not fit, with its neighbours. */
function Broken({ file, broken: { seq, last, message } }: BrokenProps): ReactElement {
  const at = file.appends.findIndex(({ after, count: amount }) => seq > after && seq <= after + amount);
  const near = file.appends.slice(Math.max(0, at - 1), at + 2);
  return (
    <div className="note is-failed" role="alert">
      <p>
        <strong>Event {seq}</strong>: <Safe text={message} />.
        {last > seq && ` The events ${seq} to ${last} were stored together.`}
      </p>
      {near.map(({ after, count: amount, body, hash }) => (
        <details key={after} open={seq > after && seq <= after + amount}>
          <summary>
            events {after + 1} to {after + amount}, hash <code>{hash}</code>
          </summary>
          <Value text={body.slice(0, 4000)} />
        </details>
      ))}
    </div>
  );
}
