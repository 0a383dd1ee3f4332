/** The open questions of runs. A page reads the runs that it shows questions of, and no other. */
import type { RunId } from '@sluice-internal/kernel/ir';
import { SluiceError } from '../ports/errors.ts';
import { eachOf } from '../ports/page.ts';
import type { OpenQuestion, Page, PageRequest } from '../ports/ports.ts';
import type { Waiting } from '../ports/types.ts';
import { waitingOf } from '../report/waiting.ts';
import type { Host } from './host.ts';

export async function approvals(host: Host, run: RunId | undefined): Promise<readonly Waiting[]> {
  if (run !== undefined) return waitingIn(host, run);
  const { index } = host.store;
  const read = new Questions(host);
  const waiting: Waiting[] = [];
  for await (const question of eachOf((page) => index.questions(page))) waiting.push(...(await read.find(question)));
  return waiting;
}

export async function approvalsPage(host: Host, page: PageRequest): Promise<Page<Waiting>> {
  const { items, next } = await host.store.index.questions(page);
  const read = new Questions(host);
  const waiting: Waiting[] = [];
  for (const question of items) waiting.push(...(await read.find(question)));
  return { items: waiting, next };
}

async function waitingIn(host: Host, run: RunId): Promise<readonly Waiting[]> {
  return waitingOf(await host.read(run));
}

/** Reads each run once. */
class Questions {
  readonly #host: Host;
  #run: RunId | null = null;
  #waiting: readonly Waiting[] = [];
  readonly #leftOut = new Set<RunId>();

  constructor(host: Host) {
    this.#host = host;
  }

  /** None if the question was answered since it was listed. */
  async find({ run, id }: OpenQuestion): Promise<readonly Waiting[]> {
    if (run !== this.#run) this.#waiting = await this.#read(run);
    this.#run = run;
    return this.#waiting.filter((waiting) => waiting.id === id);
  }

  /** A run that was changed from outside must not hide the questions of the others. */
  async #read(run: RunId): Promise<readonly Waiting[]> {
    if (this.#leftOut.has(run)) return [];
    try {
      return await waitingIn(this.#host, run);
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error;
      this.#leftOut.add(run);
      this.#host.notice(`the questions of run \`${run}\` are left out: ${error.message}`);
      return [];
    }
  }
}
