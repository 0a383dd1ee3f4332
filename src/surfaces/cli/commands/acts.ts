/** `sluice audit acts`: what operators did to the database, and what was refused to tenants. */
import type { OperatorAct } from '../../../runtime/ports.ts';
import { SluiceError } from '../../../runtime/errors.ts';
import type { Cli } from '../context.ts';
import { OK, type ExitStatus } from '../exit-status.ts';
import { withStore } from '../store.ts';
import { iso, oneLine, table } from '../text.ts';

export async function auditActsCommand(cli: Cli): Promise<ExitStatus> {
  if (cli.tenant !== undefined)
    throw new SluiceError('wrong-tenant', 'a tenant cannot read the acts of operators', 'Leave `--tenant` out.');
  const acts = await withStore(cli, async (store) => (store === null ? [] : store.shared.acts()));
  if (cli.json) cli.printJson(acts.map(jsonOf));
  else if (acts.length === 0) cli.hint('nothing has been recorded yet');
  else cli.screen.print(table([['AT', 'BY', 'WHAT', 'WHY'], ...acts.map(rowOf)]));
  return OK;
}

function jsonOf({ at, by, what, key, why }: OperatorAct): object {
  return { at: iso(at), by, what, key, why };
}

function rowOf({ at, by, what, key, why }: OperatorAct): string[] {
  return [iso(at), oneLine(by, 24) || '-', what, oneLine(why === '' ? key : why, 80)];
}
