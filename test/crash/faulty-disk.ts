/** One refund on a disk with one fault: below SQLite, by a small C library that stands before the one of the system. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { program } from '../support/programs.ts';
import { judge } from './outcome.ts';

export const FAULTS = ['eio', 'enospc', 'short', 'cut', 'lie'] as const;

export interface Fault {
  readonly kind: (typeof FAULTS)[number];
  /** The operation that fails, from 1. */
  readonly at: number;
  /** How many operations fail from then on. */
  readonly times?: number;
  /** Of `lie`: the operation at which the power is cut. */
  readonly cut?: number;
}

/** What a process with a fault may say beside the end of the run. */
const NAMED = new Set(['journal-unavailable', 'disk-full', 'journal-damaged', 'journal-read-only', 'lease-lost']);
/** A disk that lies loses what it said it had. The loss is named. */
const LOST = new Set([...NAMED, 'chain-broken', 'journal-replaced', 'run-not-found', 'run-removed']);
const LIMIT_MS = 600_000;

export class FaultyDisk {
  readonly #dir = mkdtempSync(join(tmpdir(), 'sluice-faults-'));
  readonly #library = join(this.#dir, 'faults.so');
  #runs = 0;

  /** Null, or the reason why there are no faults on this machine. */
  build(): string | null {
    if (process.platform !== 'linux') return 'the faults are for Linux';
    if (spawnSync('cc', ['--version']).status !== 0) return 'there is no C compiler here';
    const source = join(import.meta.dirname, 'disk-faults.c');
    const { status, stderr } = spawnSync('cc', ['-shared', '-fPIC', '-o', this.#library, source, '-ldl']);
    if (status !== 0) throw new Error(`disk-faults.c does not compile: ${String(stderr)}`);
    return null;
  }

  /** The number of operations of a refund without a fault. */
  async operations(): Promise<number> {
    const { count } = await this.#faulty(this.#place(), null);
    return count;
  }

  /** The promises that one fault broke. */
  async refund(fault: Fault): Promise<readonly string[]> {
    const place = this.#place();
    const broken: string[] = [];
    const { said } = await this.#faulty(place, fault);
    for (const word of said) if (!isNamed(word, NAMED)) broken.push(`said ${JSON.stringify(word)}`);
    const again = await this.#work(place, {});
    const isLost = fault.kind === 'lie' && again.every((word) => isNamed(word, LOST)) && !isGood(again);
    if (!isLost) {
      if (!isGood(again)) broken.push(`ended with ${JSON.stringify(again)} after the fault`);
      broken.push(...(await judge(place.db)).violations, ...doubled(place.ledger, fault));
    }
    rmSync(place.dir, { recursive: true, force: true });
    return broken.map((what) => `${JSON.stringify(fault)}: ${what}`);
  }

  remove(): void {
    rmSync(this.#dir, { recursive: true, force: true });
  }

  #place(): Place {
    const dir = join(this.#dir, String((this.#runs += 1)));
    for (const each of ['db', 'synced']) mkdirSync(join(dir, each), { recursive: true });
    return { dir, db: join(dir, 'db', 'sluice.db'), ledger: join(dir, 'ledger') };
  }

  async #faulty(
    place: Place,
    fault: Fault | null,
  ): Promise<{ readonly said: readonly Word[]; readonly count: number }> {
    const counter = join(place.dir, 'count');
    const said = await this.#work(place, {
      LD_PRELOAD: this.#library,
      DISK_FAULT_DIR: join(place.dir, 'db'),
      DISK_FAULT_COUNT: counter,
      ...(fault === null ? {} : { DISK_FAULT_KIND: fault.kind, DISK_FAULT_AT: String(fault.at) }),
      ...(fault?.times === undefined ? {} : { DISK_FAULT_TIMES: String(fault.times) }),
      ...(fault?.cut === undefined ? {} : { DISK_FAULT_CUT: String(fault.cut) }),
      ...(fault?.kind === 'cut' || fault?.kind === 'lie' ? { DISK_FAULT_SYNCED: join(place.dir, 'synced') } : {}),
    });
    return { said, count: existsSync(counter) ? Number(readFileSync(counter, 'utf8')) : 0 };
  }

  #work({ db, ledger }: Place, env: { readonly [name: string]: string }): Promise<readonly Word[]> {
    const child = spawn(process.execPath, [program('test/crash/refund-worker.ts'), db, ledger], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    let complained = '';
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (complained += chunk.toString()));
    const timer = setTimeout(() => {
      said += '{"error":"unnamed: it hangs"}\n';
      child.kill('SIGKILL');
    }, LIMIT_MS);
    return new Promise((resolve) => {
      child.once('close', (status) => {
        clearTimeout(timer);
        const words = said.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Word]));
        const died = status !== null && status !== 0 ? [{ error: `unnamed: ${complained.slice(0, 500)}` }] : [];
        resolve([...words, ...died]);
      });
    });
  }
}

interface Place {
  readonly dir: string;
  readonly db: string;
  readonly ledger: string;
}
interface Word {
  readonly code?: string;
  readonly error?: string;
  readonly closing?: Word;
}

function isNamed({ code, error, closing }: Word, names: ReadonlySet<string>): boolean {
  if (closing !== undefined) return isNamed(closing, names);
  return code === 'SUCCESS' || (error !== undefined && names.has(error));
}

function isGood(words: readonly Word[]): boolean {
  return words.some(({ code }) => code === 'SUCCESS');
}

/** The service recognises a key. A disk that lies can lose the id of the database, and with it the keys. */
function doubled(ledger: string, { kind }: Fault): readonly string[] {
  const lines = existsSync(ledger) ? readFileSync(ledger, 'utf8').trim().split('\n') : [];
  const counts = ['refund', 'mail'].map((tool) => lines.filter((line) => line.startsWith(tool)).length);
  const isRight = kind === 'lie' ? counts.every((each) => each >= 1) : counts.every((each) => each === 1);
  return isRight ? [] : [`${counts[0]} refunds and ${counts[1]} mails under different keys`];
}
