/**
 * A provider with faults from a seed. Every engine meets the same faults: the fault of a call depends on the run, the agent and
 * the number of the call alone. A ledger on disk keeps what every call cost, so that a killed process forgets nothing.
 */
import { hash } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';

export type Fault = 'none' | 'timeout' | 'rate_limit' | 'malformed' | 'crash';

/** The share of calls that each fault hits. */
const RATES: readonly (readonly [Fault, number])[] = [
  ['timeout', 0.05],
  ['rate_limit', 0.05],
  ['malformed', 0.05],
  ['crash', 0.01],
];
/** Tokens of a call. A refused call costs nothing; a call that the caller gave up is paid all the same. */
const TOKENS = { planner: 1_200, worker: 1_800, critic: 2_200, writer: 2_500 } as const;
export type Role = keyof typeof TOKENS;

/** The first run of an outage. */
const OUTAGE_FROM = 10;

const GOOD: { readonly [role in Role]: string } = {
  planner: JSON.stringify({ tasks: ['a', 'b', 'c'].map((id) => ({ id, brief: `Task ${id}` })) }),
  worker: '{"finding": "found"}',
  critic: '{"ok": true, "confidence": 0.9}',
  writer: '{"answer": "done"}',
};
const MALFORMED = 'Certainly! Here is what you asked for:';

export class ProviderError extends Error {
  readonly fault: 'timeout' | 'rate_limit';
  constructor(fault: 'timeout' | 'rate_limit') {
    super(fault === 'timeout' ? 'no answer within the timeout' : '429 too many requests');
    this.fault = fault;
  }
}

export interface Entry {
  readonly run: string;
  readonly call: string;
  readonly fault: Fault;
  readonly tokens: number;
}

export class Provider {
  readonly #file: string;
  readonly #seed: number;
  readonly #calls = new Map<string, number>();

  /** In an outage, every call of the critic in these runs times out. */
  readonly #outage: number;

  constructor(file: string, seed: number, outage = 0) {
    this.#file = file;
    this.#seed = seed;
    this.#outage = outage;
    for (const { run, call } of ledger(file)) this.#count(`${run} ${call}`);
  }

  /** One call of a model. `part` tells calls of one agent apart, such as the task of a worker. */
  ask(run: string, role: Role, part = ''): string {
    const call = `${role}${part}`;
    const number = this.#count(`${run} ${call}`);
    const fault = this.#isOut(run, role) ? 'timeout' : this.#fault(`${run} ${call} ${number}`);
    const entry: Entry = { run, call, fault, tokens: fault === 'rate_limit' ? 0 : TOKENS[role] };
    appendFileSync(this.#file, `${JSON.stringify(entry)}\n`);
    if (fault === 'crash') process.kill(process.pid, 'SIGKILL');
    if (fault === 'timeout' || fault === 'rate_limit') throw new ProviderError(fault);
    return fault === 'malformed' ? MALFORMED : GOOD[role];
  }

  /** True for the first run after an outage. */
  endsOutage(run: string): boolean {
    return this.#outage > 0 && Number(run.split('-')[1]) === OUTAGE_FROM + this.#outage;
  }

  #isOut(run: string, role: Role): boolean {
    const index = Number(run.split('-')[1]);
    return role === 'critic' && index >= OUTAGE_FROM && index < OUTAGE_FROM + this.#outage;
  }

  #count(key: string): number {
    const number = (this.#calls.get(key) ?? 0) + 1;
    this.#calls.set(key, number);
    return number;
  }

  #fault(key: string): Fault {
    let left = Number.parseInt(hash('sha256', `${this.#seed} ${key}`, 'hex').slice(0, 8), 16) / 2 ** 32;
    for (const [fault, rate] of RATES) {
      if (left < rate) return fault;
      left -= rate;
    }
    return 'none';
  }
}

export function ledger(file: string): readonly Entry[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Entry);
}
