/** `sluice audit verify`: recomputes the hash chain of each run and names the event where it breaks. */
import { hash } from 'node:crypto';
import { auditRun } from '@sluice-internal/engine/audit';
import type { Audit } from '@sluice-internal/engine/audit';
import { attachmentsBeside, memoryBeside } from '@sluice-internal/store-sqlite';
import {
  auditMemory,
  auditShared,
  auditTombstones,
  publicKeyText,
  withCheckpoints,
} from '@sluice-internal/engine/journal';
import type { AttachmentStore, Cells, Store } from '@sluice-internal/engine/ports';
import type { RunId, RunState } from '@sluice-internal/kernel/ir';
import { ServerKeys, closing, fileAt, isErased } from '@sluice-internal/library/host';
import { FAILED, OK, plural } from '@sluice-internal/library/documents';
import type { Cli, ExitStatus } from '@sluice-internal/library/documents';
import type { Options } from '../table/command-table.ts';
import { comparedHeads, printHeads, runFileAt, verifyRunFile } from './audit-files.ts';
import { noteError } from '../view/report-error.ts';
import { findRun, withStore } from '../session/store.ts';

export async function auditVerifyCommand(
  cli: Cli,
  given: string | undefined,
  { heads, key }: Options<'audit verify'>,
): Promise<ExitStatus> {
  const file = given === undefined ? null : runFileAt(given);
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

function jsonOf({ runs, tombstones, shared, memory, store }: Audited, ok: boolean): object {
  return { ok, runs, tombstones, shared, memory, ...(store.ok ? {} : { store }) };
}

function isIntact({ runs, tombstones, shared, memory, store }: Audited): boolean {
  return runs.every((each) => each.ok) && [tombstones, shared, memory, store].every((each) => each.ok);
}

async function auditAll(cli: Cli, given: string | undefined, trusted: string | null) {
  return withStore(cli, async (store) => {
    const ids =
      given === undefined ? (await store.index.list()).map(({ run }) => run) : [await findRun(cli, store, given)];
    return {
      runs: await auditRuns(cli, store, ids, trusted),
      tombstones: await auditTombstones(store.index),
      shared: await auditShared(store.shared),
      memory: await closing(memoryBeside(cli.db), (memory) => auditMemory(store, memory, cli.tenant)),
      store: await auditStore(store),
    };
  });
}

type Audited = Awaited<ReturnType<typeof auditAll>>;

/** The seals of the database: sums over its lists. */
async function auditStore({ journal }: Store) {
  const broken = (await journal.broken?.()) ?? null;
  return { ok: broken === null, broken };
}

async function auditRuns(
  cli: Cli,
  { id, journal, index, shared }: Store,
  ids: readonly string[],
  trusted: string | null,
): Promise<readonly Audit[]> {
  return closing(attachmentsBeside(cli.db), async (attachments) => {
    const results: Audit[] = [];
    const servers = new ServerKeys({ file: fileAt(cli.db) }).trusted();
    for (const run of ids) {
      const entry = await index.find(run);
      const { audit: chain, stored, state } = await auditRun(journal, run, entry, servers);
      const expected = chain.ok && state !== null ? await inputAttachments(shared, state) : [];
      const checked = withAttachments(chain, attachments, expected);
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
function withAttachments(
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
