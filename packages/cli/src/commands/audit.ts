/** `sluice audit verify`: recomputes the hash chain of each run and names the event where it breaks. */
import { hash } from 'node:crypto';
import { auditRun } from '@sluice-internal/engine/audit';
import type { Audit } from '@sluice-internal/engine/audit';
import {
  auditMemory,
  auditShared,
  auditTombstones,
  publicKeyText,
  storedProgram,
  withCheckpoints,
} from '@sluice-internal/engine/journal';
import { allOf, operate } from '@sluice-internal/engine/ports';
import type { AttachmentStore, Cells, Store } from '@sluice-internal/engine/ports';
import { detailsOf } from '@sluice-internal/engine/report';
import type { RunId, RunState } from '@sluice-internal/kernel/ir';
import { ServerKeys, closing, dataOf, fileAt, isErased } from '@sluice-internal/library/host';
import { FAILED, OK, plural, usage } from '@sluice-internal/library/documents';
import type { Cli, ExitStatus } from '@sluice-internal/library/documents';
import type { Options } from '../table/command-table.ts';
import { comparedHeads, printHeads, runFileAt, verifyRunFile } from './audit-files.ts';
import { noteError } from '../view/report-error.ts';
import { currentUser } from '../session/ask-person.ts';
import { findRun, withStore } from '../session/store.ts';

export async function auditVerifyCommand(
  cli: Cli,
  given: string | undefined,
  { heads, key, rebuild }: Options<'audit verify'>,
): Promise<ExitStatus> {
  const file = given === undefined ? null : runFileAt(given);
  if (rebuild === true) await rebuildLists(cli, given, file !== null);
  const trusted = key === undefined ? null : publicKeyText(key);
  if (given !== undefined && file !== null) return verifyRunFile(cli, given, file, trusted);
  const found = await auditAll(cli, given, trusted);
  const chain = isIntact(found);
  const compared = heads === undefined ? null : await comparedHeads(cli, heads);
  const ok = chain && (compared === null || compared.differences.length === 0);
  if (cli.json) cli.printJson(compared === null ? jsonOf(found, ok) : { ok, chain, ...compared });
  else {
    // Differences come first, before a line with `hold`.
    if (compared !== null) printHeads(cli, compared);
    if (compared === null || ok === chain) print(cli, found);
  }
  return ok ? OK : FAILED;
}

/** Makes what lists show of each run again from its journal. A run whose chain is broken keeps its rows. */
async function rebuildLists(cli: Cli, given: string | undefined, isFile: boolean): Promise<void> {
  if (isFile) throw usage('`--rebuild` needs a database, and this is the file of a run', 'Leave it out.');
  const look = async (store: Store): Promise<number> => {
    let changed = 0;
    for (const run of await runsOf(cli, store, given)) if (await rebuildOne(store, run)) changed += 1;
    const act = { at: Date.now(), by: currentUser(), what: 'lists.rebuilt', key: 'lists', why: plural(changed, 'run') };
    if (changed > 0) await operate(store.shared, act, () => changed);
    return changed;
  };
  const changed = await withStore(cli, look, false);
  cli.hint(changed === 0 ? 'the lists were right' : `the lists of ${plural(changed, 'run')} were made again`);
}

async function rebuildOne({ journal, index }: Store, run: RunId): Promise<boolean> {
  // The store itself refuses a run of which more than its lists was changed.
  const { broken: _, ...events } = journal;
  const { audit: chain, stored, state } = await auditRun(events, run, await index.find(run));
  return chain.ok && state !== null && index.describe(run, detailsOf(storedProgram(stored.flow), state));
}

async function runsOf(cli: Cli, store: Store, given: string | undefined): Promise<readonly RunId[]> {
  if (given !== undefined) return [await findRun(cli, store, given)];
  return (await allOf((page) => store.index.list(page))).map(({ run }) => run);
}

function jsonOf({ runs, tombstones, shared, memory, store }: Audited, ok: boolean): object {
  return { ok, runs, tombstones, shared, memory, ...(store.ok ? {} : { store }) };
}

function isIntact({ runs, tombstones, shared, memory, store }: Audited): boolean {
  return runs.every((each) => each.ok) && [tombstones, shared, memory, store].every((each) => each.ok);
}

async function auditAll(cli: Cli, given: string | undefined, trusted: string | null) {
  return withStore(cli, async (store) => {
    const ids = await runsOf(cli, store, given);
    return {
      runs: await auditRuns(cli, store, ids, trusted),
      tombstones: await auditTombstones(store.index),
      shared: await auditShared(store.shared),
      memory: await closing(dataOf(store, fileAt(cli.db)), ({ memory }) => auditMemory(store, memory, cli.tenant)),
      store: await auditStore(store),
    };
  });
}

type Audited = Awaited<ReturnType<typeof auditAll>>;

/** The chains of heads, and the rows that they record. */
async function auditStore({ journal }: Store) {
  const broken = (await journal.broken?.()) ?? null;
  return { ok: broken === null, broken };
}

async function auditRuns(
  cli: Cli,
  store: Store,
  ids: readonly string[],
  trusted: string | null,
): Promise<readonly Audit[]> {
  const { id, journal, index, shared } = store;
  return closing(dataOf(store, fileAt(cli.db)), async ({ attachments }) => {
    const results: Audit[] = [];
    const servers = new ServerKeys({ file: fileAt(cli.db) }).trusted();
    for (const run of ids) {
      const entry = await index.find(run);
      const { audit: chain, stored, state } = await auditRun(journal, run, entry, servers);
      const expected = chain.ok && state !== null ? await inputAttachments(shared, state) : [];
      const checked = await withAttachments(chain, attachments, expected);
      const checkpoints = (await journal.checkpoints?.(run)) ?? [];
      const { appends } = stored;
      results.push(withCheckpoints(checked, { store: id, run, appends, checkpoints, entry }, trusted));
    }
    return results;
  });
}

/** The attachments that the first event names, unless they were erased in this run or in the run that it forks. */
async function inputAttachments(shared: Cells, { run, origin }: RunState): Promise<readonly string[]> {
  const { pins, parent } = origin;
  const owners = [run, ...(parent === undefined ? [] : [parent.run])];
  for (const owner of owners) if (await isErased(shared, owner)) return [];
  return pins?.attachments ?? [];
}

/**
 * The audit of a run with its attachments: their data must have the hash under which the journal names it. `expected` are the
 * attachments of the input that no operator erased.
 */
async function withAttachments(
  audited: Audit,
  store: AttachmentStore,
  expected: readonly string[],
): Promise<Audit & { readonly attachments: number }> {
  const { run, broken } = audited;
  const ids = await store.list(run);
  const changed = await changedIn(store, run, ids);
  const missing = expected.find((id) => !ids.includes(id));
  if (broken !== null || (changed ?? missing) === undefined) return { ...audited, attachments: ids.length };
  const problem =
    changed === undefined
      ? `the attachment ${missing} is missing, and no operator erased it`
      : `the data of the attachment ${changed} was changed`;
  const message = `run \`${run}\`: ${problem}`;
  return { ...audited, ok: false, broken: { seq: 0, last: 0, message }, attachments: ids.length };
}

async function changedIn(store: AttachmentStore, run: RunId, ids: readonly string[]): Promise<string | undefined> {
  for (const id of ids) {
    const found = await store.find(run, id);
    if (found !== null && `sha256-${hash('sha256', found.data, 'hex')}` !== id) return id;
  }
  return undefined;
}

/** The problem of a run, with its name. */
function problemOf({ run, broken }: Audit): string | undefined {
  if (broken === null) return undefined;
  return broken.message.includes(run) ? broken.message : `run \`${run}\`: ${broken.message}`;
}

function print(cli: Cli, { runs: audits, tombstones, shared, memory, store }: Audited): void {
  const removed = tombstones.removed === 0 ? '' : `; ${plural(tombstones.removed, 'removed run')} in the tombstones`;
  const lists = [tombstones, shared, memory, store].map(({ broken }) => broken);
  const problems = [...audits.map(problemOf), ...lists];
  if (audits.length === 0 && removed === '' && problems.every((problem) => problem === null))
    return cli.screen.print('there are no runs to check yet');
  for (const message of problems) if (typeof message === 'string') noteError(cli.screen, 'chain-broken', message);
  const good = audits.filter(({ ok }) => ok);
  const events = good.reduce((sum, each) => sum + each.events, 0);
  cli.screen.print(
    `${plural(good.length, 'run')} of ${audits.length} ${good.length === 1 ? 'holds' : 'hold'}: ${plural(events, 'event')} checked${removed}`,
  );
}
