/** `sluice quotas`: the quotas of tenants, their use, and the starts that were refused. `set` and `remove` change one. */
import { auditShared } from '@sluice-internal/engine/journal';
import { LIMITS, checkedQuota, takenOf, useAt, valueAt } from '@sluice-internal/engine/ports';
import type { Cells, OperatorAct, Quota, QuotaUse, Store } from '@sluice-internal/engine/ports';
import { EVERY_TENANT, QUOTA_PREFIX, USE_PREFIX, setQuota, storedUse } from '@sluice-internal/engine/limits';
import { didYouMean } from '@sluice-internal/compile/source';
import { closing, openStore } from '@sluice-internal/library/host';
import { FAILED, OK, iso, oneLine, readNumber, readWhole, table, usage } from '@sluice-internal/library/documents';
import type { Cli, ExitStatus } from '@sluice-internal/library/documents';
import { currentUser } from '../session/ask-person.ts';
import type { OperatorOptions, Options } from '../table/command-table.ts';
import { noteError } from '../view/report-error.ts';
import { demandOperator, withStore } from '../session/store.ts';
import { withCommandName } from '../table/command-name.ts';

export async function quotasCommand(cli: Cli): Promise<ExitStatus> {
  const { quotas, acts, broken } = await withStore(cli, async (store) => ({
    quotas: await usesIn(store.shared, cli.tenant),
    acts: await quotaActs(store.shared, cli.tenant),
    broken: await brokenIn(store),
  }));
  if (broken !== null) noteError(cli.screen, 'chain-broken', `these quotas may be wrong: ${broken}`);
  if (cli.json)
    cli.printJson({ quotas: quotas.map(jsonOf), acts: acts.map(actJson), ...(broken === null ? {} : { broken }) });
  else if (quotas.length === 0 && broken === null)
    cli.hint(withCommandName('no tenant has a quota; set one with `sluice quotas set TENANT --runs 100`'));
  else if (quotas.length > 0) {
    const head = ['TENANT', 'PER', 'RUNS', 'AT ONCE', 'TOKENS', 'USD', 'REFUSED'];
    cli.screen.print(table([head, ...quotas.map(rowOf)]));
  }
  return broken === null ? OK : FAILED;
}

/** A quota or a count that was changed from outside counts as absent, so an empty list proves nothing. */
async function brokenIn({ journal, shared }: Store): Promise<string | null> {
  return (await auditShared(shared)).broken ?? (await journal.broken?.()) ?? null;
}

export async function setQuotaCommand(cli: Cli, tenant: string, options: Options<'quotas set'>): Promise<void> {
  const { per, as: by = currentUser(), why = '' } = options;
  const numbers = {
    runs: readWhole('--runs', options.runs),
    concurrent: readWhole('--concurrent', options.concurrent),
    tokens: readWhole('--tokens', options.tokens),
    usd: readNumber('--usd', options.usd),
  };
  if (Object.values(numbers).every((limit) => limit === undefined))
    throw usage('a limit is missing', 'Give at least one of --runs, --concurrent, --tokens and --usd.');
  const quota = checkedQuota(tenant, { ...numbers, per });
  demandOperator(cli, CHANGED_BY_TENANT);
  return closing(openStore(cli.db), async ({ shared }) => {
    await setQuota(shared, tenant, quota, { at: Date.now(), by, why });
    const [use] = await usesIn(shared, tenant);
    if (cli.json) cli.printJson(use === undefined ? null : jsonOf(use));
    else cli.hint(`the quota of \`${oneLine(tenant)}\` is set for every process of this database`);
  });
}

export async function removeQuotaCommand(cli: Cli, tenant: string, options: OperatorOptions): Promise<void> {
  demandOperator(cli, CHANGED_BY_TENANT);
  const remove = async ({ shared }: Store): Promise<void> => {
    const known = await namesWith(shared, QUOTA_PREFIX);
    if (!known.includes(tenant)) throw unknown(tenant, known);
    await setQuota(shared, tenant, null, {
      at: Date.now(),
      by: options.as ?? currentUser(),
      why: options.why ?? '',
    });
    if (cli.json) cli.printJson({ tenant, removed: true });
    else cli.hint(`\`${oneLine(tenant)}\` has no quota of its own any more`);
  };
  return withStore(cli, remove, false);
}

const CHANGED_BY_TENANT = 'a tenant cannot change quotas';

interface TenantUse {
  readonly tenant: string;
  readonly quota: Quota;
  readonly use: QuotaUse;
}

/** Tenants with a quota, and those that used the quota of every tenant. */
async function usesIn(shared: Cells, only: string | undefined): Promise<readonly TenantUse[]> {
  const rules = new Map(
    (await shared.list(QUOTA_PREFIX)).map(({ key, value }) => [key.slice(QUOTA_PREFIX.length), value]),
  );
  const names = new Set([...rules.keys(), ...(await namesWith(shared, USE_PREFIX))]);
  const shown = only === undefined ? [...names].sort() : [only];
  const uses: TenantUse[] = [];
  for (const tenant of shown) {
    const quota = (rules.get(tenant) ?? rules.get(EVERY_TENANT) ?? null) as Quota | null;
    if (quota === null) continue;
    const stored = storedUse(await valueAt(shared, `${USE_PREFIX}${tenant}`));
    uses.push({ tenant, quota, use: useAt(stored, quota.per, Date.now()) });
  }
  return uses;
}

async function namesWith(shared: Cells, prefix: string): Promise<readonly string[]> {
  return (await shared.list(prefix)).filter(({ value }) => value !== null).map(({ key }) => key.slice(prefix.length));
}

async function quotaActs(shared: Cells, tenant: string | undefined): Promise<readonly OperatorAct[]> {
  const acts = await shared.acts();
  return acts.filter(({ key }) =>
    tenant === undefined
      ? key.startsWith(QUOTA_PREFIX) || key.startsWith(USE_PREFIX)
      : key === `${QUOTA_PREFIX}${tenant}` || key === `${USE_PREFIX}${tenant}`,
  );
}

function unknown(tenant: string, known: readonly string[]): Error {
  const help = didYouMean(tenant, known, 'List them with `sluice quotas`.');
  return usage(`tenant \`${tenant}\` has no quota of its own`, help);
}

const MICROS = 1_000_000;

function jsonOf({ tenant, quota, use }: TenantUse): object {
  const taken = takenOf(use);
  const used = { runs: use.runs, concurrent: taken.concurrent, tokens: use.tokens, usd: use.costMicros / MICROS };
  const reserved = { tokens: taken.tokens - use.tokens, usd: (taken.usd - use.costMicros) / MICROS };
  const limits = LIMITS.map((name) => [
    name,
    {
      limit: quota[name] ?? null,
      used: used[name],
      ...(name === 'tokens' || name === 'usd' ? { reserved: reserved[name] } : {}),
    },
  ]);
  return {
    tenant,
    per: quota.per ?? 'day',
    since: iso(use.since),
    ...(Object.fromEntries(limits) as object),
    refused: use.refused,
    runsHeld: Object.keys(use.reservations),
  };
}

function rowOf({ tenant, quota, use }: TenantUse): string[] {
  const taken = takenOf(use);
  const cells = LIMITS.map((name) => {
    const amount = name === 'usd' ? Math.round(taken.usd / 100) / 10_000 : taken[name];
    return quota[name] === undefined ? `${amount}` : `${amount} of ${quota[name]}`;
  });
  return [oneLine(tenant, 40), quota.per ?? 'day', ...cells, String(use.refused)];
}

function actJson({ at, by, what, key, why }: OperatorAct): object {
  const tenant = key.slice(key.indexOf(':') + 1);
  return { at: iso(at), by, what, tenant, why };
}
