/** Verifies the attachments of a run: the data must have the hash under which the journal names it. */
import { hash } from 'node:crypto';
import type { RunId } from '../../ir/events.ts';
import type { AttachmentStore } from '../ports.ts';
import type { Audit } from './audit.ts';

/** The audit of a run with its attachments. Attachments that were erased are not counted. */
export function withAttachments(audited: Audit, store: AttachmentStore): Audit & { readonly attachments: number } {
  const ids = store.list(audited.run);
  const changed = ids.find((id) => isChanged(store, audited.run, id));
  const { broken } = audited;
  if (broken !== null || changed === undefined) return { ...audited, attachments: ids.length };
  const message = `run \`${audited.run}\`: the data of the attachment ${changed} was changed`;
  return { ...audited, ok: false, broken: { seq: 0, last: 0, message }, attachments: ids.length };
}

function isChanged(store: AttachmentStore, run: RunId, id: string): boolean {
  const found = store.find(run, id);
  return found !== null && `sha256-${hash('sha256', found.data, 'hex')}` !== id;
}
