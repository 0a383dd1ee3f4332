/** One run: its graph, its timeline, its story, and what a person can do with it. */
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { reportQuery } from '../data/server.ts';
import { Page } from '../shell/page.tsx';
import { Loading, Problem, RunBadge } from '../ui/parts.tsx';
import { RunProvider, useRun, useRunStore } from './context.tsx';
import { Graph } from './graph.tsx';
import { Meters } from './meters.tsx';
import { RunActions } from './run-actions.tsx';
import { SidePanel } from './side-panel.tsx';
import { Slider } from './slider.tsx';
import { Timeline } from './timeline.tsx';

export function RunPage(): ReactElement {
  const { run = '' } = useParams({ strict: false });
  return <OneRun key={run} run={run} />;
}

function OneRun({ run }: { readonly run: string }): ReactElement {
  const { data, error, refetch } = useQuery(reportQuery(run));
  const store = useRunStore(run);
  const above = [
    { title: 'Runs', to: '/runs' },
    ...(data === undefined ? [] : [{ title: data.flow, to: `/flows/${encodeURIComponent(data.flow)}` }]),
  ];
  return (
    <Page
      title={run}
      above={above}
      badge={data && <RunBadge status={data.state} code={data.code} questions={data.waiting.length} />}
      actions={data && <RunActions report={data} store={store} />}
    >
      {data === undefined ? (
        error === null ? (
          <Loading what="the run" />
        ) : (
          <Problem error={error} onRetry={() => void refetch()} />
        )
      ) : (
        <RunProvider store={store} report={data}>
          <Parts />
        </RunProvider>
      )}
    </Page>
  );
}

function Parts(): ReactElement {
  const { isAtEnd, at, last, go, report } = useRun();
  return (
    <div className="run">
      <div className="run-main">
        <Meters />
        {!isAtEnd && (
          <p className="then">
            <span>
              Event {at} of {last}
              {report.state === 'running' || report.state === 'suspended' ? ' · live goes on' : ''}
            </span>
            <button type="button" onClick={() => go(last)}>
              Back to the end
            </button>
          </p>
        )}
        <Graph />
        <Slider />
        <Timeline />
      </div>
      <SidePanel />
    </div>
  );
}
