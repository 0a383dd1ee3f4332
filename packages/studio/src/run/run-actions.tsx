/** What an operator does with a run: compare it, fork it, guide it, stop it. */
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState, useSyncExternalStore, type ReactElement } from 'react';
import { useMay } from '../data/me.ts';
import type { RunStore } from '../data/run-store.ts';
import { post, queries, runPath } from '../data/server.ts';
import type { RunReport } from '../data/types.ts';
import { useParameter } from '../data/url.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icon.tsx';
import { useKeys } from '../ui/keys.ts';
import { Button, ProblemNote } from '../ui/parts.tsx';
import { ForkDialog } from './fork-dialog.tsx';

interface ActionsProps {
  readonly report: RunReport;
  readonly store: RunStore;
}

export function RunActions({ report, store }: ActionsProps): ReactElement {
  const [open, setOpen] = useState<'fork' | 'cancel' | 'guide' | null>(null);
  const mayOperate = useMay('operator');
  const { last, events } = useSyncExternalStore(store.watch, store.snapshot);
  const at = Math.min(Number(useParameter('at') ?? Infinity), last);
  const goesOn = report.state === 'running' || report.state === 'suspended' || report.state === 'pending';
  const close = (): void => setOpen(null);
  useKeys('Run', [{ keys: 'F', does: 'Fork here', run: () => mayOperate && setOpen('fork') }]);
  const { parent } = report;
  return (
    <>
      <Link
        to="/runs/$run/compare/$other"
        params={{ run: parent?.run ?? report.run, other: parent === undefined ? '-' : report.run }}
        className="button quiet"
      >
        <Icon name="compare" />
        Compare
      </Link>
      {mayOperate && goesOn && <Button onClick={() => setOpen('guide')}>Guide</Button>}
      {mayOperate && (
        <Button icon="fork" onClick={() => setOpen('fork')}>
          Fork from here
        </Button>
      )}
      {mayOperate && goesOn && <Button onClick={() => setOpen('cancel')}>Cancel run</Button>}
      {open === 'fork' && <ForkDialog report={report} at={at} events={events} onClose={close} />}
      {open === 'cancel' && <CancelDialog run={report.run} onClose={close} />}
      {open === 'guide' && <GuideDialog run={report.run} onClose={close} />}
    </>
  );
}

interface OneProps {
  readonly run: string;
  readonly onClose: () => void;
}

function CancelDialog({ run, onClose }: OneProps): ReactElement {
  const [why, setWhy] = useState('');
  const cancel = useMutation({
    mutationFn: () => post(`${runPath(run)}/cancel`, why.trim() === '' ? {} : { why }),
    onSuccess: () => {
      onClose();
      return queries.invalidateQueries({ queryKey: ['report', run] });
    },
  });
  return (
    <Dialog label="Stop this run" onClose={onClose}>
      <h2>Stop this run?</h2>
      <p className="text-2">Calls that are open end, and what can be undone is undone.</p>
      <label className="field">
        <span>Why (if you like)</span>
        <input className="input" value={why} onChange={({ target }) => setWhy(target.value)} />
      </label>
      {cancel.isError && <ProblemNote error={cancel.error} />}
      <div className="dialog-foot">
        <Button data-autofocus onClick={onClose}>
          Back
        </Button>
        <Button kind="danger" disabled={cancel.isPending} onClick={() => cancel.mutate()}>
          Cancel run
        </Button>
      </div>
    </Dialog>
  );
}

function GuideDialog({ run, onClose }: OneProps): ReactElement {
  const [text, setText] = useState('');
  const [agent, setAgent] = useState('');
  const guide = useMutation({
    mutationFn: () =>
      post(`${runPath(run)}/guidance`, { text: text.trim(), ...(agent.trim() === '' ? {} : { agent: agent.trim() }) }),
    onSuccess: onClose,
  });
  return (
    <Dialog label="Give guidance" onClose={onClose}>
      <h2>Give guidance</h2>
      <p className="text-2">Your words reach the next request of the agent as yours. They stay in the journal.</p>
      <label className="field">
        <span>Guidance</span>
        <textarea
          data-autofocus
          className="input"
          rows={4}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
      </label>
      <label className="field">
        <span>Only for this agent (if you like)</span>
        <input className="input" value={agent} onChange={({ target }) => setAgent(target.value)} />
      </label>
      {guide.isError && <ProblemNote error={guide.error} />}
      <div className="dialog-foot">
        <Button onClick={onClose}>Close</Button>
        <Button kind="primary" disabled={text.trim() === '' || guide.isPending} onClick={() => guide.mutate()}>
          Send
        </Button>
      </div>
    </Dialog>
  );
}
