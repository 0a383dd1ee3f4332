/** What the tools themselves keep under the work directory: small JSON files, changed one at a time and whole. */
import { ARTIFACTS } from '../../catalog/evidence-names.ts';
import type { Json } from '../../expr/json.ts';
import { readBeneath, writeBeneath } from '../safe-path.ts';

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
