/**
 * Enforces the quotas of tenants through the store, so that all processes of a database share them. A run reserves before it
 * starts. Its reservation is returned when it ends, when its process has died, and when its start failed.
 */
import { canonical } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { measuredAmount } from '@sluice-internal/kernel/ir';
import type { CompiledFlow, Instant, Origin, RunId, RunState } from '@sluice-internal/kernel/ir';
import { SluiceError } from '../ports/errors.ts';
import { readRun } from '../journal/open-run.ts';
import { operate, valueAt } from '../ports/cells.ts';
import type { Cells, Store, WorkerId } from '../ports/ports.ts';
import { checkedQuota, useAt } from '../ports/quota.ts';
import type { Amount, Excess, Quota, QuotaUse, Request, Reserved, WorstCase } from '../ports/quota.ts';
import { operationsOn } from './operations.ts';
import type { Operate } from './operations.ts';

export const QUOTA_PREFIX = 'quota.rules:';
export const USE_PREFIX = 'quota.use:';
/** The name that stands for every tenant without its own quota. */
export const EVERY_TENANT = '*';

/** A start that was not stored within this time has failed: its process died. */
const UNSTORED_MS = 10_000;

export const UNSPENT: Amount = { tokens: 0, costMicros: 0 };

interface QuotasOptions {
  readonly store: Store;
  readonly worker: () => WorkerId;
  readonly now: () => Instant;
  /** The most that a run of a flow can spend. */
  readonly worstCase: (flow: CompiledFlow) => WorstCase;
  /** Quotas to store when the engine opens, by tenant. */
  readonly given?: { readonly [tenant: string]: Quota } | undefined;
}

interface Run {
  readonly run: RunId;
  readonly flow: CompiledFlow;
  readonly origin: Origin;
  readonly spent: Amount;
}

export class Quotas {
  readonly #options: QuotasOptions;
  readonly #operate: Operate;
  readonly #pending = new Set<Promise<void>>();
  readonly #reported = new Set<RunId>();
  #stored: Promise<void> | null = null;

  constructor(options: QuotasOptions) {
    this.#options = options;
    this.#operate = operationsOn(options.store.shared);
    for (const [tenant, quota] of Object.entries(options.given ?? {})) checkedQuota(tenant, quota);
  }

  /** False if no quota can apply to the run. */
  concern({ tenant }: Origin): boolean {
    return tenant !== undefined || this.#options.given !== undefined;
  }

  /** Reserves for a run that starts now. True if this call made a reservation; throws if it does not fit. */
  async start(run: Run): Promise<boolean> {
    const quota = await this.#quotaOf(run.origin.tenant);
    if (quota === null || (await this.#options.store.index.find(run.run)) !== null) return false;
    return this.#reserve(run, quota, 'start');
  }

  /**
   * Called right before the first event of a run is stored. The reservation of a process that was paused may have been
   * returned: then the run reserves again. Throws if it does not fit now.
   */
  async confirm(run: Run): Promise<void> {
    const quota = await this.#quotaOf(run.origin.tenant);
    if (quota !== null) await this.#reserve(run, quota, 'start');
  }

  /** Reserves again for a run whose process died or stopped. Throws if it does not fit now. */
  async resume(run: Run): Promise<void> {
    const quota = await this.#quotaOf(run.origin.tenant);
    if (quota === null) return;
    await this.#reserve(run, quota, 'continue');
    this.#reported.delete(run.run);
  }

  /** Moves the reservation of a run to the run that continues it. Throws if that run needs more than is left. */
  async move(from: RunId, run: Run): Promise<void> {
    const { tenant } = run.origin;
    const quota = await this.#quotaOf(tenant);
    if (quota === null || tenant === undefined) return;
    const request = this.#requestOf(run, false);
    const instead = { run: from, spent: run.spent };
    const { excess } = await this.#take(tenant, quota, request, instead);
    if (excess.length > 0) throw await this.#refuse(run, quota, excess, 'continue');
  }

  /** The start failed: the reservation and the count of the run are undone. */
  async undo(run: RunId, { tenant }: Origin): Promise<void> {
    if (tenant !== undefined) await this.#release(tenant, run, null);
  }

  /** Returns the reservation of a run that has ended. `settled` waits for it. */
  ended(state: RunState): void {
    const { run, origin } = state;
    const { tenant } = origin;
    if (tenant === undefined) return;
    const amount = spentIn(state);
    // If the release cannot be stored, the next start returns the reservation.
    const work = this.#release(tenant, run, amount)
      .catch(() => undefined)
      .finally(() => this.#pending.delete(work));
    this.#pending.add(work);
  }

  /** Resolves when all reservations of runs that ended are returned. */
  async returned(): Promise<void> {
    await Promise.all(this.#pending);
  }

  async #quotaOf(tenant: string | undefined): Promise<Quota | null> {
    const { store, given, now } = this.#options;
    if (given !== undefined) await (this.#stored ??= storeQuotas(store.shared, given, now()));
    return tenant === undefined ? null : quotaFor(store.shared, tenant);
  }

  #requestOf({ run, flow, spent }: Run, starts: boolean): Request {
    return { run, starts, worst: this.#options.worstCase(flow), spent };
  }

  /** True if the reservation is new. If it does not fit, reservations of ended runs are returned first, and it is tried again. */
  async #reserve(run: Run, quota: Quota, what: 'start' | 'continue'): Promise<boolean> {
    const { tenant = '' } = run.origin;
    const request = this.#requestOf(run, what === 'start');
    let reserved = await this.#take(tenant, quota, request);
    if (reserved.excess.length > 0 && (await this.#returnUnused(tenant)))
      reserved = await this.#take(tenant, quota, request);
    if (reserved.excess.length > 0) throw await this.#refuse(run, quota, reserved.excess, what);
    return reserved.isNew;
  }

  #take(
    tenant: string,
    quota: Quota,
    request: Request,
    instead?: { readonly run: RunId; readonly spent: Amount },
  ): Promise<Reserved> {
    const at = this.#options.now();
    const given = { quota, request, at, ...(instead === undefined ? {} : { instead }) };
    return this.#operate(`${USE_PREFIX}${tenant}`, 'quota.take', given);
  }

  /** Returns reservations of runs that ended, were never stored, or have no live process. True if there were any. */
  async #returnUnused(tenant: string): Promise<boolean> {
    const { store } = this.#options;
    const use = storedUse(await valueAt(store.shared, `${USE_PREFIX}${tenant}`));
    let found = false;
    for (const [run, { at }] of Object.entries(use?.reservations ?? {}))
      found = (await this.#check(tenant, run, at)) || found;
    return found;
  }

  async #check(tenant: string, run: RunId, since: Instant): Promise<boolean> {
    const { store, worker, now } = this.#options;
    const entry = await store.index.find(run);
    if (entry === null) {
      if (now() - since < UNSTORED_MS) return false;
      await this.#release(tenant, run, null);
      return true;
    }
    if (entry.status === 'suspended' || entry.owner === worker()) return false;
    const isOpen = entry.status === 'running' || entry.status === 'pending';
    // A claim succeeds only if no live process owns the run.
    if (isOpen && !(await store.leases.claim(worker(), { run })).includes(run)) return false;
    const { state } = await readRun(store.journal, run);
    await this.#release(tenant, run, spentIn(state));
    if (isOpen) await store.leases.release(worker(), [run]);
    return true;
  }

  async #release(tenant: string, run: RunId, spent: Amount | null): Promise<void> {
    const { shared } = this.#options.store;
    const key = `${USE_PREFIX}${tenant}`;
    const known = storedUse(await valueAt(shared, key));
    if (known === null || !Object.hasOwn(known.reservations, run)) return;
    const { per } = (await quotaFor(shared, tenant)) ?? {};
    await this.#operate(key, 'quota.give', { run, spent, per, at: this.#options.now() });
  }

  /** Records the refusal. A run that tries to continue again and again is recorded once. */
  async #refuse(
    { run, flow, origin }: Run,
    quota: Quota,
    excess: readonly Excess[],
    what: 'start' | 'continue',
  ): Promise<SluiceError> {
    const tenant = origin.tenant ?? '';
    const error = refusal(tenant, quota, excess, what === 'start' ? `a run of \`${flow.id}\`` : `run \`${run}\``, what);
    if (what === 'continue' && this.#reported.has(run)) return error;
    this.#reported.add(run);
    const now = this.#options.now();
    const key = `${USE_PREFIX}${tenant}`;
    const act = { at: now, by: origin.user ?? '', what: 'quota.refused', key, why: `${run}: ${error.message}` };
    await operate(this.#options.store.shared, act, (value) => {
      const use = useAt(storedUse(value), quota.per, now);
      return { ...use, refused: use.refused + 1 } as unknown as Json;
    });
    return error;
  }
}

/** The quota of a tenant: its own, or the one of every tenant. */
async function quotaFor(shared: Cells, tenant: string): Promise<Quota | null> {
  const own = await valueAt(shared, `${QUOTA_PREFIX}${tenant}`);
  return (own ?? (await valueAt(shared, `${QUOTA_PREFIX}${EVERY_TENANT}`))) as Quota | null;
}

export function storedUse(value: Json): QuotaUse | null {
  return value as unknown as QuotaUse | null;
}

/** Stores quotas that differ from the stored ones, each as an act. */
async function storeQuotas(shared: Cells, given: { readonly [tenant: string]: Quota }, at: Instant): Promise<void> {
  for (const [tenant, quota] of Object.entries(given)) {
    const checked = checkedQuota(tenant, quota);
    const before = await valueAt(shared, `${QUOTA_PREFIX}${tenant}`);
    if (isSame(before as Quota | null, checked)) continue;
    await setQuota(shared, tenant, checked, { at, by: 'createEngine', why: '' });
  }
}

/** Null removes the quota. */
export async function setQuota(
  shared: Cells,
  tenant: string,
  quota: Quota | null,
  act: { readonly at: Instant; readonly by: string; readonly why: string },
): Promise<void> {
  const what = quota === null ? 'quota.removed' : 'quota.set';
  await operate(shared, { ...act, what, key: `${QUOTA_PREFIX}${tenant}` }, () => quota as unknown as Json);
}

function isSame(before: Quota | null, after: Quota): boolean {
  return before !== null && canonical(before) === canonical(after);
}

export function spentIn({ usage }: RunState): Amount {
  return { tokens: measuredAmount(usage, 'tokens'), costMicros: usage.costMicros ?? 0 };
}

function refusal(
  tenant: string,
  { per = 'day' }: Quota,
  excess: readonly Excess[],
  subject: string,
  what: 'start' | 'continue',
): SluiceError {
  const list = excess.map(({ limit, most, taken, asked }) => {
    const [unit, span] =
      limit === 'concurrent' ? ['runs', 'at once'] : [limit === 'usd' ? 'dollars' : limit, `per ${per}`];
    const asks = asked === null ? `nothing limits the ${unit} of the run` : `the run needs ${rounded(asked)}`;
    return `${rounded(taken)} of ${rounded(most)} ${unit} ${span} are taken, and ${asks}`;
  });
  const unbounded = excess.find(({ asked }) => asked === null);
  const atOnce = excess.every(({ limit }) => limit === 'concurrent');
  const help =
    unbounded === undefined
      ? atOnce
        ? 'Try again when a run has ended. `sluice quotas` lists those that count.'
        : `See \`sluice quotas\`. The counts start over with the next ${per} (UTC).`
      : `Declare \`budgets: { ${unbounded.limit === 'usd' ? 'cost_usd' : 'tokens'}: … }\` in the document: a run reserves the most that it can spend.`;
  return new SluiceError(
    'quota-exceeded',
    `${subject} cannot ${what} for tenant \`${tenant}\`: ${list.join('; ')}`,
    help,
  );
}

function rounded(amount: number): number {
  return Math.round(amount * 1_000_000) / 1_000_000;
}
