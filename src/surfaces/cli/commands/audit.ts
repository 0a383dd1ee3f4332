/** `sluice audit verify`: recomputes the hash chain of each run and names the event where it breaks. */
import { audit, type Audit } from '../../../runtime/journal/audit.ts';
import type { Cli } from '../context.ts';
import { FAILED, OK, type ExitStatus } from '../exit-status.ts';
import { renderError } from '../report-error.ts';
import { findRun, withStore } from '../store.ts';
import { plural } from '../text.ts';

export async function auditVerifyCommand(cli: Cli, given: string | undefined): Promise<ExitStatus> {
  const audits = await withStore(cli, async (store) => {
    const runs =
      given === undefined
        ? ((await store?.roster.list()) ?? []).map(({ run }) => run)
        : [await findRun(store, given, cli.db)];
    const results: Audit[] = [];
    if (store !== null)
      for (const run of runs) results.push(await audit(store.journal, run, await store.roster.find(run)));
    return results;
  });
  const ok = audits.every((each) => each.ok);
  if (cli.json) cli.printJson({ ok, runs: audits });
  else tell(cli, audits);
  return ok ? OK : FAILED;
}

function tell(cli: Cli, audits: readonly Audit[]): void {
  if (audits.length === 0) return cli.screen.print('there are no runs to check yet');
  for (const { broken } of audits) {
    if (broken !== null)
      cli.screen.note(
        renderError({ code: 'chain-broken', message: broken.message, docs: 'docs/errors/chain-broken.md' }, cli.screen),
      );
  }
  const good = audits.filter(({ ok }) => ok);
  const events = good.reduce((sum, each) => sum + each.events, 0);
  cli.screen.print(`${plural(good.length, 'run')} of ${audits.length} hold: ${plural(events, 'event')} checked`);
}
