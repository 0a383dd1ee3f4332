/** The files below a folder, within limits: an agent can make more folders, and deeper ones, than can be walked. */

interface Walk {
  /** The entries of a folder. Null if it does not exist. */
  readonly list: (folder: string) => Promise<readonly { readonly name: string; readonly type: string }[] | null>;
  readonly start?: string;
  /** Names of folders that are left out. */
  readonly skipped: ReadonlySet<string>;
  /** The number of files, and of folders. */
  readonly max: number;
  readonly signal?: AbortSignal;
}

const DEPTH_MAX = 64;

/** `isCut`: there are more files. Null if the first folder does not exist. */
export async function filesBelow({
  list,
  start = '.',
  skipped,
  max,
  signal,
}: Walk): Promise<{ readonly files: readonly string[]; readonly isCut: boolean } | null> {
  const files: string[] = [];
  const folders = [start];
  const tooDeep: string[] = [];
  for (let walked = 0; folders.length > 0 && Math.max(files.length, walked) < max; walked += 1) {
    signal?.throwIfAborted();
    const folder = folders.pop() as string;
    const entries = await list(folder);
    if (entries === null && folder === start) return null;
    const found = (entries ?? []).filter(({ name, type }) => type === 'file' || !skipped.has(name));
    const inner = folder.split('/').length < DEPTH_MAX ? folders : tooDeep;
    for (const { name, type } of found) {
      const path = folder === '.' ? name : `${folder}/${name}`;
      if (type === 'file') files.push(path);
      if (type === 'directory') inner.push(path);
    }
  }
  return { files: files.toSorted(), isCut: folders.length + tooDeep.length > 0 };
}
