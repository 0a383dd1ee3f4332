/** A small project under the real configuration: one file per folder of `src`, plus the files that a test adds. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { root } from './tree.ts';

/** Every folder of `src` with the folders it may import from. */
export const FOLDERS: { readonly [folder: string]: readonly string[] } = {
  expr: [],
  ir: ['expr'],
  core: ['expr', 'ir'],
  catalog: ['expr', 'ir'],
  compile: ['expr', 'ir', 'catalog'],
  runtime: ['expr', 'ir', 'core', 'catalog'],
  effects: ['expr', 'ir', 'core', 'catalog', 'runtime'],
  stores: ['expr', 'ir', 'core', 'runtime'],
  surfaces: ['expr', 'ir', 'core', 'catalog', 'compile', 'runtime', 'effects', 'stores'],
};
const NAMES = Object.keys(FOLDERS);

export type Files = { readonly [path: string]: string };

/** A file that imports the example file of each of the given folders. */
export function importing(folders: readonly string[], name = 'x'): string {
  const imports = folders.map((folder) => `import { ${folder}Value } from '../${folder}/example.ts';\n`);
  return `${imports.join('')}export const ${name}: number = ${['1', ...folders.map((each) => `${each}Value`)].join(' + ')};\n`;
}

export function build(files: Files): { ok: boolean; output: string } {
  return within(files, (dir) => call(dir, 'tsc', ['-b', 'src', '--singleThreaded']));
}

export function lint(files: Files): { ok: boolean; output: string } {
  return within(files, (dir) => call(dir, 'oxlint', ['--format', 'unix', 'src']));
}

function within<T>(files: Files, work: (dir: string) => T): T {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-mini-'));
  try {
    const configuration = ['.oxlintrc.json', 'tsconfig.base.json', 'package.json', 'src/tsconfig.json'];
    for (const path of [...configuration, ...NAMES.map((each) => `src/${each}/tsconfig.json`)])
      cpSync(join(root, path), join(dir, path));
    symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'));
    for (const [path, text] of Object.entries({ ...examples(), ...files })) {
      mkdirSync(dirname(join(dir, path)), { recursive: true });
      writeFileSync(join(dir, path), text);
    }
    return work(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function examples(): Files {
  const files: { [path: string]: string } = {
    'src/node-version.ts': 'export const node = 24;\n',
    'src/index.ts': "export { surfacesValue } from './surfaces/example.ts';\n",
    'src/testing.ts': "export { storesValue } from './stores/example.ts';\n",
  };
  for (const [folder, sees] of Object.entries(FOLDERS))
    files[`src/${folder}/example.ts`] = importing(folder === 'runtime' ? ['core'] : sees, `${folder}Value`);
  return files;
}

function call(dir: string, tool: string, args: readonly string[]): { ok: boolean; output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'node_modules', '.bin', tool), ...args], {
    cwd: dir,
    encoding: 'utf8',
  });
  return { ok: status === 0, output: `${stdout}${stderr}` };
}
