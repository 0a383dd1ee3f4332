/** `sluice prune`: removes ended runs by the rule of their flow or by the options, and gives the space back to the disk. */
import { present } from '@sluice-internal/kernel/expr';
import type { CompiledFlow, RunId } from '@sluice-internal/kernel/ir';
import { createRuntime } from '@sluice-internal/engine/worker';
import { allOf } from '@sluice-internal/engine/ports';
import type { RunEntry, Store } from '@sluice-internal/engine/ports';
import { exportTo, fileAt, forget } from '@sluice-internal/library/host';
import { makeFolder, plural, readSince, readWhole, usage } from '@sluice-internal/library/documents';
import type { Cli } from '@sluice-internal/library/documents';
import { resolve } from 'node:path';
import type { Options } from '../table/command-table.ts';
import { demandDatabase, demandFlow, openFor } from '../session/store.ts';

export async function pruneCommand(cli: Cli, given: Options<'prune'>): Promise<void> {
  // The folder of the option starts here; that of `retain` starts at the document.
  const options = given.export === undefined ? given : { ...given, export: resolve(given.export) };
  const rule = ruleOf(options);
  demandDatabase(cli, 'run-not-found', 'there is nothing to remove');
  if (options.export !== undefined && options.dryRun !== true) makeFolder('--export', options.export, 0o700);
  const store = openFor(cli);
  // The engine holds a lease meanwhile, so that two processes do not remove the same runs.
  const engine = createRuntime({ store, performer: NO_CALLS, pickUp: false });
  try {
    const expired = await expiredRuns(store, options, rule);
    if (options.dryRun !== true) await remove(cli, store, expired);
    const runs = expired.map(({ run }) => run);
    const verb = options.dryRun === true ? 'would be' : runs.length === 1 ? 'was' : 'were';
    const lines = [`${plural(runs.length, 'run')} ${verb} removed`, ...runs.map((run) => `  ${run}`)];
    cli.show({ removed: runs, dryRun: options.dryRun === true }, () => lines.join('\n'));
  } finally {
    await engine.close();
  }
}

const NO_CALLS = {
  perform: (): Promise<never> => Promise.reject(new Error('`prune` makes no calls')),
};

interface Rule {
  readonly runs?: number;
  readonly endedBefore?: number;
}

/** Null: every flow by its own `retain`. */
function ruleOf({ keep, olderThan, flow }: Options<'prune'>): Rule | null {
  const runs = readWhole('--keep', keep);
  const endedBefore = readSince(olderThan, Date.now(), '--older-than');
  if (runs === undefined && endedBefore === undefined) {
    if (flow !== undefined)
      throw usage('`--flow` needs `--keep` or `--older-than`', 'Add one, such as --keep 100 or --older-than 30d.');
    return null;
  }
  return present({ runs, endedBefore });
}

interface Expired {
  readonly run: RunId;
  /** The folder to export it to first. */
  readonly folder: string | undefined;
}

async function expiredRuns(store: Store, options: Options<'prune'>, rule: Rule | null): Promise<readonly Expired[]> {
  const found: Expired[] = [];
  const scopes = scopesOf(await allOf((page) => store.index.list(page)));
  demandFlow(options.flow, scopes);
  for (const scope of scopes) {
    if (options.flow !== undefined && options.flow !== scope.flow) continue;
    const own = rule === null ? await ownRule(store, scope.newest) : { rule, folder: options.export };
    if (own === null) continue;
    for (const run of await store.index.expired(scope, own.rule))
      found.push({ run, folder: options.export ?? own.folder });
  }
  return found;
}

/** Every flow and tenant with its newest run, whose graph has the rule. */
function scopesOf(entries: readonly RunEntry[]): readonly FlowScope[] {
  const scopes = new Map<string, FlowScope>();
  for (const { flow, tenant, run } of entries) {
    const key = JSON.stringify([flow, tenant]);
    if (!scopes.has(key)) scopes.set(key, { flow, tenant, newest: run });
  }
  return [...scopes.values()];
}

type FlowScope = Pick<RunEntry, 'flow' | 'tenant'> & { readonly newest: RunId };

async function ownRule(store: Store, run: RunId): Promise<{ rule: Rule; folder: string | undefined } | null> {
  const stored = await store.journal.load(run);
  const { view } = JSON.parse(stored?.flow ?? '{}') as Partial<CompiledFlow>;
  if (view?.retain === undefined) return null;
  const { runs, days, export: folder } = view.retain;
  const endedBefore = days === undefined ? undefined : Date.now() - days * 86_400_000;
  return { rule: present({ runs, endedBefore }), folder };
}

async function remove(cli: Cli, store: Store, expired: readonly Expired[]): Promise<void> {
  const files = new Map<RunId, string>();
  for (const { run, folder } of expired) if (folder !== undefined) files.set(run, await exportTo(store, run, folder));
  const removed = await store.index.remove(
    expired.map(({ run }) => run),
    files,
  );
  await forget(store, fileAt(cli.db), removed);
  await store.compact?.();
}
