/** The last look before a yes. For money, and for what cannot be undone, the focus is on Cancel. */
import { harmless } from '@sluice-internal/wire';
import type { ReactElement } from 'react';
import type { OpenQuestion } from '../data/types.ts';
import { Dialog } from '../ui/dialog.tsx';
import { count, inline } from '../ui/format.ts';
import { Button, EffectTag, ProblemNote } from '../ui/parts.tsx';
import { isGrave } from './answer.ts';
import { Changes } from './changes.tsx';

interface ConfirmProps {
  readonly question: OpenQuestion;
  /** Undefined: as proposed. */
  readonly edit: { readonly before: unknown; readonly after: unknown } | undefined;
  readonly isSending: boolean;
  readonly error: unknown;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

export function Confirm({ question, edit, isSending, error, onConfirm, onClose }: ConfirmProps): ReactElement {
  const { message, packet } = question;
  const grave = isGrave(question);
  return (
    <Dialog label="Confirm" onClose={onClose}>
      <h2>{harmless(message)}</h2>
      <ul className="confirm-effects">
        {packet.effects.map(({ node, tool, effect, args, reversible, undo, amount }) => (
          <li key={`${node}-${tool}`}>
            <p>
              <code>{harmless(tool)}</code> <EffectTag effect={effect} />{' '}
              {!reversible && <span className="tag is-failed">cannot be undone</span>}
            </p>
            {args !== null && <code className="value text-2">{harmless(inline(args, 400))}</code>}
            {amount !== null && <p className="text-2">Amount {count(amount)}</p>}
            {undo !== null && (
              <p className="text-2">
                Undone by <code>{harmless(undo)}</code>
              </p>
            )}
          </li>
        ))}
      </ul>
      {edit !== undefined && <Changes before={edit.before} after={edit.after} />}
      {error !== null && <ProblemNote error={error} />}
      <div className="dialog-foot">
        <Button data-autofocus={grave ? true : undefined} onClick={onClose}>
          Cancel
        </Button>
        <Button kind="primary" data-autofocus={grave ? undefined : true} disabled={isSending} onClick={onConfirm}>
          Approve
        </Button>
      </div>
    </Dialog>
  );
}
