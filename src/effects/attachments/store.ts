/** A store of attachments in this process, for programs without a journal file. */
import type { RunId } from '../../ir/events.ts';
import type { AttachmentStore, StoredAttachment } from '../../runtime/ports.ts';

export function memoryAttachments(): AttachmentStore {
  const runs = new Map<RunId, Map<string, StoredAttachment>>();
  const of = (run: RunId): Map<string, StoredAttachment> => {
    const known = runs.get(run) ?? new Map<string, StoredAttachment>();
    runs.set(run, known);
    return known;
  };
  return {
    // An attachment that came with the input stays one, also if a tool returns the same data.
    add: (run, attachment) => {
      const known = of(run).get(attachment.id);
      if (known === undefined || attachment.origin === 'input') of(run).set(attachment.id, attachment);
    },
    find: (run, id) => runs.get(run)?.get(id) ?? null,
    list: (run) => [...(runs.get(run)?.keys() ?? [])],
    erase: (run) => {
      const { size } = of(run);
      runs.delete(run);
      return size;
    },
    close: () => runs.clear(),
  };
}
