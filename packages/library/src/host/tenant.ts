/**
 * A store as one tenant sees it: the runs of other tenants do not exist. They cannot be read, answered, forked, resumed, cancelled
 * or removed, and no run can be started for another tenant. Every surface opens the store through this file.
 */
import type { RunId } from '@sluice-internal/kernel/ir';
import { SluiceError, operate } from '@sluice-internal/engine/ports';
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
      await recordRefused(store, tenant, owner, record);
    }
    return false;
  };
  const isForeign = async (run: RunId): Promise<boolean> =>
    !(await isMine(run)) && (await store.index.find(run)) !== null;
  return {
    ...withoutId(store),
    get id() {
      return store.id;
    },
    tenant,
    journal: journalOf(store.journal, tenant, isMine, isForeign),
    leases: leasesOf(store.leases, tenant, isMine),
    mail: mailOf(store.mail, isMine),
    index: indexOf(store.index, tenant, isMine),
  };
}

/** A store on another machine has no id before it was reached. */
function withoutId(store: Store): Omit<Store, 'id'> {
  const { id: _, ...rest } = Object.getOwnPropertyDescriptors(store);
  return Object.defineProperties({}, rest) as Omit<Store, 'id'>;
}

/** Records that a tenant tried to reach a run of another one. */
export async function recordRefused(
  store: Store,
  tenant: string | null,
  owner: RunEntry,
  record: TenantOptions['record'] = (act) => recordIn(store, act),
): Promise<void> {
  const act = { at: Date.now(), by: tenant === null ? 'no tenant' : `tenant ${tenant}`, what: 'tenant.refused' };
  await record({ ...act, key: `${TENANT_PREFIX}${tenant ?? ''}`, why: `${owner.run} belongs to ${ownerName(owner)}` });
}

/** Each refused access is an act in the store, and counts. */
export async function recordIn({ shared }: Pick<Store, 'shared'>, act: Act): Promise<void> {
  await operate(shared, act, (value) => Number(value ?? 0) + 1);
}

function ownerName({ tenant }: RunEntry): string {
  return tenant === null ? 'no tenant' : `tenant ${tenant}`;
}

/** Names are part of keys and of messages. */
export function checkTenant(tenant: string): void {
  if (tenant === '' || tenant.length > 200 || /[\p{Cc}\p{Cf}]/u.test(tenant))
    throw new SluiceError(
      'bad-start',
      'the name of a tenant is empty, too long, or has control characters',
      'Use 1 to 200 visible characters.',
    );
}

type IsMine = (run: RunId) => Promise<boolean>;

function journalOf(journal: Journal, tenant: string, isMine: IsMine, isForeign: IsMine): Journal {
  return {
    checkpoints: async (run) => ((await isMine(run)) ? ((await journal.checkpoints?.(run)) ?? []) : []),
    // A damage of a foreign run would tell that it exists. An id that no run has is looked at: its rows may have been deleted.
    broken: async (run) =>
      run !== undefined && (await isForeign(run)) ? null : ((await journal.broken?.(run)) ?? null),
    // A page of foreign changes only is empty, and the reader goes on behind it.
    changes: async (after, limit) => {
      const { items, next } = await journal.changes(after, limit);
      return { items: items.filter((change) => change.tenant === tenant), next };
    },
    page: async (run, after, limit) => ((await isMine(run)) ? journal.page(run, after, limit) : []),
    end: async (run) => ((await isMine(run)) ? ((await journal.end?.(run)) ?? null) : null),
    load: async (run, options) => ((await isMine(run)) ? journal.load(run, options) : null),
    commit: async (worker, appends) => {
      const others = await foreignRuns(appends, tenant, isMine);
      if (others.size === 0) return journal.commit(worker, appends);
      // One step stores appends of many runs, so an append that is refused must not fail the others.
      const stored = (
        await journal.commit(
          worker,
          appends.filter(({ run }) => !others.has(run)),
        )
      ).values();
      return appends.map(({ run }) => (others.has(run) ? 'stale' : (stored.next().value ?? 'stale')));
    },
  };
}

async function foreignRuns(appends: readonly Append[], tenant: string, isMine: IsMine): Promise<ReadonlySet<RunId>> {
  const others = new Set<RunId>();
  const begun = new Set<RunId>();
  for (const { run, entry } of appends)
    if (entry?.first?.tenant === tenant) begun.add(run);
    else if (entry?.first !== undefined) others.add(run);
  for (const { run } of appends) if (!begun.has(run) && !others.has(run) && !(await isMine(run))) others.add(run);
  return others;
}

function leasesOf(leases: Leases, tenant: string, isMine: IsMine): Leases {
  return {
    ...leases,
    claim: async (worker, which) => {
      if (!('run' in which)) return leases.claim(worker, { ...which, tenant });
      return (await isMine(which.run)) ? leases.claim(worker, which) : [];
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
