/** `sluice audit verify`: recomputes the hash chain of each run and names the event where it breaks. */
import { audit, type Audit } from '../../../runtime/journal/audit.ts';
import { withAttachments } from '../../../runtime/journal/audit-attachments.ts';
import { attachmentsBeside } from '../../../stores/sqlite/attachment-store.ts';
import { auditTombstones, type TombstoneAudit } from '../../../runtime/journal/audit-entry.ts';
import type { Cli } from '../context.ts';
import { runFileAt, verifyHeads, verifyRunFile } from './audit-files.ts';
import { FAILED, OK, type ExitStatus } from '../exit-status.ts';
import { renderError } from '../report-error.ts';
import { findRun, withStore } from '../store.ts';
import { plural } from '../text.ts';

export interface AuditVerifyOptions {
  readonly heads?: string;
}

export async function auditVerifyCommand(
  cli: Cli,
  given: string | undefined,
  { heads }: AuditVerifyOptions = {},
): Promise<ExitStatus> {
  const file = given === undefined ? null : runFileAt(given);
  if (given !== undefined && file !== null) return verifyRunFile(cli, given, file);
  const status = await verifyRuns(cli, given, heads === undefined || !cli.json);
  return heads === undefined ? status : Math.max(status, await verifyHeads(cli, heads)) === OK ? OK : FAILED;
}

async function verifyRuns(cli: Cli, given: string | undefined, shows: boolean): Promise<ExitStatus> {
  const { runs, tombstones } = await withStore(cli, async (store) => {
    if (store === null && given === undefined) return { runs: [], tombstones: NO_TOMBSTONES };
    const ids =
      given === undefined
        ? ((await store?.roster.list()) ?? []).map(({ run }) => run)
        : [await findRun(store, given, cli.db)];
    const results: Audit[] = [];
    if (store === null) return { runs: results, tombstones: NO_TOMBSTONES };
    const attachments = attachmentsBeside(cli.db);
    try {
      for (const run of ids)
        results.push(withAttachments(await audit(store.journal, run, await store.roster.find(run)), attachments));
    } finally {
      attachments.close();
    }
    return { runs: results, tombstones: await auditTombstones(store.roster) };
  });
  const ok = runs.every((each) => each.ok) && tombstones.ok;
  if (!shows) return ok ? OK : FAILED;
  if (cli.json) cli.printJson({ ok, runs, tombstones });
  else print(cli, runs, tombstones);
  return ok ? OK : FAILED;
}

const NO_TOMBSTONES: TombstoneAudit = { ok: true, removed: 0, broken: null };

function print(cli: Cli, audits: readonly Audit[], tombstones: TombstoneAudit): void {
  const removed = tombstones.removed === 0 ? '' : `; ${plural(tombstones.removed, 'removed run')} in the tombstones`;
  if (audits.length === 0 && removed === '') return cli.screen.print('there are no runs to check yet');
  for (const message of [...audits.map(({ broken }) => broken?.message), tombstones.broken]) {
    if (typeof message === 'string')
      cli.screen.note(renderError({ code: 'chain-broken', message, docs: 'docs/errors/chain-broken.md' }, cli.screen));
  }
  const good = audits.filter(({ ok }) => ok);
  const events = good.reduce((sum, each) => sum + each.events, 0);
  cli.screen.print(
    `${plural(good.length, 'run')} of ${audits.length} hold: ${plural(events, 'event')} checked${removed}`,
  );
}
