/** Starts runs. A start under an id that exists with the same flow and input gives the existing run. */
import { canonical } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { CompiledFlow, Instant, Origin, RunId } from '@sluice-internal/kernel/ir';
import { SluiceError } from '../ports/errors.ts';
import { demandSealed } from '../journal/verify.ts';
import { UNSPENT } from '../limits/quotas.ts';
import { isTaken, type Host } from './host.ts';
import { newRun, programOf } from './owned-run.ts';
import type { Ownership } from './ownership.ts';
import { plainJson } from '../ports/plain-json.ts';
import { checkRunId, newRunId, randomHex } from '../ports/run-id.ts';
import type { Retention } from './retention.ts';
import type { Store } from '../ports/ports.ts';
import type { StartOptions } from '../ports/types.ts';

export class Starter {
  readonly #host: Host;
  readonly #ownership: Ownership;
  readonly #retention: Retention;
  /** Starts that are not stored yet. */
  readonly #starting = new Map<RunId, Promise<unknown>>();

  constructor(host: Host, ownership: Ownership, retention: Retention) {
    this.#host = host;
    this.#ownership = ownership;
    this.#retention = retention;
  }

  async start(flow: CompiledFlow, options: StartOptions = {}): Promise<RunId> {
    const { run = newRunId() } = options;
    await this.#host.ensureOpen();
    checkRunId(run);
    const origin = ownOrigin(this.#host.store, options.origin);
    if (options.run !== undefined) await this.#refuseForeign(run, origin);
    // The id may be that of a run whose rows were deleted from outside.
    await demandSealed(this.#host.store.journal, run, 'start');
    const { quotas } = this.#host;
    const request = { run, flow, origin, spent: UNSPENT };
    const isReserved = quotas.concern(origin) && (await quotas.start(request));
    try {
      const given = checkedInput(options.input ?? null);
      // Personal data is replaced before the first event is written.
      const input = (await this.#host.performer.protect?.(flow, run, given, origin.pins?.documentDir)) ?? given;
      if (isReserved) await quotas.confirm(request);
      return await this.#startReserved(flow, run, input, { ...options, origin });
    } catch (error) {
      if (isReserved) await quotas.undo(run, origin);
      throw error;
    }
  }

  async #startReserved(flow: CompiledFlow, run: RunId, input: Json, options: StartOptions): Promise<RunId> {
    const { seed = Number.parseInt(randomHex(), 16), origin = {} } = options;
    const { worker, store, lease } = this.#host;
    // The first of several starts under one id counts. Wait until it is stored.
    for (let first = this.#starting.get(run); first !== undefined; first = this.#starting.get(run))
      await first.catch(() => undefined);
    const owned = newRun(run, programOf(flow));
    owned.begun = true;
    if (worker.runs.has(run)) return this.#existing(run, flow, input, origin);
    worker.runs.set(run, owned);
    const deadline = checkedDeadline(options.deadline);
    const pinned = { ...origin, ...deadline, ...this.#scripted(), pins: { ...origin.pins, store: store.id } };
    const stored = this.#host.send(owned, { type: 'start', run, flow: flow.hash, input, seed, origin: pinned });
    this.#starting.set(run, stored);
    try {
      await stored;
    } catch (error) {
      if (worker.runs.get(run) === owned) worker.runs.delete(run);
      if (!isTaken(this.#host, error)) throw error;
      if ((await store.index.find(run)) !== null) return this.#existing(run, flow, input, origin);
      // Without a lease this process can store no run. The id may then be free.
      throw (await lease.renew()) ? await this.#hidden(run, origin) : error;
    } finally {
      this.#starting.delete(run);
    }
    if (flow.people !== undefined && origin.user === undefined)
      this.#host.notice(`run \`${run}\` has no user, so no person is excluded from approving it`);
    if (this.#retention.hasRule(flow)) await this.#retention.apply(flow, origin.tenant ?? null, run);
    return run;
  }

  /** Scripted answers count only in a run that started with a script. */
  #scripted(): { readonly scripted?: true } {
    return this.#host.performer.answer === undefined ? {} : { scripted: true };
  }

  /** The id is taken by a run that this engine cannot see. Another tenant's run must not be told from a removed one. */
  async #hidden(run: RunId, { tenant }: Origin): Promise<SluiceError> {
    const removed = await this.#host.store.index.removed(run);
    if (removed === null || removed.tenant !== (tenant ?? null)) return unusable(run);
    const message = `run \`${run}\` was removed by retention, and its id cannot be used again`;
    return new SluiceError('run-exists', message, 'Choose another run id.');
  }

  /** Before anything else is said about the run, such as a damage. */
  async #refuseForeign(run: RunId, { tenant }: Origin): Promise<void> {
    const entry = await this.#host.store.index.find(run);
    if (entry !== null && entry.tenant !== (tenant ?? null)) throw unusable(run);
  }

  async #existing(run: RunId, flow: CompiledFlow, input: Json, origin: Origin): Promise<RunId> {
    const { state } = await this.#host.read(run);
    if (state.origin.tenant !== origin.tenant) throw unusable(run);
    if (state.flow !== flow.hash || canonical(state.input) !== canonical(input))
      throw new SluiceError('run-exists', `run \`${run}\` exists with another flow or input`, 'Choose another run id.');
    await this.#ownership.resume(run);
    return run;
  }
}

/** The origin of a new run. Throws if the run is for another tenant than its store: such a run would not exist there. */
export function ownOrigin({ tenant: own }: Pick<Store, 'tenant'>, origin: Origin = {}): Origin {
  const { tenant = own } = origin;
  if (own === undefined || tenant === own) return tenant === undefined ? origin : { ...origin, tenant };
  throw new SluiceError(
    'wrong-tenant',
    `a run of tenant \`${tenant}\` cannot start here: this engine works for \`${own}\``,
    'Start it without another tenant.',
  );
}

/** Says nothing about a run of another tenant. */
export function unusable(run: RunId): SluiceError {
  return new SluiceError('run-exists', `the id \`${run}\` cannot be used`, 'Choose another run id.');
}

function checkedDeadline(deadline: Instant | undefined): { readonly deadline?: Instant } {
  if (deadline === undefined) return {};
  if (!Number.isSafeInteger(deadline) || deadline <= 0)
    throw new SluiceError(
      'bad-start',
      '`deadline` is not an instant',
      'Give milliseconds since 1970: Date.now() + 60000.',
    );
  return { deadline };
}

function checkedInput(input: unknown): Json {
  try {
    return plainJson(input);
  } catch (error) {
    const why = (error as Error).message.split('\n')[0];
    throw new SluiceError('bad-start', `the input is not JSON: ${why}`, 'Give plain data.');
  }
}
