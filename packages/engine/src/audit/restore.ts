/** Stores a run again that its database has lost, from a file of `exportRun`. Its events, and so its keys, stay what they were. */
import { randomUUID } from 'node:crypto';
import { evolve } from '@sluice-internal/kernel/core';
import type { RunState } from '@sluice-internal/kernel/ir';
import { decodeEvents } from '../journal/codec.ts';
import { entryOf } from '../journal/entry.ts';
import { storedProgram } from '../journal/stored-graph.ts';
import { createShelf } from '../journal/values.ts';
import { SluiceError } from '../ports/errors.ts';
import type { Append, RunEntryChange, Store } from '../ports/ports.ts';
import { detailsOf } from '../report/details.ts';
import { auditRunFile } from './export.ts';
import type { RunFile } from './export.ts';

/** In milliseconds: the restore is one commit. */
const TERM_MS = 60_000;

/** Throws if the file was changed, is of another database, or if the run is there. `trusted` is the key that must have signed it. */
export async function restoreRunFile(store: Store, file: RunFile, trusted: string | null = null): Promise<void> {
  const { run } = file;
  if (file.store !== store.id)
    throw new SluiceError(
      'bad-restore',
      `run \`${run}\` is of another database: its calls have keys of that one`,
      'Restore it into its own database, or into a backup of that.',
    );
  const { ok, broken } = await auditRunFile(file, trusted);
  if (!ok)
    throw new SluiceError(
      'bad-restore',
      `the file of run \`${run}\` was changed: ${broken?.message ?? ''}`,
      'Export the run again, from a backup.',
    );
  if ((await store.index.find(run)) !== null)
    throw new SluiceError(
      'run-exists',
      `run \`${run}\` is there, so it cannot be restored`,
      'Remove its rows, or restore it into a backup.',
    );
  const worker = `restore-${randomUUID()}`;
  await store.leases.renew(worker, TERM_MS);
  try {
    const stored = await store.journal.commit(worker, appendsOf(file));
    if (stored.includes('stale'))
      throw new SluiceError(
        'bad-restore',
        `run \`${run}\` was removed, or its thread has an open run`,
        'See `sluice runs`.',
      );
    await store.leases.release(worker, [run]);
  } finally {
    await store.leases.resign(worker);
  }
}

/** The appends of the file. The first one creates the run, and the last one says how it stands. */
function appendsOf({ run, entry, graph, appends, values, checkpoints = [] }: RunFile): readonly Append[] {
  const program = storedProgram(graph);
  const { unpack } = createShelf(values);
  let state: RunState | null = null;
  const copies = appends.map((append): Append => {
    for (const event of decodeEvents(program, append, unpack)) state = evolve(state, event);
    const checkpoint = checkpoints.find(({ seq }) => seq === append.after + append.count);
    const rest = { run, blobs: [], entry: null, flow: null, snapshot: null };
    return { ...append, ...rest, ...(checkpoint === undefined ? {} : { checkpoint }) };
  });
  const first = copies[0];
  const last = copies.at(-1);
  if (first === undefined || last === undefined || state === null) return [];
  const { flow, notation, startedAt, tenant, user, thread, parent } = entry;
  const standing: RunEntryChange = entryOf(state);
  const start = { flow, notation, startedAt, tenant, user, thread, parent };
  const opening = { ...first, blobs: values, flow: { hash: program.flow.hash, text: graph } };
  const closing = { entry: standing, details: detailsOf(program, state) };
  if (first === last) return [{ ...opening, ...closing, entry: { ...standing, first: start } }];
  const begun: RunEntryChange = { status: 'running', code: null, due: null, first: start };
  return [{ ...opening, entry: begun }, ...copies.slice(1, -1), { ...last, ...closing }];
}
