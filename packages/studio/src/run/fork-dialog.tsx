/** A new run that shares the events of this one up to a chosen event, with values or answers of its own. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { RunEvent } from '@sluice-internal/wire';
import { useState, type ReactElement } from 'react';
import { post, runPath, stateQuery } from '../data/server.ts';
import type { RunReport } from '../data/types.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Button, ProblemNote } from '../ui/parts.tsx';
import { parsedJson } from '../ui/json.ts';

interface ForkProps {
  readonly report: RunReport;
  readonly at: number;
  readonly events: readonly RunEvent[];
  readonly onClose: () => void;
}

export function ForkDialog({ report, at: given, events, onClose }: ForkProps): ReactElement {
  const navigate = useNavigate();
  const [at, setAt] = useState(given);
  const [change, setChange] = useState<Change | null>(null);
  const value = parsedJson(change?.text ?? 'null');
  const set = change === null || !value.ok ? {} : { set: { [change.slot]: value.value } };
  const fork = useMutation({
    mutationFn: () => post<{ readonly run: string }>(`${runPath(report.run)}/fork`, { at, ...set }),
    onSuccess: ({ run }) => {
      onClose();
      void navigate({ to: '/runs/$run', params: { run } });
    },
  });
  const last = events.at(-1)?.seq ?? at;
  return (
    <Dialog label="Fork this run" className="wide" onClose={onClose}>
      <h2>Fork from event {at}</h2>
      <p className="text-2">
        The new run has the first {at} events of this one, and goes on by itself. No call before the fork is made again.
      </p>
      <div className="form-row">
        <label className="field">
          <span>Event</span>
          <input
            className="input num"
            type="number"
            min={1}
            max={last}
            value={at}
            onChange={({ target }) => setAt(Math.max(1, Math.min(last, Math.trunc(Number(target.value)))))}
          />
        </label>
        <SlotChange run={report.run} at={at} change={change} onChange={setChange} />
      </div>
      {change !== null && (
        <label className="field">
          <span>{change.slot} as JSON</span>
          <textarea
            className="input mono"
            rows={8}
            spellCheck={false}
            value={change.text}
            onChange={({ target }) => setChange({ ...change, text: target.value })}
          />
        </label>
      )}
      {!value.ok && <p className="ink-failed">{value.problem}</p>}
      {fork.isError && <ProblemNote error={fork.error} />}
      <div className="dialog-foot">
        <Button onClick={onClose}>Close</Button>
        <Button kind="primary" icon="fork" disabled={fork.isPending || !value.ok} onClick={() => fork.mutate()}>
          Fork
        </Button>
      </div>
    </Dialog>
  );
}

interface Change {
  readonly slot: string;
  /** The new value as JSON. */
  readonly text: string;
}

interface SlotProps {
  readonly run: string;
  readonly at: number;
  readonly change: Change | null;
  readonly onChange: (change: Change | null) => void;
}

/** The values of the run at the event. One of them can be another one in the fork. */
function SlotChange({ run, at, change, onChange }: SlotProps): ReactElement {
  const { data } = useQuery(stateQuery(run, at));
  const slots = data?.slots ?? {};
  const choose = (slot: string): void =>
    onChange(slot === '' ? null : { slot, text: JSON.stringify(slots[slot]?.value ?? null, null, 2) });
  return (
    <label className="field grow">
      <span>Change a value (if you like)</span>
      <select className="select" value={change?.slot ?? ''} onChange={({ target }) => choose(target.value)}>
        <option value="">Nothing</option>
        {Object.keys(slots).map((slot) => (
          <option key={slot}>{slot}</option>
        ))}
      </select>
    </label>
  );
}
