/**
 * Runs one shape for the bare loop and all contestants in alternating rounds, so that a slow moment of the machine
 * falls on everybody. Each has a process of its own, is warmed up uncounted, since what is asked is how fast an engine is
 * that has been running for a while, and leaves when its time is used up.
 */
import { BARE } from './contestants.ts';
import type { Entry } from './contestants.ts';
import type { Hello } from './child.ts';
import { startRemote } from './remote.ts';
import type { Remote } from './remote.ts';
import type { Measurement, Shape } from './shape.ts';

export interface Sample {
  shape: string;
  contestant: string;
  measurement: Measurement;
  /** What the bare loop took in the same round, where it knows the shape. */
  bare: Measurement | undefined;
}

export interface Round {
  samples: Sample[];
  hellos: Hello[];
  failures: string[];
}

export interface Limits {
  rounds: number;
  /** Time that one contestant may spend on one shape before it gets no further round. */
  budgetMs: number;
  /** Time that each contestant plays before it is measured. */
  warmUpMs: number;
}

export async function runShape(shape: Shape, entries: readonly Entry[], limits: Limits): Promise<Round> {
  const result: Round = { samples: [], hellos: [], failures: [] };
  const runners: Runner[] = [];
  try {
    for (const entry of [BARE, ...entries]) {
      const runner = await enter(shape, entry, limits, result);
      if (runner !== undefined) runners.push(runner);
    }
    const rounds = Math.min(limits.rounds, shape.roundsMax ?? limits.rounds);
    for (let round = 0; round < rounds; round += 1) await playRound(shape, runners, limits, result);
  } finally {
    for (const runner of runners) await runner.remote.close();
  }
  return result;
}

interface Runner {
  remote: Remote;
  spentMs: number;
  played: number;
  failed: boolean;
}

async function enter(shape: Shape, entry: Entry, limits: Limits, result: Round): Promise<Runner | undefined> {
  const remote = await startRemote(entry).catch((error: Error) => void result.failures.push(error.message));
  if (!remote) return undefined;
  result.hellos.push(remote.hello);
  const runner: Runner = { remote, spentMs: 0, played: 0, failed: false };
  const able = remote.hello.unavailable === undefined && remote.hello.shapes.includes(shape.id);
  if (able && (await warmUp(shape, runner, limits, result))) return runner;
  await remote.close();
  return undefined;
}

async function warmUp(shape: Shape, runner: Runner, { warmUpMs }: Limits, result: Round): Promise<boolean> {
  do if ((await play(shape, runner, result)) === undefined) return false;
  while (runner.spentMs < warmUpMs);
  runner.spentMs = 0;
  return true;
}

async function playRound(shape: Shape, runners: readonly Runner[], limits: Limits, result: Round): Promise<void> {
  let bare: Measurement | undefined;
  for (const runner of runners) {
    const isBare = runner.remote.hello.name === BARE.name;
    const spent = runner.played > 0 && runner.spentMs > limits.budgetMs;
    if (runner.failed || (spent && !isBare)) continue;
    const measurement = await play(shape, runner, result);
    if (measurement === undefined) continue;
    runner.played += 1;
    if (isBare) bare = measurement;
    result.samples.push({ shape: shape.id, contestant: runner.remote.hello.name, measurement, bare });
  }
}

async function play(shape: Shape, runner: Runner, result: Round): Promise<Measurement | undefined> {
  const start = performance.now();
  try {
    return await runner.remote.measure(shape.id);
  } catch (error) {
    runner.failed = true;
    result.failures.push((error as Error).message);
    return undefined;
  } finally {
    runner.spentMs += performance.now() - start;
  }
}
