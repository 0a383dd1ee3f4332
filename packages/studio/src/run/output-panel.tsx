/** How the run ended, what it gave, and what it did in the world. */
import { harmless } from '@sluice-internal/wire';
import type { ReactElement } from 'react';
import { inline, pretty } from '../ui/format.ts';
import { Icon } from '../ui/icon.tsx';
import { EffectTag, Empty, Value } from '../ui/parts.tsx';
import type { Receipt, RunReport } from '../data/types.ts';
import { useRun } from './context.tsx';

export function OutputPanel(): ReactElement {
  const { report } = useRun();
  const { receipts, losses = [], changed, code, state } = report;
  const hasEnded = code !== null && state !== 'suspended' && state !== 'running';
  return (
    <div className="output">
      <Result report={report} hasEnded={hasEnded} />
      {losses.map(({ node, item, why }) => (
        <p key={`${node}-${item}`} className="note is-waiting">
          {harmless(node)}
          {item !== null && `, item ${item}`}: {harmless(why)}
        </p>
      ))}
      <h3>Receipts</h3>
      {receipts.length === 0 ? (
        <Empty icon="tool" title={hasEnded && !changed ? 'Nothing was changed' : 'No call was made yet'} />
      ) : (
        <ul aria-label="Receipts" className="receipts">
          {receipts.map((receipt) => (
            <ReceiptLine key={receipt.seq} receipt={receipt} />
          ))}
        </ul>
      )}
    </div>
  );
}

/** Why it failed, who judged it, and what it gave. */
function Result({ report, hasEnded }: { readonly report: RunReport; readonly hasEnded: boolean }): ReactElement {
  const { output, failure = null, verdict } = report;
  const hasOutput = output !== null && output !== undefined;
  return (
    <>
      {failure !== null && (
        <p className="note is-failed">
          <strong>{harmless(failure.why)}</strong>
        </p>
      )}
      {hasEnded && verdict !== undefined && verdict.by !== 'none' && (
        <p className="text-2">
          {JUDGED[String(verdict.ok)]} by {verdict.by}
          {verdict.problem !== null && `: ${harmless(verdict.problem)}`}
        </p>
      )}
      {hasOutput && (
        <div className="message is-reply">
          <p className="label">output</p>
          <Value text={pretty(output)} />
        </div>
      )}
      {!hasOutput && !hasEnded && <p className="text-2">The run has no output yet.</p>}
    </>
  );
}

const JUDGED: { readonly [ok: string]: string } = { true: 'Accepted', false: 'Refused', null: 'Not judged' };

const STATUS = {
  committed: { icon: 'check', tone: 'ok', word: 'done' },
  compensated: { icon: 'undo', tone: 'undone', word: 'undone' },
  unknown: { icon: 'warning', tone: 'waiting', word: 'not known' },
} as const;

function ReceiptLine({
  receipt: { seq, tool, effect, args, result, status, approvedBy, inherited },
}: {
  readonly receipt: Receipt;
}): ReactElement {
  const { go } = useRun();
  const { icon, tone, word } = STATUS[status];
  return (
    <li>
      <button type="button" className="receipt" onClick={() => go(seq)}>
        <Icon name={icon} className={`ink-${tone}`} />
        <span className="receipt-text">
          <span className="receipt-head">
            <strong>{harmless(tool)}</strong> <EffectTag effect={effect} />
            <span className={`ink-${tone}`}>{word}</span>
            {inherited === true && <span className="text-2">before the fork</span>}
          </span>
          {approvedBy !== null && approvedBy !== undefined && (
            <span className="text-2">approved by {harmless(approvedBy)}</span>
          )}
          {args !== undefined && <Value text={inline(args, 300)} />}
          {result !== undefined && result !== null && <Value className="text-2" text={inline(result, 300)} />}
        </span>
        <span className="text-3 num">event {seq}</span>
      </button>
    </li>
  );
}
