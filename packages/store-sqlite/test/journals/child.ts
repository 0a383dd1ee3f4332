/**
 * A process that works on a database of its own accord, for tests that stop, continue and kill it. It says what it has
 * done in lines on stdout, which is synchronous for pipes: what was said was committed before.
 */
import { createInterface } from 'node:readline';
import { openSqlite } from '../../src/open.ts';
import { Chain } from '../../../testing/src/suite/sample.ts';
import type { Store } from '@sluice-internal/engine/ports';

const [role = '', path = '', name = '', ...args] = process.argv.slice(2);
const TERM_MS = 600_000;
const say = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);

const store = openSqlite(path);
if (role === 'write') await write(store);
if (role === 'race') await race(store, Number(args[0]), Number(args[1]));
if (role === 'holder') await holder(store, args[0] ?? 'r1', Number(args[1] ?? TERM_MS));
await store.close();

/** Commits to several runs at once for ever, saying after each commit where they stand. */
async function write({ journal, leases }: Store): Promise<void> {
  await leases.renew(name, TERM_MS);
  const chains = Array.from({ length: 5 }, (_, index) => new Chain(`${name}-${index}`));
  await journal.commit(
    name,
    chains.map((chain) => chain.first()),
  );
  for (let round = 0; ; round += 1) {
    await journal.commit(
      name,
      chains.map((chain) => chain.next({ count: 1 + (round % 3), body: 'x'.repeat(1 + ((round * 131) % 2000)) })),
    );
    say(chains.map(({ run, seq }) => [run, seq]));
  }
}

/** Tries to start every run, then to take each one up and append to it, over and over; says how often it could. */
async function race({ journal, leases }: Store, runs: number, rounds: number): Promise<void> {
  await leases.renew(name, TERM_MS);
  let [startedRuns, appended] = [0, 0];
  for (let index = 0; index < runs; index += 1) {
    const [result] = await journal.commit(name, [new Chain(`r${index}`).first()]);
    if (result === 'committed') startedRuns += 1;
    await leases.release(name, [`r${index}`]);
  }
  for (let round = 0; round < rounds; round += 1) {
    const run = `r${round % runs}`;
    const claimed = await leases.claim(name, { run });
    const stored = await journal.load(run);
    const chain = new Chain(run);
    for (const { count, hash } of stored?.appends ?? []) [chain.seq, chain.head] = [chain.seq + count, hash];
    const [result] = await journal.commit(name, [chain.next({ body: name })]);
    if ((result === 'committed') !== (claimed.length === 1))
      throw new Error(`${name} could append without a claim, or could not with one`);
    if (result === 'committed') appended += 1;
    await leases.release(name, [run]);
  }
  say({ started: startedRuns, appended });
}

/** Holds a run, and at every line it is sent tries to go on with it. */
async function holder({ journal, leases }: Store, run: string, termMs: number): Promise<void> {
  await leases.renew(name, termMs);
  const chain = new Chain(run);
  say(await journal.commit(name, [chain.first(), chain.next()]));
  for await (const _ of createInterface(process.stdin)) {
    const [result] = await journal.commit(name, [chain.next()]);
    say({
      result,
      renewed: (await leases.renew(name, TERM_MS)) !== null,
      claimed: await leases.claim(name, { run }),
    });
  }
}
