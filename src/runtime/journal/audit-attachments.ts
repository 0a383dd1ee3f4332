/** Verifies the attachments of a run: the data must have the hash under which the journal names it. */
import { hash } from 'node:crypto';
import type { RunId } from '../../ir/events.ts';
import type { AttachmentStore } from '../ports.ts';
import type { Audit } from './audit.ts';

/**
 * The audit of a run with its attachments. `expected` are the attachments that the journal says came with the input, and that no
 * operator erased.
 */
export function withAttachments(
  audited: Audit,
  store: AttachmentStore,
  expected: readonly string[],
): Audit & { readonly attachments: number } {
  const { run, broken } = audited;
  const ids = store.list(run);
  const changed = ids.find((id) => isChanged(store, run, id));
  const missing = expected.find((id) => !ids.includes(id));
  if (broken !== null || (changed ?? missing) === undefined) return { ...audited, attachments: ids.length };
  const problem =
    changed === undefined
      ? `the attachment ${missing} is missing, and no operator erased it`
      : `the data of the attachment ${changed} was changed`;
  const message = `run \`${run}\`: ${problem}`;
  return { ...audited, ok: false, broken: { seq: 0, last: 0, message }, attachments: ids.length };
}

function isChanged(store: AttachmentStore, run: RunId, id: string): boolean {
  const found = store.find(run, id);
  return found !== null && `sha256-${hash('sha256', found.data, 'hex')}` !== id;
}
