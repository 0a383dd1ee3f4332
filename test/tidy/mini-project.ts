/** A small project under the real configuration: one file per package, plus the files that a test adds. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { root } from './tree.ts';

/** The packages of the small project, each with those that it may import. Each has one entry. */
const PACKAGES: { readonly [name: string]: readonly string[] } = {
  kernel: [],
  wire: ['kernel'],
  controls: ['kernel'],
  compile: ['kernel', 'controls'],
  notations: ['kernel', 'compile'],
  engine: ['kernel', 'wire'],
};
const NAMES = Object.keys(PACKAGES);

type Files = { readonly [path: string]: string };

/** A file that imports the example file of each of the given packages. */
function importing(names: readonly string[], name = 'x'): string {
  const imports = names.map((each) => `import { ${each}Value } from '@sluice-internal/${each}';\n`);
  return `${imports.join('')}export const ${name}: number = ${['1', ...names.map((each) => `${each}Value`)].join(' + ')};\n`;
}

export function build(files: Files): { ok: boolean; output: string } {
  const projects = NAMES.map((name) => `packages/${name}`);
  return within(files, (dir) => call(dir, 'tsc', ['-b', ...projects, '--singleThreaded']));
}

export function lint(files: Files): { ok: boolean; output: string } {
  return within(files, (dir) => call(dir, 'oxlint', ['--format', 'unix', 'packages']));
}

function within<T>(files: Files, work: (dir: string) => T): T {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-mini-'));
  try {
    for (const path of ['.oxlintrc.json', 'tsconfig.base.json', 'package.json'])
      cpSync(join(root, path), join(dir, path));
    linkModules(dir, NAMES);
    for (const [path, text] of Object.entries({ ...examples(), ...files })) {
      mkdirSync(dirname(join(dir, path)), { recursive: true });
      writeFileSync(join(dir, path), text);
    }
    for (const name of NAMES)
      cpSync(join(root, 'packages', name, 'tsconfig.json'), join(dir, 'packages', name, 'tsconfig.json'));
    return work(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Links the libraries of the project, and the packages of the copy in `dir` in place of the real ones. */
export function linkModules(dir: string, names: readonly string[]): void {
  const modules = join(dir, 'node_modules');
  mkdirSync(join(modules, '@sluice-internal'), { recursive: true });
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== '@sluice-internal' && name !== '.cache')
      symlinkSync(join(root, 'node_modules', name), join(modules, name));
  for (const name of names) symlinkSync(join(dir, 'packages', name), join(modules, '@sluice-internal', name));
}

function examples(): Files {
  const files: { [path: string]: string } = {};
  for (const [name, sees] of Object.entries(PACKAGES)) {
    files[`packages/${name}/src/index.ts`] = importing(sees, `${name}Value`);
    files[`packages/${name}/package.json`] = JSON.stringify({
      name: `@sluice-internal/${name}`,
      type: 'module',
      exports: { '.': './src/index.ts' },
    });
  }
  return files;
}

function call(dir: string, tool: string, args: readonly string[]): { ok: boolean; output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'node_modules', '.bin', tool), ...args], {
    cwd: dir,
    encoding: 'utf8',
  });
  return { ok: status === 0, output: `${stdout}${stderr}` };
}
