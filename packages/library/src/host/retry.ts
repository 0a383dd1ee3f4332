/** Tries a run again from the call that failed, as a new run that shares the events before it. */
import { SluiceError } from '@sluice-internal/engine/ports';
import type { AttachmentStore, Engine, Store } from '@sluice-internal/engine/ports';
import { readRun } from '@sluice-internal/engine/journal';
import { retryPoint } from '@sluice-internal/engine/report';
import { present } from '@sluice-internal/kernel/expr';
import type { RunId } from '@sluice-internal/kernel/ir';
import { fork } from './fork.ts';

/**
 * Options of `engine.retry`.
 * @example
 * const options: RetryOptions = { by: 'anna' };
 */
export interface RetryOptions {
  /** The person who tries again. It is recorded. */
  readonly by?: string;
  /** The id of the new run. */
  readonly run?: RunId;
  /** Content hashes of changed code that the operator accepts. */
  readonly modules?: { readonly [file: string]: string };
}

/** The new run, and the node at which it goes on. An approval covers one call, so a question about the call is asked again. */
export async function retry(
  engine: Engine,
  store: Store,
  parent: RunId,
  options: RetryOptions & { readonly attachments?: AttachmentStore | undefined },
): Promise<{ readonly run: RunId; readonly node: string }> {
  const read = await readRun(store.journal, parent);
  let point = retryPoint(read);
  for (;;) {
    try {
      const run = await fork(engine, store, parent, { at: point.at, ...present({ ...options }) });
      return { run, node: point.node };
    } catch (error) {
      const asked = error instanceof SluiceError && error.code === 'bad-fork' ? error.details['at'] : undefined;
      if (typeof asked !== 'number' || asked >= point.at) throw error;
      point = retryPoint(read, asked);
    }
  }
}
