/** Removes ended runs by the rule of their flow. Each removal is announced, and leaves a tombstone. */
import type { CompiledFlow } from '../../ir/nodes.ts';
import type { RunId } from '../../ir/events.ts';
import type { Store } from '../ports.ts';
import type { EngineOptions } from './types.ts';

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

  /** Applies the rule of a flow to its runs for one tenant, and the rule of the engine to its notation. */
  async apply(flow: CompiledFlow, tenant: string | null): Promise<readonly RunId[]> {
    const { retain, store } = this.#options;
    const keep = retain?.[flow.notation] ?? flow.view?.keepEnded;
    const byNotation = keep === undefined ? [] : await store.roster.retain(flow.notation, keep);
    if (byNotation.length > 0)
      this.#announce(byNotation, `the newest ${keep} runs of \`${flow.notation}\` are kept (\`retain\`)`);
    return [...byNotation, ...(await this.#applyOwn(flow, tenant))];
  }

  async #applyOwn(flow: CompiledFlow, tenant: string | null): Promise<readonly RunId[]> {
    const rule = flow.view?.retain;
    if (rule === undefined) return [];
    const { store, now, notice } = this.#options;
    const { runs, days, export: folder } = rule;
    const expired = await store.roster.expired(
      { flow: flow.id, tenant },
      {
        ...(runs === undefined ? {} : { runs }),
        ...(days === undefined ? {} : { endedBefore: now() - days * DAY_MS }),
      },
    );
    if (expired.length === 0) return [];
    const files = new Map<RunId, string>();
    try {
      if (folder !== undefined) for (const run of expired) files.set(run, await this.#export(run, folder));
    } catch (error) {
      notice(`no run of \`${flow.id}\` was removed: the export failed (${(error as Error).message})`);
      return [];
    }
    const removed = await store.roster.remove(expired, files);
    const kept = [runs === undefined ? '' : `the newest ${runs}`, days === undefined ? '' : `those of ${days} days`];
    const whose = tenant === null ? '' : ` of tenant \`${tenant}\``;
    const rest = `${kept.filter(Boolean).join(' and ')} runs of \`${flow.id}\`${whose} are kept (\`retain\`)`;
    this.#announce(removed, folder === undefined ? rest : `${rest}; exported to \`${folder}\``);
    return removed;
  }

  async #export(run: RunId, folder: string): Promise<string> {
    const { exportRun } = this.#options;
    if (exportRun === undefined) throw new Error('this engine cannot export');
    return exportRun(run, folder);
  }

  #announce(removed: readonly RunId[], why: string): void {
    if (removed.length === 0) return;
    const runs = removed.length === 1 ? '1 ended run was' : `${removed.length} ended runs were`;
    this.#options.notice(`${runs} removed: ${why}`);
    this.#options.onRemoved?.(removed);
  }
}
