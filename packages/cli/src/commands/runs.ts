/** `sluice runs`: lists runs, newest first. */
import { existsSync } from 'node:fs';
import { present } from '@sluice-internal/kernel/expr';
import { RUN_STATES } from '@sluice-internal/kernel/ir';
import type { RunStatus } from '@sluice-internal/kernel/ir';
import type { RunEntry, Store } from '@sluice-internal/engine/ports';
import { iso, oneLine, plural, readWhole, table, usage } from '@sluice-internal/library/documents';
import type { Cli } from '@sluice-internal/library/documents';
import { didYouMean } from '@sluice-internal/compile/source';
import { withCommandName } from '../table/command-name.ts';
import type { Options } from '../table/command-table.ts';
import { withStore } from '../session/store.ts';

export async function runsCommand(cli: Cli, options: Options<'runs'>): Promise<void> {
  const status = options.state?.split(',').map(stateNamed);
  const limit = readWhole('--limit', options.limit, 1);
  const filter = present({ status, limit });
  const entries = await withStore(cli, (store) => listChecked(store, filter));
  if (cli.json) cli.printJson(entries.map(jsonOf));
  else if (entries.length === 0)
    cli.hint(
      status === undefined || !existsSync(cli.db)
        ? withCommandName('no runs yet; start one with `sluice run FILE`')
        : `no run is ${status.join(' or ')}`,
    );
  else cli.screen.print(table([['RUN', 'FLOW', 'STATE', 'CODE', 'STARTED'], ...entries.map(rowOf)]));
  const changed = entries.filter(({ broken }) => broken !== null).length;
  if (changed > 0)
    cli.warn(
      withCommandName(`${plural(changed, 'run')} of ${entries.length} cannot be trusted; run \`sluice audit verify\``),
    );
}

interface CheckedEntry extends RunEntry {
  /** The reason why the entry cannot be trusted; null for an unchanged entry. */
  readonly broken: string | null;
}

async function listChecked(
  { index, journal }: Store,
  filter: Parameters<Store['index']['list']>[0],
): Promise<readonly CheckedEntry[]> {
  const checked: CheckedEntry[] = [];
  for (const entry of await index.list(filter))
    checked.push({ ...entry, broken: (await journal.broken?.(entry.run)) ?? null });
  return checked;
}

function stateNamed(given: string): RunStatus {
  const found = RUN_STATES.find((state) => state === given.trim());
  if (found !== undefined) return found;
  throw usage(`there is no state \`${given}\``, didYouMean(given, RUN_STATES, `The states: ${RUN_STATES.join(', ')}.`));
}

function jsonOf(entry: CheckedEntry): object {
  const { status, startedAt, updatedAt, due, owner: _, ...rest } = entry;
  const times = { startedAt: iso(startedAt), updatedAt: iso(updatedAt), due: due === null ? null : iso(due) };
  return { ...rest, state: status, ...times };
}

function rowOf({ run, flow, status, code, startedAt, broken }: CheckedEntry): string[] {
  return [
    oneLine(run, 100),
    oneLine(flow, 40),
    broken === null ? status : `${status} (changed)`,
    oneLine(code ?? '-', 40),
    iso(startedAt)
      .replace('T', ' ')
      .replace(/\.\d+Z$/, 'Z'),
  ];
}
