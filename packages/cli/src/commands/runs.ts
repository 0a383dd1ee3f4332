/** `sluice runs`: lists runs, newest first. */
import { existsSync } from 'node:fs';
import { present } from '@sluice-internal/kernel/expr';
import { RUN_STATES } from '@sluice-internal/kernel/ir';
import type { RunStatus } from '@sluice-internal/kernel/ir';
import { allOf } from '@sluice-internal/engine/ports';
import { isAddress } from '@sluice-internal/library/host';
import type { ListedRun, Page, PageRequest, RunFilter, Store } from '@sluice-internal/engine/ports';
import { iso, oneLine, plural, readSince, readWhole, table, usage } from '@sluice-internal/library/documents';
import type { Cli } from '@sluice-internal/library/documents';
import { didYouMean } from '@sluice-internal/compile/source';
import { withCommandName } from '../table/command-name.ts';
import type { Options } from '../table/command-table.ts';
import { withStore } from '../session/store.ts';

export async function runsCommand(cli: Cli, options: Options<'runs'>): Promise<void> {
  const status = options.state?.split(',').map(stateNamed);
  const { flow, code, user, thread, cursor } = options;
  const since = readSince(options.since, Date.now());
  const limit = readWhole('--limit', options.limit, 1);
  const filter = present({ status, flow, code, user, thread, since });
  const isPaged = cursor !== undefined || limit !== undefined;
  const { items: entries, next } = await withStore(cli, (store) =>
    listChecked(store, filter, isPaged ? present({ cursor, limit }) : null),
  );
  if (cli.json) cli.printJson(isPaged ? { items: entries.map(jsonOf), next } : entries.map(jsonOf));
  else if (entries.length === 0)
    cli.hint(
      Object.keys(filter).length === 0 || (!isAddress(cli.db) && !existsSync(cli.db))
        ? withCommandName('no runs yet; start one with `sluice run FILE`')
        : noneText(options, status),
    );
  else cli.screen.print(table([['RUN', 'FLOW', 'STATE', 'CODE', 'STARTED'], ...entries.map(rowOf)]));
  if (next !== null && !cli.json) cli.hint(`there are more; add \`--cursor ${next}\` for the next page`);
  const changed = entries.filter(({ broken }) => broken !== null).length;
  if (changed > 0)
    cli.warn(
      withCommandName(`${plural(changed, 'run')} of ${entries.length} cannot be trusted; run \`sluice audit verify\``),
    );
}

/** The filters, as the user gave them. */
function noneText(
  { flow, code, user, thread, since }: Options<'runs'>,
  status: readonly RunStatus[] | undefined,
): string {
  const given = Object.entries(present({ flow, code, user, thread, since }));
  const which = given.map(([name, value]) => ` with ${name} \`${oneLine(value, 80)}\``).join(' and');
  return `no run${which}${status === undefined ? ' was found' : ` is ${status.join(' or ')}`}`;
}

interface CheckedEntry extends ListedRun {
  /** The reason why the entry cannot be trusted; null for an unchanged entry. */
  readonly broken: string | null;
}

async function listChecked(
  { index, journal }: Store,
  filter: RunFilter,
  page: PageRequest | null,
): Promise<Page<CheckedEntry>> {
  const { items, next } =
    page === null
      ? { items: await allOf((each) => index.list({ ...filter, ...each })), next: null }
      : await index.list({ ...filter, ...page });
  const checked: CheckedEntry[] = [];
  for (const entry of items) checked.push({ ...entry, broken: (await journal.broken?.(entry.run)) ?? null });
  return { items: checked, next };
}

function stateNamed(given: string): RunStatus {
  const found = RUN_STATES.find((state) => state === given.trim());
  if (found !== undefined) return found;
  throw usage(`there is no state \`${given}\``, didYouMean(given, RUN_STATES, `The states: ${RUN_STATES.join(', ')}.`));
}

function jsonOf(entry: CheckedEntry): object {
  const { status, startedAt, updatedAt, due, owner: _, facts, ...rest } = entry;
  const times = { startedAt: iso(startedAt), updatedAt: iso(updatedAt), due: due === null ? null : iso(due) };
  const { seq: events = null, ...known } = facts ?? {};
  return { ...rest, state: status, ...times, events, ...known };
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
