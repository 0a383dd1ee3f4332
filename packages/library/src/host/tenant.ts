/**
 * A store as one tenant sees it: the runs of other tenants do not exist. They cannot be read, answered, forked, resumed, cancelled
 * or removed, and no run can be started for another tenant. Every surface opens the store through this file.
 */
import type { RunId } from '@sluice-internal/kernel/ir';
import { SluiceError } from '@sluice-internal/engine/ports';
import type { Append, Index, Journal, Leases, Mail, OperatorAct, RunEntry, Store } from '@sluice-internal/engine/ports';

const TENANT_PREFIX = 'tenant.refused:';

interface TenantOptions {
  /** Stores the record of an access that was refused. Default: the store itself. */
  readonly record?: (act: Act) => Promise<void>;
}
type Act = Omit<OperatorAct, 'link'>;

export function forTenant(store: Store, tenant: string, { record }: TenantOptions = {}): Store {
  checkTenant(tenant);
  const recorded = new Set<RunId>();
  const isMine = async (run: RunId): Promise<boolean> => {
    const owner = await store.index.find(run);
    if (owner?.tenant === tenant) return true;
    if (owner !== null && !recorded.has(run)) {
      recorded.add(run);
      const act = { at: Date.now(), by: `tenant ${tenant}`, what: 'tenant.refused' };
      const refused = { ...act, key: `${TENANT_PREFIX}${tenant}`, why: `${run} belongs to ${ownerName(owner)}` };
      await (record ?? ((each) => recordIn(store, each)))(refused);
    }
    return false;
  };
  return {
    ...store,
    journal: journalOf(store.journal, tenant, isMine),
    leases: leasesOf(store, tenant, isMine),
    mail: mailOf(store.mail, isMine),
    index: indexOf(store.index, tenant, isMine),
  };
}

/** Each refused access is an act in the store, and counts. */
export async function recordIn({ shared }: Pick<Store, 'shared'>, act: Act): Promise<void> {
  await shared.operate(act, (value) => Number(value ?? 0) + 1);
}

function ownerName({ tenant }: RunEntry): string {
  return tenant === null ? 'no tenant' : `tenant ${tenant}`;
}

/** Names are part of keys and of messages. */
function checkTenant(tenant: string): void {
  if (tenant === '' || tenant.length > 200 || /[\p{Cc}\p{Cf}]/u.test(tenant))
    throw new SluiceError(
      'bad-start',
      'the name of a tenant is empty, too long, or has control characters',
      'Use 1 to 200 visible characters.',
    );
}

type IsMine = (run: RunId) => Promise<boolean>;

function journalOf(journal: Journal, tenant: string, isMine: IsMine): Journal {
  return {
    checkpoints: async (run) => ((await isMine(run)) ? ((await journal.checkpoints?.(run)) ?? []) : []),
    broken: async (run) => (await journal.broken?.(run)) ?? null,
    page: async (run, after, limit) => ((await isMine(run)) ? journal.page(run, after, limit) : []),
    load: async (run, options) => ((await isMine(run)) ? journal.load(run, options) : null),
    commit: async (worker, appends) => {
      for (const append of appends) refuseForeign(append, tenant);
      const others = await foreignRuns(appends, isMine);
      if (others.length === 0) return journal.commit(worker, appends);
      throw new SluiceError(
        'wrong-tenant',
        `run \`${others[0]}\` belongs to another tenant`,
        'Use the engine of that tenant.',
      );
    },
  };
}

function refuseForeign({ entry }: Append, tenant: string): void {
  if (entry?.first === undefined || entry.first.tenant === tenant) return;
  throw new SluiceError(
    'wrong-tenant',
    `a run of tenant \`${entry.first.tenant ?? ''}\` cannot start here: this engine works for \`${tenant}\``,
    'Start it without another tenant.',
  );
}

async function foreignRuns(appends: readonly Append[], isMine: IsMine): Promise<readonly RunId[]> {
  const begun = new Set(appends.flatMap(({ entry, run }) => (entry?.first === undefined ? [] : [run])));
  const others = [...new Set(appends.map(({ run }) => run))].filter((run) => !begun.has(run));
  const mine = await Promise.all(others.map(isMine));
  return others.filter((_, index) => mine[index] !== true);
}

function leasesOf({ leases }: Store, tenant: string, isMine: IsMine): Leases {
  return {
    ...leases,
    claim: async (worker, now, which) => {
      if ('run' in which) return (await isMine(which.run)) ? leases.claim(worker, now, which) : [];
      return leases.claim(worker, now, { ...which, tenant });
    },
  };
}

function mailOf(mail: Mail, isMine: IsMine): Mail {
  return {
    ...mail,
    post: async (run, fact) => {
      if (!(await isMine(run)))
        throw new SluiceError('run-not-found', `there is no run \`${run}\``, 'List them with `sluice runs`.');
      return mail.post(run, fact);
    },
  };
}

const NOTHING: Awaited<ReturnType<Index['list']>> = { items: [], next: null };

function indexOf(index: Index, tenant: string, isMine: IsMine): Index {
  const onlyMine = async (runs: readonly RunId[]): Promise<readonly RunId[]> => {
    const found = await Promise.all(runs.map(isMine));
    return runs.filter((_, at) => found[at] === true);
  };
  return {
    ...index,
    find: async (run) => ((await isMine(run)) ? index.find(run) : null),
    list: async (filter = {}) =>
      (filter.tenant ?? tenant) === tenant && filter.tenant !== null ? index.list({ ...filter, tenant }) : NOTHING,
    questions: (filter = {}) => index.questions({ ...filter, tenant }),
    waiting: (filter) => index.waiting({ ...filter, tenant }),
    tenants: async () => ({ items: [tenant], next: null }),
    describe: async (run, details) => (await isMine(run)) && index.describe(run, details),
    expired: async (of, rule) => ('flow' in of && of.tenant === tenant ? index.expired(of, rule) : []),
    remove: async (runs, files) => index.remove(await onlyMine(runs), files),
    removed: async (run) => {
      const tombstone = await index.removed(run);
      return tombstone?.tenant === tenant ? tombstone : null;
    },
  };
}
