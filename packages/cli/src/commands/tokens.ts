/** `sluice tokens`: who may call the server. */
import { present } from '@sluice-internal/kernel/expr';
import { iso, usage } from '@sluice-internal/library/documents';
import type { Cli } from '@sluice-internal/library/documents';
import { ACCESS, withTokens } from '@sluice-internal/server';
import type { Access } from '@sluice-internal/server';
import { didYouMean } from '@sluice-internal/compile/source';
import { userInfo } from 'node:os';
import type { Options } from '../table/command-table.ts';

export async function tokensAddCommand(cli: Cli, name: string, options: Options<'tokens add'>): Promise<void> {
  const access = options.access.split(',').map((each) => accessNamed(each.trim()));
  const days = options.days === undefined ? undefined : daysOf(options.days);
  const { person } = options;
  const given = { name, access, content: options.content === true, ...present({ person, days, tenant: cli.tenant }) };
  const { token, tenant, expiresAt } = await withTokens(cli.db, (tokens) => tokens.add(given, userInfo().username));
  const made = {
    name,
    token,
    access,
    person: person ?? null,
    tenant,
    expiresAt: expiresAt === null ? null : iso(expiresAt),
  };
  cli.show(made, () => token);
  cli.hint('This is the only time that the token is shown.');
}

export async function tokensListCommand(cli: Cli): Promise<void> {
  const all = await withTokens(cli.db, (tokens) => tokens.list());
  const own = all.filter(({ tenant }) => cli.tenant === undefined || tenant === cli.tenant);
  const time = (at: number | null): string | null => (at === null ? null : iso(at));
  if (cli.json)
    return cli.printJson(
      own.map((each) => ({
        ...each,
        createdAt: time(each.createdAt),
        expiresAt: time(each.expiresAt),
        usedAt: time(each.usedAt),
      })),
    );
  const rows = own.map(({ name, access, person, tenant, expiresAt, usedAt }) => [
    ...[name, access.join(','), person ?? '-', tenant ?? '-'],
    ...[time(expiresAt) ?? 'never', time(usedAt) ?? 'never'],
  ]);
  cli.printTable(
    ['NAME', 'ACCESS', 'PERSON', 'TENANT', 'EXPIRES', 'USED'],
    rows,
    'there are no tokens; make one with `sluice tokens add`',
  );
}

export async function tokensRevokeCommand(cli: Cli, name: string): Promise<void> {
  await withTokens(cli.db, (tokens) => tokens.revoke(name, userInfo().username));
  cli.show({ revoked: name }, () => `revoked ${name}; open streams end within 5 s`);
}

function accessNamed(given: string): Access {
  const found = ACCESS.find((each) => each === given);
  if (found !== undefined) return found;
  throw usage(`there is no access \`${given}\``, didYouMean(given, ACCESS, `There are ${ACCESS.join(', ')}.`));
}

function daysOf(given: string): number {
  const days = Number(given);
  if (days > 0 && days <= 3650) return days;
  throw usage(`\`--days ${given}\` is no number of days`, 'Give a number from 1 to 3650.');
}
