/**
 * Small JSON files that the tools keep under the work directory. Changes to one file are serial and replace it whole.
 */
import { hash } from 'node:crypto';
import { ARTIFACTS } from '@sluice-internal/kernel/catalog';
import { parsedJson } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { readBeneath, writeBeneath } from '@sluice-internal/platform';
import type { ToolCall } from './tool.ts';

/** A planned change of one file. */
export interface Plan {
  /** The hash of the file after the change; null if the change deletes it. */
  readonly after: string | null;
  readonly result: Json;
  readonly apply: () => Promise<unknown>;
}
type Intent = { Key: string; Path: string; After: string | null; Result: Json };
type Intents = { Entries: Intent[] };

const SIZE_MAX = 8 * 1024 * 1024;
const INTENTS_FILE = 'intents.json';
const INTENTS_KEPT_MAX = 50;
/** The newest unfinished work per key. */
const queues = new Map<string, Promise<unknown>>();

/** An unreadable file counts as empty: the journal is the record, these files are a convenience. */
export async function readState<T extends Json>(workDir: string, name: string, empty: T): Promise<T> {
  const file = await readBeneath(workDir, `${ARTIFACTS.state}/${name}`, SIZE_MAX);
  return ((file === null ? null : parsedJson(file.data.toString('utf8'))) as T | null) ?? empty;
}

export function changeState<T extends Json>(
  workDir: string,
  name: string,
  empty: T,
  change: (state: T) => T,
): Promise<T> {
  return inTurn(`${workDir}\0${name}`, async () => {
    const next = change(await readState(workDir, name, empty));
    await writeBeneath(workDir, `${ARTIFACTS.state}/${name}`, Buffer.from(`${JSON.stringify(next, null, 1)}\n`));
    return next;
  });
}

/**
 * Changes a file once per call, also when the call is repeated after a crash. The result is recorded under the key of the
 * call before the change is made. A repeated call that finds the changed file returns the recorded result.
 */
export function changeOnce({ workDir, call }: ToolCall, path: string, plan: () => Promise<Plan>): Promise<Json> {
  return inTurn(`${workDir}\0files`, async () => {
    const key = call.idempotencyKey;
    const { Entries } = await readState<Intents>(workDir, INTENTS_FILE, { Entries: [] });
    const known = Entries.find((entry) => entry.Key === key && entry.Path === path);
    if (known !== undefined && known.After === (await hashOf(workDir, path))) return known.Result;
    const { after, result, apply } = await plan();
    const entry: Intent = { Key: key, Path: path, After: after, Result: result };
    await changeState<Intents>(workDir, INTENTS_FILE, { Entries: [] }, (state) => ({
      Entries: [...state.Entries.filter(({ Key }) => Key !== key), entry].slice(-INTENTS_KEPT_MAX),
    }));
    await apply();
    return result;
  });
}

export function sha256(data: Buffer | string): string {
  return hash('sha256', data, 'hex');
}

async function hashOf(workDir: string, path: string): Promise<string | null> {
  const file = await readBeneath(workDir, path, Number.MAX_SAFE_INTEGER);
  return file === null ? null : sha256(file.data);
}

/** Runs work of the same key one after another. */
function inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
  const before = queues.get(key) ?? Promise.resolve();
  const mine = before.then(work, work);
  queues.set(key, mine);
  const forget = (): void => {
    if (queues.get(key) === mine) queues.delete(key);
  };
  mine.then(forget, forget);
  return mine;
}
