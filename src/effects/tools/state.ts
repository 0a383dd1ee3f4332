/** What the tools themselves keep under the work directory: small JSON files, changed one at a time and whole. */
import { ARTIFACTS } from '../../catalog/validators.ts';
import type { Json } from '../../expr/json.ts';
import { readBeneath, writeBeneath } from '../safe-path.ts';
import { hash } from 'node:crypto';
import type { ToolCall } from './tool.ts';

const SIZE_MAX = 8 * 1024 * 1024;
/** The last change of each file that has not come to its end. */
const turns = new Map<string, Promise<unknown>>();

/** An unreadable file counts as empty: it is a convenience, the journal is the record. */
export async function readState<T extends Json>(workDir: string, name: string, empty: T): Promise<T> {
  const file = await readBeneath(workDir, `${ARTIFACTS.state}/${name}`, SIZE_MAX);
  if (file === null) return empty;
  try {
    return JSON.parse(file.data.toString('utf8')) as T;
  } catch {
    return empty;
  }
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

export function inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
  const before = turns.get(key) ?? Promise.resolve();
  const mine = before.then(work, work);
  turns.set(key, mine);
  const tidy = (): void => {
    if (turns.get(key) === mine) turns.delete(key);
  };
  mine.then(tidy, tidy);
  return mine;
}

type Intent = { Key: string; Path: string; After: string | null; Result: Json };
type Intents = { Entries: Intent[] };

const FILE = 'intents.json';
const KEPT_MAX = 50;

interface Plan {
  /** The file's hash when the change has been made; null when the file is gone. */
  readonly after: string | null;
  readonly result: Json;
  readonly apply: () => Promise<unknown>;
}

/** One change of one file at a time: the plan is made for the file as it is. */
export function changeOnce({ workDir, call }: ToolCall, path: string, plan: () => Promise<Plan>): Promise<Json> {
  return inTurn(`${workDir}\0files`, async () => {
    const key = call.idempotencyKey;
    const { Entries } = await readState<Intents>(workDir, FILE, { Entries: [] });
    const known = Entries.find((entry) => entry.Key === key && entry.Path === path);
    if (known !== undefined && known.After === (await hashOf(workDir, path))) return known.Result;
    const { after, result, apply } = await plan();
    const entry: Intent = { Key: key, Path: path, After: after, Result: result };
    await changeState<Intents>(workDir, FILE, { Entries: [] }, (state) => ({
      Entries: [...state.Entries.filter(({ Key }) => Key !== key), entry].slice(-KEPT_MAX),
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
