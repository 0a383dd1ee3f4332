/**
 * An engine as one caller sees it. A surface, such as a server, decides once who calls, and reaches runs only through this view:
 * the runs of other tenants do not exist there, and each operation needs its access.
 */
import { samePerson } from '@sluice-internal/kernel/ir';
import type { Origin, RunId } from '@sluice-internal/kernel/ir';
import { SluiceError, allOf, refuseEmpty } from '@sluice-internal/engine/ports';
import type {
  GivenAnswer,
  ListedRun,
  OpenedRun,
  Page,
  PageRequest,
  RunChange,
  RunEntry,
  RunFilter,
  Store,
  Waiting,
} from '@sluice-internal/engine/ports';
import { runIn, unknownApproval, unknownRun } from '@sluice-internal/engine/worker';
import type { Access, Caller, CallerProof, Engine, EngineStartOptions, EngineView } from './engine.ts';
import type { ServerKeys } from './host/server-keys.ts';
import { checkTenant, recordRefused } from './host/tenant.ts';
import { createRun, type Run, type RunSource } from './run.ts';

const ACCESS: readonly Access[] = ['viewer', 'operator', 'approver', 'admin'];

export interface Viewed {
  readonly engine: Engine;
  readonly store: Store;
  readonly stories: RunSource['stories'];
  readonly notice?: RunSource['notice'];
  readonly servers: Pick<ServerKeys, 'own'>;
  read(run: RunId): Promise<OpenedRun>;
}

export function viewAs({ engine, store, stories, notice, servers, read }: Viewed, given: Caller): EngineView {
  const caller = new Identified(given, store, servers);
  const handle = (id: RunId, opened?: OpenedRun): Run => createRun({ engine: view, stories, opened, notice }, id);
  const open = async (run: RunId): Promise<Run> => handle(run, await read(run));
  const view: EngineView = { ...reading(engine, caller, open, read), ...acting(engine, caller, handle, read) };
  return view;
}

type Handle = (id: RunId, opened?: OpenedRun) => Run;
type Reading =
  | 'find'
  | 'list'
  | 'get'
  | 'read'
  | 'state'
  | 'open'
  | 'wait'
  | 'settled'
  | 'events'
  | 'feed'
  | 'approvals';

function reading(
  engine: Engine,
  caller: Identified,
  open: (run: RunId) => Promise<Run>,
  read: Viewed['read'],
): Pick<EngineView, Reading> {
  return {
    find: (run) => caller.find(run),
    list: ((filter: RunFilter & PageRequest = {}) => caller.list(filter)) as EngineView['list'],
    get: (run) => caller.viewing(run).then(() => engine.get(run)),
    read: (run) => caller.viewing(run).then(() => read(run)),
    state: (run, options) => caller.viewing(run).then(() => engine.state(run, options)),
    open: async (run: RunId, options?: object) => {
      await caller.viewing(run);
      await engine.open(run, options ?? {});
      return open(run);
    },
    wait: (run) => caller.viewing(run).then(() => engine.wait(run)),
    settled: (run) => caller.viewing(run).then(() => engine.settled(run)),
    events: ((run: RunId, options: object = {}) =>
      afterwards(caller.viewing(run), () => engine.events(run, options))) as Engine['events'],
    feed: (options) => caller.feedOf(engine.feed(options)),
    approvals: (async (which?: RunId | PageRequest) => {
      if (typeof which === 'string') return caller.viewing(which).then(() => engine.approvals(which));
      return caller.approvals(which, (run) => engine.approvals(run));
    }) as EngineView['approvals'],
  };
}

function acting(engine: Engine, caller: Identified, handle: Handle, read: Viewed['read']): Omit<EngineView, Reading> {
  const start = async (flow: Parameters<Engine['start']>[0], options: EngineStartOptions = {}): Promise<RunId> => {
    caller.demand('operator');
    refuseEmpty('engine.start', options);
    return engine.start(flow, { ...options, origin: caller.originOf(options.origin) });
  };
  return {
    start,
    run: async (flow: Parameters<Engine['start']>[0], input?: unknown, options: Record<string, unknown> = {}) => {
      refuseEmpty('engine.run', options);
      const { id, ...others } = options;
      const given = { ...others, ...(id === undefined ? {} : { run: id }), input };
      return handle(await start(flow, given as EngineStartOptions));
    },
    answer: async (approval, { by, ...given }) => {
      caller.demand('approver');
      const run = runIn(approval);
      if (run === null || (await caller.find(run)) === null) throw unknownApproval(approval);
      // A caller in JavaScript can pass what only this view may say.
      const { login: _login, remote: _remote, ...answer } = given as Partial<GivenAnswer> & typeof given;
      const who = caller.isPerson ? caller.answering(by) : await caller.answeringAsProgram(by, () => read(run));
      return engine.answer(approval, { ...answer, ...who });
    },
    signal: async (run, name, options = {}) => {
      await caller.operating(run);
      const by = caller.named(options.by);
      return engine.signal(run, name, { ...options, ...(by === undefined ? {} : { by }) });
    },
    guide: async (run, remark) => {
      await caller.operating(run);
      return engine.guide(run, { ...remark, by: caller.named(remark.by) ?? 'operator' });
    },
    cancel: async (run, by, why) => {
      await caller.operating(run);
      return engine.cancel(run, caller.named(by) ?? 'operator', why);
    },
    resume: async (run, grant) => {
      await caller.operating(run);
      await engine.resume(
        run,
        grant === undefined ? undefined : { ...grant, by: caller.named(grant.by) ?? 'operator' },
      );
      return handle(run);
    },
    retry: async (run, { by: given, ...options } = {}) => {
      await caller.operating(run);
      if (options.modules !== undefined) caller.demand('admin');
      const by = caller.named(given);
      return handle((await engine.retry(run, { ...options, ...(by === undefined ? {} : { by }) })).id);
    },
    fork: async (run, { by: given, ...edits }) => {
      await caller.operating(run);
      if (Object.keys(edits.answers ?? {}).length > 0) caller.demand('approver');
      // Accepted code is a matter of the operator of the machine.
      if (edits.modules !== undefined) caller.demand('admin');
      const by = caller.named(given);
      return handle((await engine.fork(run, { ...edits, ...(by === undefined ? {} : { by }) })).id);
    },
  };
}

/** A caller after every check. */
class Identified {
  readonly #store: Store;
  readonly #tenant: string | null;
  readonly #person: string | null;
  readonly #proof: CallerProof | null;
  readonly #servers: Viewed['servers'];
  readonly #access: ReadonlySet<Access>;
  readonly #recorded = new Set<RunId>();

  constructor(given: Caller, store: Store, servers: Viewed['servers']) {
    refuseOthers(given);
    const { tenant = null, person = null, proof = null, access } = given;
    if (tenant !== null) checkTenant(tenant);
    if (store.tenant !== undefined && tenant !== null && tenant !== store.tenant)
      throw new SluiceError(
        'wrong-tenant',
        `this engine works for \`${store.tenant}\``,
        'Use an engine that works for all tenants.',
      );
    this.#store = store;
    this.#tenant = tenant ?? store.tenant ?? null;
    this.#person = person;
    this.#proof = proof;
    this.#servers = servers;
    this.#access = new Set(access.includes('admin') ? ACCESS : access);
  }

  readonly owns = ({ tenant }: RunEntry): boolean => tenant === this.#tenant;

  /** As `engine.list`: all runs, or one page of them. Only those of the caller's tenant. */
  async list(filter: RunFilter & PageRequest): Promise<readonly ListedRun[] | Page<ListedRun>> {
    const { index } = this.#store;
    const own = { ...filter, tenant: this.#tenant };
    if (filter.cursor !== undefined || filter.limit !== undefined) return index.list(own);
    return allOf((page) => index.list({ ...own, ...page }));
  }

  /** As `engine.approvals`. A question that was answered since it was listed is left out. */
  async approvals(
    page: PageRequest | undefined,
    read: (run: RunId) => Promise<readonly Waiting[]>,
  ): Promise<readonly Waiting[] | Page<Waiting>> {
    const { index } = this.#store;
    const own = { tenant: this.#tenant };
    const { items, next } =
      page === undefined
        ? { items: await allOf((each) => index.questions({ ...own, ...each })), next: null }
        : await index.questions({ ...own, ...page });
    const found = new Map<RunId, readonly Waiting[]>();
    for (const { run } of items) if (!found.has(run)) found.set(run, await read(run).catch(() => []));
    const waiting = items.flatMap(({ run, id }) => (found.get(run) ?? []).filter((each) => each.id === id));
    return page === undefined ? waiting : { items: waiting, next };
  }

  async *feedOf(all: AsyncIterable<RunChange>): AsyncGenerator<RunChange> {
    for await (const change of all) if (change.tenant === this.#tenant) yield change;
  }

  demand(access: Access): void {
    if (this.#access.has(access)) return;
    throw new SluiceError(
      'access-denied',
      `this needs the access \`${access}\`, and the caller has ${[...this.#access].map((each) => `\`${each}\``).join(', ')}`,
      'Let a caller with this access do it.',
    );
  }

  /** A run of another tenant is as unknown as one that does not exist. The attempt is recorded once for each run. */
  async find(run: RunId): Promise<RunEntry | null> {
    const entry = await this.#store.index.find(run);
    if (entry === null || this.owns(entry)) return entry;
    // The refusal is not waited for: an unknown run would be answered sooner than one of another tenant.
    if (!this.#recorded.has(run)) recordRefused(this.#store, this.#tenant, entry).catch(() => undefined);
    this.#recorded.add(run);
    return null;
  }

  async viewing(run: RunId): Promise<void> {
    if ((await this.find(run)) === null) throw unknownRun(run);
  }

  operating(run: RunId): Promise<void> {
    this.demand('operator');
    return this.viewing(run);
  }

  /** The name to record. A person acts under no other name. */
  named(by: string | undefined): string | undefined {
    if (this.#person === null || by === undefined || samePerson(by, this.#person)) return this.#person ?? by;
    throw new SluiceError(
      'identity-unproven',
      `the caller is \`${this.#person}\` and cannot act as \`${by}\``,
      'Leave `by` out.',
    );
  }

  get isPerson(): boolean {
    return this.#person !== null;
  }

  answering(by: string | undefined): Pick<GivenAnswer, 'by' | 'remote' | 'login'> {
    const name = this.named(by) ?? '';
    const proof = this.#proof;
    if (proof?.via === 'os_user') return { by: name };
    const { issuer, subject, token } = proof ?? {};
    if (proof === null || issuer === undefined || subject === undefined || token === undefined)
      return { by: name, remote: true };
    const login = { via: proof.via, issuer, subject, token, tenant: this.#tenant, server: this.#servers.own };
    return { by: name, remote: true, login };
  }

  /** Where no people are declared, everybody who can reach the store may answer, so a program with access may too. */
  async answeringAsProgram(
    by: string | undefined,
    read: () => Promise<OpenedRun>,
  ): Promise<Pick<GivenAnswer, 'by' | 'remote'>> {
    const { subject } = this.#proof ?? {};
    const name = subject?.replace(/^token:/, '') ?? by;
    const { program } = await read();
    if (name === undefined || program.flow.people !== undefined)
      throw new SluiceError('identity-unproven', 'the caller is no person', 'Let a person answer.');
    return { by: name, remote: true };
  }

  /** A run of the caller's tenant. The run of a person is for that person. */
  originOf(given: Origin = {}): Origin {
    refuseEmpty('origin', given);
    const { tenant = this.#tenant, user = this.#person, by, ...rest } = given;
    // Pins name folders and code of the machine, and a scripted run is a rehearsal: the engine decides both.
    const [other] = Object.keys(rest);
    if (other !== undefined)
      throw new SluiceError('bad-start', `\`origin.${other}\` is not for a caller to set`, 'Leave it out.');
    const named = this.named(by);
    if (tenant !== this.#tenant)
      throw new SluiceError(
        'wrong-tenant',
        'the caller belongs to another tenant than this run',
        'Leave `tenant` out.',
      );
    if (this.#person !== null && user !== null && !samePerson(user, this.#person))
      throw new SluiceError(
        'user-not-allowed',
        `a run that \`${this.#person}\` starts is for \`${this.#person}\`, and not for \`${user}\``,
        'Leave `user` out.',
      );
    const whose = this.#person ?? user;
    return {
      ...(named === undefined ? {} : { by: named }),
      ...(tenant === null ? {} : { tenant }),
      ...(whose === null ? {} : { user: whose }),
    };
  }
}

const FIELDS = ['tenant', 'person', 'proof', 'access'];
const PROOFS = ['os_user', 'token', 'oidc'];
const LOGIN_FIELDS = ['issuer', 'subject', 'token'];

/** A surface in JavaScript can pass anything. */
function refuseOthers(given: Caller): void {
  const refuse = (why: string): never => {
    throw new SluiceError(
      'bad-start',
      `the caller of \`engine.as\` ${why}`,
      'Give `tenant`, `person`, `proof` and `access`.',
    );
  };
  if (typeof given !== 'object' || given === null) refuse('is not there');
  const { tenant, ...others } = given;
  refuseEmpty('engine.as', tenant === null ? others : given);
  const unknown = Object.keys(given).find((key) => !FIELDS.includes(key));
  if (unknown !== undefined) refuse(`has no field \`${unknown}\``);
  const { person, proof, access } = given;
  if (!Array.isArray(access)) refuse('has no list of `access`');
  const wrong = access.find((each) => !ACCESS.includes(each));
  if (wrong !== undefined) refuse(`has the access \`${String(wrong)}\`; there are ${ACCESS.join(', ')}`);
  if (person !== undefined && person !== null && (typeof person !== 'string' || person.trim() === ''))
    refuse('has a `person` without a name');
  if (proof !== undefined && proof !== null && !PROOFS.includes(proof.via)) refuse('has a `proof` of an unknown kind');
  refuseHalf(proof ?? null, refuse);
}

/** A login has all of its fields or none. */
function refuseHalf(proof: CallerProof | null, refuse: (why: string) => void): void {
  if (proof === null) return;
  const fields: { readonly [field: string]: unknown } = { ...proof };
  const given = LOGIN_FIELDS.filter((field) => fields[field] !== undefined);
  if (given.length === 0) return;
  if (proof.via === 'os_user') refuse(`has a \`proof\` by \`os_user\` with \`${given[0]}\``);
  const wrong = LOGIN_FIELDS.find((field) => typeof fields[field] !== 'string' || fields[field] === '');
  if (wrong !== undefined) refuse(`has a \`proof\` without \`${wrong}\``);
}

/** Reads events when the check has passed. Ends at once when the reader stops, also before that. */
function afterwards<Value>(check: Promise<void>, open: () => AsyncIterable<Value>): AsyncIterableIterator<Value> {
  check.catch(() => undefined);
  let source: AsyncIterator<Value> | null = null;
  let stopped = false;
  const iterator: AsyncIterableIterator<Value> = {
    next: async () => {
      await check;
      if (stopped) return { done: true, value: undefined };
      source ??= open()[Symbol.asyncIterator]();
      return source.next();
    },
    return: async () => {
      stopped = true;
      await source?.return?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}
