/** Starts runs. A start under an id that exists, with the same input, user and deadline, gives the existing run. */
import { canonical, present } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { CompiledFlow, Instant, Origin, RunId } from '@sluice-internal/kernel/ir';
import { SluiceError } from '../ports/errors.ts';
import { demandRecorded } from '../journal/verify.ts';
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
    await demandRecorded(this.#host.store.journal, run, 'start');
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
    const name = worker.id;
    // The first of several starts under one id counts. Wait until it is stored.
    for (let first = this.#starting.get(run); first !== undefined; first = this.#starting.get(run))
      await first.catch(() => undefined);
    const owned = newRun(run, programOf(flow));
    owned.begun = true;
    const equal = { flow, input, ...present({ tenant: origin.tenant, user: origin.user, deadline: options.deadline }) };
    if (worker.runs.has(run)) return this.#existing(run, equal);
    worker.runs.set(run, owned);
    const limits = { ...checkedDeadline(options.deadline), ...checkedThread(options.thread) };
    const pinned = { ...origin, ...limits, ...this.#scripted(), pins: { ...origin.pins, store: store.id } };
    const stored = this.#host.send(owned, { type: 'start', run, flow: flow.hash, input, seed, origin: pinned });
    this.#starting.set(run, stored);
    let isLeft = false;
    try {
      await stored;
    } catch (error) {
      if (worker.runs.get(run) === owned) worker.runs.delete(run);
      if (!isTaken(this.#host, error)) throw error;
      if ((await store.index.find(run)) !== null) return this.#existing(run, equal);
      // Without a lease this process can store no run. The id may then be free.
      if (!(await lease.renew())) throw error;
      if (worker.id === name) throw await this.#refusal(run, pinned);
      isLeft = true;
    } finally {
      this.#starting.delete(run);
    }
    if (isLeft) return this.#startReserved(flow, run, input, options);
    await this.#settleIn(flow, run, origin);
    return run;
  }

  async #settleIn(flow: CompiledFlow, run: RunId, origin: Origin): Promise<void> {
    if (flow.people !== undefined && origin.user === undefined)
      this.#host.notice(`run \`${run}\` has no user, so no person is excluded from approving it`);
    if (this.#retention.hasRule(flow)) await this.#retention.apply(flow, origin.tenant ?? null, run);
  }

  /** Scripted answers count only in a run that started with a script. */
  #scripted(): { readonly scripted?: true } {
    return this.#host.performer.answer === undefined ? {} : { scripted: true };
  }

  /** Before anything else is said about the run, such as a damage. */
  async #refuseForeign(run: RunId, { tenant }: Origin): Promise<void> {
    const entry = await this.#host.store.index.find(run);
    if (entry !== null && entry.tenant !== (tenant ?? null)) throw unusable(run);
  }

  /** The reason why the store did not take the start. */
  async #refusal(run: RunId, { thread, tenant }: Origin): Promise<SluiceError> {
    const { index } = this.#host.store;
    if (thread !== undefined) {
      const filter = { ...present({ thread, tenant }), status: ['pending', 'running', 'suspended'] as const };
      const open = (await index.list(filter)).items.find((entry) => entry.tenant === (tenant ?? null));
      if (open !== undefined) return threadBusy(thread, open.run);
    }
    return takenId(this.#host, run, tenant);
  }

  /** A newer version of the flow makes no difference. */
  async #existing(run: RunId, { flow, input, tenant, user, deadline }: EqualStart): Promise<RunId> {
    const { state, program } = await this.#host.read(run);
    if (state.origin.tenant !== tenant) throw unusable(run);
    const same = {
      flow: program.flow.id === flow.id,
      input: canonical(state.input) === canonical(input),
      user: state.origin.user === user,
      deadline: state.origin.deadline === deadline,
    };
    const differing = Object.entries(same).filter(([, isSame]) => !isSame);
    if (differing.length > 0) {
      const what = differing.map(([field]) => `\`${field}\``).join(' and ');
      throw new SluiceError(
        'run-exists',
        `run \`${run}\` exists with other values of ${what}`,
        'Choose another run id.',
      );
    }
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

interface EqualStart {
  readonly flow: CompiledFlow;
  readonly input: Json;
  readonly tenant?: string;
  readonly user?: string;
  readonly deadline?: Instant;
}

/** The id was used before: its run was removed, or exists. Of a run of another tenant neither is said. */
export async function takenId({ store }: Host, run: RunId, tenant: string | undefined): Promise<SluiceError> {
  const [tombstone, entry] = [await store.index.removed(run), await store.index.find(run)];
  if ((tombstone ?? entry)?.tenant !== (tenant ?? null)) return unusable(run);
  if (tombstone === null) return new SluiceError('run-exists', `run \`${run}\` exists`, 'Choose another run id.');
  const message = `run \`${run}\` was removed by retention on ${new Date(tombstone.at).toISOString()}: its id cannot be used again`;
  return new SluiceError('run-removed', message, 'Choose another run id.');
}

function threadBusy(thread: string, run: RunId): SluiceError {
  return new SluiceError(
    'thread-busy',
    `the thread \`${thread}\` has an open run, \`${run}\``,
    'Wait until it has ended, answer it or cancel it.',
  );
}

function checkedThread(thread: string | undefined): { readonly thread?: string } {
  if (thread === undefined) return {};
  if (typeof thread === 'string' && thread !== '' && thread.length <= 200 && !/[\p{Cc}\p{Cf}]/u.test(thread))
    return { thread };
  throw new SluiceError(
    'bad-start',
    '`thread` is empty, too long, or has control characters',
    'Use 1 to 200 visible characters.',
  );
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
