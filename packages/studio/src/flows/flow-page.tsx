/** A flow: its text with its mistakes, its picture and certificate as they are typed, and the start of a run. */
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { Suspense, lazy, useState, type ReactElement } from 'react';
import { useMay } from '../data/me.ts';
import { useParameter, useParameters } from '../data/url.ts';
import { Page } from '../shell/page.tsx';
import { plural } from '../ui/format.ts';
import { Button, Loading, Problem, ProblemNote, Tabs } from '../ui/parts.tsx';
import { Certificate } from './certificate.tsx';
import { FlowPicture } from './flow-picture.tsx';
import { FlowRuns } from './flow-runs.tsx';
import { checkQuery, flowQuery, save, sourceQuery, useTyped, type Checked, type FlowDetails } from './flow-data.ts';
import { StartForm } from './start-form.tsx';

const SourceEditor = lazy(() =>
  import('./source-editor.tsx').then(({ SourceEditor: editor }) => ({ default: editor })),
);

export function FlowPage(): ReactElement {
  const { flow = '' } = useParams({ strict: false });
  const details = useQuery(flowQuery(flow));
  const source = useQuery(sourceQuery(flow));
  const error = details.error ?? source.error;
  if (details.data !== undefined && source.data !== undefined)
    return <Opened key={flow} flow={details.data} source={source.data} />;
  return (
    <Page title={flow} above={ABOVE}>
      {error === null ? <Loading what="the flow" /> : <Problem error={error} onRetry={() => void details.refetch()} />}
    </Page>
  );
}

const ABOVE = [{ title: 'Flows', to: '/flows' }];

interface OpenedProps {
  readonly flow: FlowDetails;
  readonly source: string;
}

function Opened({ flow, source }: OpenedProps): ReactElement {
  const [text, setText] = useState(source);
  const [base, setBase] = useState({ source, hash: flow.hash });
  const [problem, setProblem] = useState<unknown>(null);
  const mayCheck = useMay('operator');
  const typed = useTyped(text);
  const check = useQuery({ ...checkQuery(flow.file, typed), enabled: mayCheck });
  const isChanged = text !== base.source;
  const isNewer = source !== base.source;
  if (isNewer && !isChanged) {
    setText(source);
    setBase({ source, hash: flow.hash });
  }
  const write = async (): Promise<void> => {
    try {
      const written = await save(flow.id, text, base);
      setBase({ source: text, hash: written.hash });
      setProblem(null);
    } catch (error) {
      setProblem(error);
    }
  };
  return (
    <Page
      title={flow.id}
      above={ABOVE}
      badge={<Verdict checked={check.data} />}
      actions={
        isChanged && (
          <>
            <Button onClick={() => setText(base.source)}>Take back</Button>
            <Button kind="primary" onClick={() => void write()}>
              Save
            </Button>
          </>
        )
      }
    >
      <div className="flow">
        <section className="flow-source" aria-label="Source">
          {isNewer && isChanged && (
            <p className="note is-waiting" role="status">
              The file has changed on disk.{' '}
              <Button
                onClick={() => {
                  setText(source);
                  setBase({ source, hash: flow.hash });
                }}
              >
                Read it again
              </Button>
            </p>
          )}
          {problem !== null && <ProblemNote error={problem} />}
          <Suspense fallback={<Loading what="the editor" />}>
            <SourceEditor text={text} diagnostics={check.data?.diagnostics ?? []} onChange={setText} />
          </Suspense>
        </section>
        <FlowSide flow={flow} checked={check.data} isChanged={isChanged} />
      </div>
    </Page>
  );
}

function Verdict({ checked }: { readonly checked: Checked | undefined }): ReactElement | null {
  if (checked === undefined) return null;
  const errors = checked.diagnostics.filter(({ severity }) => severity === 'error').length;
  if (errors > 0) return <span className="badge is-failed">{plural(errors, 'mistake')}</span>;
  const warnings = checked.diagnostics.length;
  return (
    <span className={`badge ${warnings > 0 ? 'is-waiting' : 'is-ok'}`}>
      {warnings > 0 ? plural(warnings, 'warning') : 'Holds'}
    </span>
  );
}

type Tab = 'run' | 'certificate' | 'versions' | 'runs';

interface SideProps {
  readonly flow: FlowDetails;
  readonly checked: Checked | undefined;
  readonly isChanged: boolean;
}

function FlowSide({ flow, checked, isChanged }: SideProps): ReactElement {
  const tab = tabOf(useParameter('tab'));
  const setParameters = useParameters();
  return (
    <div className="flow-side">
      <section className="flow-picture" aria-label="Graph">
        {checked?.graph !== undefined && <FlowPicture picture={checked.graph} />}
        {checked !== undefined && checked.graph === undefined && (
          <p className="text-2 flow-none">The picture appears when the text has a flow.</p>
        )}
      </section>
      <div className="flow-tabs">
        <Tabs
          label="Flow"
          selected={tab}
          tabs={[
            { id: 'run', title: 'Run' },
            { id: 'certificate', title: 'Certificate' },
            { id: 'versions', title: 'Versions', amount: flow.versions.length },
            { id: 'runs', title: 'Runs' },
          ]}
          onSelect={(id) => setParameters({ tab: id === 'run' ? undefined : id })}
        />
      </div>
      <div id="panel" role="tabpanel" tabIndex={0} aria-labelledby={`tab-${tab}`} className="flow-panel">
        {tab === 'run' && <StartForm flow={flow} isChanged={isChanged} />}
        {tab === 'certificate' && (
          <Certificate now={checked?.bounds ?? null} saved={flow.certificate} isChanged={isChanged} />
        )}
        {tab === 'versions' && <Versions versions={flow.versions} />}
        {tab === 'runs' && <FlowRuns flow={flow.id} />}
      </div>
    </div>
  );
}

function tabOf(given: string | undefined): Tab {
  return given === 'certificate' || given === 'versions' || given === 'runs' ? given : 'run';
}

function Versions({ versions }: { readonly versions: readonly string[] }): ReactElement {
  if (versions.length === 0) return <p className="text-2">This flow has never held since the server started.</p>;
  return (
    <ol className="flow-versions" reversed>
      {versions.toReversed().map((hash, at) => (
        <li key={hash}>
          <code>{hash.slice(0, 23)}…</code> {at === 0 && <span className="tag is-ok">latest</span>}
        </li>
      ))}
    </ol>
  );
}
