/**
 * Changes of files happen once. What a change is going to give is written down under the call's key before it is made, so
 * that a call that is performed again after a crash finds that it was carried out and gives the same result.
 */
import { hash } from 'node:crypto';
import type { Json } from '../../expr/json.ts';
import { readBeneath } from '../safe-path.ts';
import type { ToolCall } from './context.ts';
import { changeState, inTurn, readState } from './state-file.ts';

type Intent = { Key: string; Path: string; After: string | null; Result: Json };
type Intents = { Entries: Intent[] };

const FILE = 'intents.json';
const KEPT_MAX = 50;

export interface Plan {
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
