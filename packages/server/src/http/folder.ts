/**
 * The documents of the served folders. A changed file is a new version for runs that start from now on; runs under way keep theirs. Two
 * files with one id are refused by name.
 */
import { SluiceError } from '@sluice-internal/engine/ports';
import { compileFile, type CompiledFile } from '@sluice-internal/library/documents';
import { reasonOf } from '@sluice-internal/kernel/expr';
import {
  existsSync,
  readFileSync,
  readdirSync,
  renameSync,
  statSync,
  watch,
  writeFileSync,
  type FSWatcher,
} from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';

/** A document as it is on disk. */
export interface Served {
  readonly id: string;
  /** Relative to its folder, for people. */
  readonly file: string;
  readonly path: string;
  readonly compiled: CompiledFile;
  /** Its versions since the server started by hash, the latest last. */
  readonly versions: readonly string[];
  /** The engine has the definition itself, with its functions. */
  readonly isDefinition?: true;
}

/** The flows that a server has. */
export interface Flows {
  readonly list: readonly Served[];
  /** The version with this hash, or the latest. */
  get(id: string, hash?: string): Served | undefined;
  /** The names of the scripts. */
  readonly scripts: readonly string[];
  /** The path of a script by its name. */
  script(name: string): string | undefined;
  /** Where a text that is no file of a folder is compiled. */
  readonly root: string;
  /** The folders in which other files are found for such a text. */
  readonly folders: readonly string[];
  readonly model: string | undefined;
  onChange(listener: (ids: readonly string[]) => void): () => void;
  /** The people whose `login` this is. */
  peopleOf(login: string): readonly string[];
}

export interface FolderOptions {
  readonly folders: readonly string[];
  readonly model?: string | undefined;
  /** The one document that is served. Default: all. */
  readonly only?: string | undefined;
  readonly onNotice: (message: string) => void;
}

const DOCUMENT = /\.(ya?ml|json)$/;
const MODULE = /\.flow\.[cm]?ts$/;
const PEOPLE = 'sluice.people.yaml';
/** Editors write a file in several steps. */
const SETTLE_MS = 100;
const DEPTH = 6;

export class Folder implements Flows {
  readonly #options: FolderOptions;
  readonly #served = new Map<string, Served>();
  /** Earlier versions, by id and hash: runs under way show their pictures. */
  readonly #earlier = new Map<string, Served>();
  readonly #problems = new Map<string, string>();
  readonly #listeners = new Set<(ids: readonly string[]) => void>();
  readonly #watchers: FSWatcher[] = [];
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> = Promise.resolve();

  private constructor(options: FolderOptions) {
    this.#options = options;
  }

  /** Throws if two documents have one id. A document with mistakes is served with its diagnostics. */
  static async open(options: FolderOptions): Promise<Folder> {
    const folder = new Folder(options);
    for (const path of options.folders)
      if (!existsSync(path) || !statSync(path).isDirectory())
        throw new SluiceError('file-not-found', `there is no folder \`${path}\``, 'Name a folder with documents.');
    await folder.#readAll(true);
    return folder;
  }

  get list(): readonly Served[] {
    return [...this.#served.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** The version with this hash, or the latest. */
  get(id: string, hash?: string): Served | undefined {
    const latest = this.#served.get(id);
    return hash === undefined || latest?.versions.at(-1) === hash ? latest : this.#earlier.get(`${id} ${hash}`);
  }

  peopleOf(login: string): readonly string[] {
    const people = this.list.flatMap(({ compiled }) => Object.entries(compiled.result.flow?.people ?? {}));
    return people.flatMap(([id, person]) => (person.login === login ? [id] : []));
  }

  /** The version with this hash, of any flow. */
  withHash(hash: string): Served | undefined {
    const isIt = ({ compiled }: Served): boolean => compiled.result.flow?.hash === hash;
    return [...this.#served.values()].find(isIt) ?? [...this.#earlier.values()].find(isIt);
  }

  /** The first folder: a text that is no file of a folder is compiled as if it lay there. */
  get root(): string {
    return this.#options.folders[0] ?? '.';
  }

  get folders(): readonly string[] {
    return this.#options.folders;
  }

  get model(): string | undefined {
    return this.#options.model;
  }

  /** The path of a script of a served folder, by its name without an ending. */
  script(name: string): string | undefined {
    if (!/^[\w.-]+$/.test(name) || name.startsWith('.')) return undefined;
    return this.#options.folders
      .flatMap((folder) => filesIn(folder))
      .find((file) => basename(file) === `${name}.script.yaml` || basename(file) === `${name}.script.json`);
  }

  get scripts(): readonly string[] {
    const named = this.#options.folders
      .flatMap((folder) => filesIn(folder))
      .flatMap((file) => /([^/\\]+)\.script\.(?:yaml|json)$/.exec(file)?.[1] ?? []);
    return [...new Set(named)].toSorted();
  }

  onChange(listener: (ids: readonly string[]) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  watch(): void {
    for (const folder of this.#options.folders) {
      const watcher = watch(folder, { recursive: true }, (_, file) => {
        if (file !== null && (DOCUMENT.test(file) || MODULE.test(file))) this.#soon();
      });
      // A folder that goes away ends its watcher. The documents that were read stay.
      watcher.on('error', (error) => this.#options.onNotice(`\`${folder}\` is no longer watched: ${error.message}`));
      this.#watchers.push(watcher);
    }
  }

  /** Replaces the text of a document. The file is whole at every moment. Resolves when it is read again. */
  async write({ path, compiled }: Served, text: string): Promise<void> {
    if (MODULE.test(path))
      throw new SluiceError('bad-request', `\`${basename(path)}\` is a module`, 'Change it in an editor, and restart.');
    if (readFileSync(path, 'utf8') !== compiled.text)
      throw new SluiceError('flow-changed', `\`${basename(path)}\` has changed on disk`, 'Read it again first.');
    const part = join(dirname(path), `.${basename(path)}.${process.pid}.part`);
    writeFileSync(part, text, { mode: statSync(path).mode });
    renameSync(part, path);
    await this.refresh();
  }

  /** Reads the folders again now. */
  refresh(): Promise<void> {
    this.#reading = this.#reading.then(() => this.#readAll(false));
    return this.#reading;
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers) watcher.close();
  }

  #soon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.refresh(), SETTLE_MS);
  }

  async #readAll(isStart: boolean): Promise<void> {
    const found = new Map<string, Served>();
    for (const folder of this.#options.folders)
      for (const path of filesIn(folder)) {
        const served = await this.#read(folder, path, isStart);
        if (served === null) continue;
        const other = found.get(served.id);
        if (other === undefined) found.set(served.id, served);
        else this.#refuseTwo(other, served, isStart);
      }
    const changed = [...new Set([...found.keys(), ...this.#served.keys()])].filter(
      (id) => found.get(id)?.versions.at(-1) !== this.#served.get(id)?.versions.at(-1),
    );
    for (const [id, served] of this.#served) this.#earlier.set(`${id} ${served.versions.at(-1) ?? ''}`, served);
    this.#served.clear();
    for (const [id, served] of found) this.#served.set(id, served);
    if (changed.length > 0 && !isStart) for (const listener of this.#listeners) listener(changed);
  }

  #refuseTwo(one: Served, other: Served, isStart: boolean): void {
    const message = `\`${one.path}\` and \`${other.path}\` both have the id \`${one.id}\``;
    if (isStart) throw new SluiceError('usage', message, 'Rename one of them, or serve another folder.');
    this.#notice(other.path, `${message}; \`${one.path}\` is served`);
  }

  async #read(folder: string, path: string, isStart: boolean): Promise<Served | null> {
    if (this.#options.only !== undefined && path !== resolve(this.#options.only)) return null;
    const before = this.#servedAt(path);
    // Node keeps a module that it has loaded.
    if (MODULE.test(path) && !isStart) {
      if (before !== undefined) this.#notice(path, `\`${path}\` may have changed: restart the server to use it`);
      return before ?? null;
    }
    let compiled: CompiledFile;
    try {
      compiled = await compileFile(path, this.#options.model);
    } catch (error) {
      this.#notice(path, `\`${path}\` cannot be read: ${reasonOf(error)}`);
      return before ?? null;
    }
    const file = relative(folder, path).split(sep).join('/');
    return servedAs({ file, path, compiled }, before);
  }

  #servedAt(path: string): Served | undefined {
    return [...this.#served.values()].find((each) => each.path === path);
  }

  /** Each problem of a file is said once. */
  #notice(path: string, message: string): void {
    if (this.#problems.get(path) === message) return;
    this.#problems.set(path, message);
    this.#options.onNotice(message);
  }
}

/** Null if the file has no notation: it is something else, such as a script. */
function servedAs(read: Pick<Served, 'file' | 'path' | 'compiled'>, before: Served | undefined): Served | null {
  const { notation, flow, diagnostics } = read.compiled.result;
  if (notation === null) return null;
  const id = flow?.id ?? basename(read.path).replace(/(\.flow|\.loop|\.team|\.staged|\.workflow)?\.[a-z]+$/, '');
  const version = flow?.hash ?? `broken:${diagnostics.map(({ message }) => message).join('\n')}`;
  const versions = before?.id === id ? before.versions : [];
  return { ...read, id, versions: versions.at(-1) === version ? versions : [...versions, version] };
}

/** The files that may hold a document. Hidden folders and packages are left out, and links are not followed. */
function filesIn(folder: string, depth = 0): readonly string[] {
  if (depth > DEPTH) return [];
  return readdirSync(folder, { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = resolve(join(folder, entry.name));
      if (entry.name.startsWith('.') || entry.name === 'node_modules') return [];
      if (entry.isDirectory()) return filesIn(path, depth + 1);
      const isDocument = entry.isFile() && (DOCUMENT.test(entry.name) || MODULE.test(entry.name));
      return isDocument && entry.name !== PEOPLE ? [path] : [];
    });
}
