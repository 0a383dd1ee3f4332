/** `sluice memory`: lists the memory of agents, releases entries from quarantine, deletes them, and lists these acts. */
import { didYouMean } from '@sluice-internal/compile/source';
import { present } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { MemoryViolation, SluiceError, operate, textOf } from '@sluice-internal/engine/ports';
import type { MemoryEntry, MemoryOperator, MemoryScope, MemoryStore } from '@sluice-internal/engine/ports';
import { MEMORY_ACTS, MEMORY_RELEASED } from '@sluice-internal/engine/journal';
import { framed, iso, oneLine, readWhole, table } from '@sluice-internal/library/documents';
import type { Cli } from '@sluice-internal/library/documents';
import { closing, dataOf, fileAt } from '@sluice-internal/library/host';
import { currentUser } from '../session/ask-person.ts';
import type { OperatorOptions, Options } from '../table/command-table.ts';
import { demandDatabase, openFor, withStore } from '../session/store.ts';

export async function memoryListCommand(cli: Cli, options: Options<'memory list'>): Promise<void> {
  const { agent, user, share, state, search } = options;
  const limit = readWhole('--limit', options.limit, 1);
  const now = Date.now();
  const found = await withMemory(cli, {}, (memory, caller) =>
    memory.find(caller, { ...(search === undefined ? {} : { text: search, only: true }), now }),
  );
  const entries = found
    .filter(({ owner }) => agent === undefined || owner.agent === agent)
    .filter(({ owner }) => user === undefined || owner.user === user)
    .filter(({ owner }) => share === undefined || owner.share === share)
    .filter((entry) => state === undefined || stateOf(entry, now) === state)
    .slice(0, limit);
  if (cli.json) cli.printJson(entries.map((entry) => jsonOf(entry, now)));
  else {
    const rows = entries.map((entry) => rowOf(entry, now));
    cli.printTable(HEAD, rows, found.length === 0 ? 'nothing is remembered yet' : 'no entry fits');
  }
}

export async function memoryShowCommand(cli: Cli, given: string): Promise<void> {
  const now = Date.now();
  const entry = await withMemory(cli, {}, (memory, caller) => entryNamed(memory, caller, given, now));
  cli.show(jsonOf(entry, now), () => blockOf(entry, now));
}

export async function memoryReleaseCommand(cli: Cli, given: string, options: OperatorOptions): Promise<void> {
  const now = Date.now();
  const entry = await withMemory(cli, options, async (memory, caller) => {
    const known = await entryNamed(memory, caller, given, now);
    const { id, owner } = known;
    if (known.state === 'active') return known;
    await record(cli, { what: MEMORY_RELEASED, id, owner, by: caller.operator, why: options.why });
    return (await memory.release(caller, id, now)) as MemoryEntry;
  });
  if (cli.json) cli.printJson(jsonOf(entry, now));
  else cli.hint(`${entry.id} is active: later runs of its owner get it, as data and with its trust (${entry.trust})`);
}

export async function memoryForgetCommand(cli: Cli, given: string, options: OperatorOptions): Promise<void> {
  const now = Date.now();
  const forgotten = await withMemory(cli, options, async (memory, caller) => {
    const { id, owner } = await entryNamed(memory, caller, given, now);
    await record(cli, { what: 'memory.forgotten', id, owner, by: caller.operator, why: options.why });
    await memory.forget(caller, id);
    return id;
  });
  if (cli.json) cli.printJson({ forgotten });
  else cli.hint(`${forgotten} is deleted`);
}

/** Releases, deletions and violations, in order. A tenant sees those of its own entries. */
export async function memoryLogCommand(cli: Cli): Promise<void> {
  const acts = await withStore(cli, async (store) => {
    const tenants = new Map((await store.shared.list(MEMORY_ACTS)).map(({ key, value }) => [key, tenantIn(value)]));
    const all = (await store.shared.acts()).filter(({ key }) => key.startsWith(MEMORY_ACTS));
    return cli.tenant === undefined ? all : all.filter(({ key }) => tenants.get(key) === cli.tenant);
  });
  const rows = acts.map(({ at, by, what, key, why }) => {
    const entry = key.slice(MEMORY_ACTS.length);
    return { at: iso(at), what, entry, by, why };
  });
  if (cli.json) cli.printJson(rows);
  else {
    const cells = rows.map((row) => Object.values(row).map((each) => oneLine(each, 60)));
    cli.printTable(['AT', 'WHAT', 'ENTRY', 'BY', 'WHY'], cells, 'no entry was released or deleted by hand');
  }
}

function tenantIn(value: Json): Json {
  return (value as { readonly tenant?: Json } | null)?.tenant ?? null;
}

/** Opens the memory beside the database. A violation is recorded with the acts of operators. */
async function withMemory<Result>(
  cli: Cli,
  { as: by = currentUser() }: OperatorOptions,
  work: (memory: MemoryStore, caller: MemoryOperator) => Promise<Result>,
): Promise<Result> {
  demandDatabase(cli, 'memory-not-found', 'there is no memory');
  try {
    return await closing(openFor(cli), (store) =>
      closing(dataOf(store, fileAt(cli.db)), ({ memory }) =>
        work(memory, { operator: by, ...present({ tenant: cli.tenant }) }),
      ),
    );
  } catch (error) {
    if (error instanceof MemoryViolation)
      await record(cli, { what: 'memory.violated', id: error.entry, by, why: error.message });
    throw error;
  }
}

interface Act {
  readonly what: typeof MEMORY_RELEASED | 'memory.forgotten' | 'memory.violated';
  readonly id: string;
  /** Undefined for a violation: the caller must not learn the owner. */
  readonly owner?: MemoryScope;
  readonly by: string;
  readonly why: string | undefined;
}

/** The act is in the chain of operators' acts, which `audit verify` checks. */
async function record(cli: Cli, { what, id, owner, by, why = '' }: Act): Promise<void> {
  await closing(openFor(cli), ({ shared }) =>
    operate(shared, { at: Date.now(), by, what, key: `${MEMORY_ACTS}${id}`, why }, (value) =>
      owner === undefined ? value : { tenant: owner.tenant },
    ),
  );
}

/** By its id, or by an unambiguous beginning. */
async function entryNamed(
  memory: MemoryStore,
  caller: MemoryOperator,
  given: string,
  now: number,
): Promise<MemoryEntry> {
  const entry = await memory.get(caller, given, now);
  if (entry !== null) return entry;
  const all = await memory.find(caller, { now });
  const begun = given === '' ? [] : all.filter(({ id }) => id.startsWith(given));
  if (begun.length === 1) return begun[0] as MemoryEntry;
  if (begun.length > 1)
    throw new SluiceError(
      'memory-not-found',
      `\`${given}\` is the beginning of ${begun.length} memory entries`,
      'Type a few more of its letters.',
    );
  const ids = all.map(({ id }) => id);
  const help = didYouMean(given, ids, 'List them with `sluice memory list`.');
  throw new SluiceError('memory-not-found', `there is no memory entry \`${given}\``, help);
}

const HEAD = ['ENTRY', 'STATE', 'OWNER', 'TRUST', 'EXPIRES', 'REMEMBERED'];

function rowOf(entry: MemoryEntry, now: number): string[] {
  const { id, trust, expiresAt, goal, answer } = entry;
  const text = `${textOf(goal)}: ${textOf(answer)}`;
  return [id, stateOf(entry, now), ownerText(entry, 40), trust, iso(expiresAt).slice(0, 10), oneLine(text, 60)];
}

function blockOf(entry: MemoryEntry, now: number): string {
  const { id, goal, answer, sources, trust, run, validator, at, expiresAt, reason, released } = entry;
  const rows = [
    ['entry', id],
    ['state', stateOf(entry, now)],
    ...(reason === null ? [] : [['reason', framed(reason)]]),
    ...(released === null ? [] : [['released', `by ${oneLine(released.by)} at ${iso(released.at)}`]]),
    ['owner', ownerText(entry)],
    ['goal', framed(textOf(goal))],
    ['answer', framed(textOf(answer))],
    ['sources', sources.map((source) => oneLine(`${source.tool} (${source.id})`)).join(', ') || 'none'],
    ['trust', trust],
    ['validator', oneLine(validator)],
    ['run', run],
    ['written', iso(at)],
    ['expires', iso(expiresAt)],
  ];
  return table(rows);
}

function ownerText({ owner: { tenant, user, agent, share } }: MemoryEntry, width?: number): string {
  const whose = share === null ? (agent ?? '') : `shared ${share}`;
  const parts = [whose, ...(user === null ? [] : [`user ${user}`]), ...(tenant === null ? [] : [`tenant ${tenant}`])];
  return oneLine(parts.join(', '), width);
}

function stateOf({ state, expiresAt }: MemoryEntry, now: number): string {
  return expiresAt <= now ? 'expired' : state;
}

function jsonOf(entry: MemoryEntry, now: number): object {
  const { id, owner, goal, answer, sources, trust, run, validator, at, expiresAt, reason, released } = entry;
  return {
    id,
    state: stateOf(entry, now),
    ...owner,
    goal,
    answer,
    sources,
    trust,
    reason,
    validator,
    run,
    at: iso(at),
    expiresAt: iso(expiresAt),
    released: released === null ? null : { by: released.by, at: iso(released.at) },
  };
}
