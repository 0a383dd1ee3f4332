/** The project's own files, as the tidy tests look at them. Whatever git would not track is not looked at. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

export const root: string = join(import.meta.dirname, '../..');

export interface SourceFile {
  /** Relative to the root, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

const LEFT_OUT = new Set(['node_modules', 'dist', 'coverage', '.git', '.sluice', '.stryker-tmp']);
const CODE_FOLDERS = ['packages', 'spec', 'test', 'bench', 'scripts'];

export function codeFiles(...folders: readonly string[]): SourceFile[] {
  return filesIn(folders.length === 0 ? CODE_FOLDERS : folders).filter(({ path }) => /\.tsx?$/.test(path));
}

/** The sources of packages, without their tests. Default: all packages. */
export function packageFiles(...names: readonly string[]): SourceFile[] {
  const all = names.length === 0 ? packageNames() : names;
  return codeFiles(...all.map((name) => `packages/${name}/src`));
}

/** The packages that have sources. */
export function packageNames(): string[] {
  return readdirSync(join(root, 'packages')).filter((name) => existsSync(join(root, 'packages', name, 'src')));
}

export function filesIn(folders: readonly string[]): SourceFile[] {
  return folders.flatMap((folder) => pathsIn(folder)).map((path) => ({ path, text: read(path) }));
}

export function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

export function pathsIn(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter(({ name }) => !LEFT_OUT.has(name))
    .flatMap((entry) => {
      const path = folder === '.' ? entry.name : `${folder}/${entry.name}`;
      return entry.isDirectory() ? pathsIn(path) : entry.isFile() ? [path] : [];
    })
    .toSorted();
}
