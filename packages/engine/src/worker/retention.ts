/** Removes ended runs by the rule of their flow. Each removal is announced, and leaves a tombstone. */
import { present } from '@sluice-internal/kernel/expr';
import type { CompiledFlow, Retention as RetentionRule, RunId } from '@sluice-internal/kernel/ir';
import type { RunScope, Store } from '../ports/ports.ts';
import type { EngineOptions } from '../ports/types.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

export interface RetentionOptions extends Pick<EngineOptions, 'retain' | 'exportRun' | 'onRemoved'> {
  readonly store: Store;
  readonly notice: (message: string) => void;
  readonly now: () => number;
}

export class Retention {
  readonly #options: RetentionOptions;

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  hasRule({ notation, view }: CompiledFlow): boolean {
    return view?.retain !== undefined || (this.#options.retain?.[notation] ?? view?.keepEnded) !== undefined;
  }

  /**
   * Applies the rule of the engine or of the notation to all runs of the notation, and the rule of a flow to its runs for one
   * tenant. The run that has just started stays: its result is still read.
   */
  async apply(flow: CompiledFlow, tenant: string | null, started: RunId): Promise<void> {
    const { id, notation, view = {} } = flow;
    const keep = this.#options.retain?.[notation] ?? view.keepEnded;
    const whose = tenant === null ? '' : ` of tenant \`${tenant}\``;
    if (keep !== undefined) await this.#remove({ notation }, `runs of \`${notation}\``, { runs: keep }, started);
    if (view.retain !== undefined)
      await this.#remove({ flow: id, tenant }, `runs of \`${id}\`${whose}`, view.retain, started);
  }

  async #remove(of: RunScope, name: string, rule: RetentionRule, started: RunId): Promise<void> {
    const { runs, days, export: folder } = rule;
    const { store, now, notice, onRemoved } = this.#options;
    const endedBefore = days === undefined ? undefined : now() - days * DAY_MS;
    const found = await store.index.expired(of, present({ runs, endedBefore }));
    const expired = found.filter((run) => run !== started);
    if (expired.length === 0) return;
    const files = new Map<RunId, string>();
    try {
      if (folder !== undefined) for (const run of expired) files.set(run, await this.#export(run, folder));
    } catch (error) {
      return notice(`none of the ${name} was removed: the export failed (${(error as Error).message})`);
    }
    const removed = await store.index.remove(expired, files);
    if (removed.length === 0) return;
    const count = removed.length === 1 ? '1 ended run was' : `${removed.length} ended runs were`;
    const kept = [runs === undefined ? '' : `the newest ${runs}`, days === undefined ? '' : `those of ${days} days`];
    const why = `${kept.filter(Boolean).join(' and ')} ${name} are kept (\`retain\`)`;
    notice(`${count} removed: ${why}${folder === undefined ? '' : `; exported to \`${folder}\``}`);
    onRemoved?.(removed);
  }

  async #export(run: RunId, folder: string): Promise<string> {
    const { exportRun } = this.#options;
    if (exportRun === undefined) throw new Error('this engine cannot export');
    return exportRun(run, folder);
  }
}
