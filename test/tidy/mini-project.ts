/**
 * A project of one tiny file per folder under the real configuration, to see what the build and the linter say when one
 * file more is added to it.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { root } from './tree.ts';

const FOLDERS = ['core', 'compile', 'runtime', 'adapters', 'surfaces'];
const PLAIN: { readonly [path: string]: string } = {
  'src/core/a.ts': 'export const a: number = 1;\n',
  'src/compile/b.ts': "import { a } from '../core/a.ts';\nexport const b: number = a;\n",
  'src/runtime/c.ts': "import { a } from '../core/a.ts';\nexport const c: number = a;\n",
  'src/adapters/one/d.ts': "import { c } from '../../runtime/c.ts';\nexport const d: number = c;\n",
  'src/adapters/two/e.ts': "import { c } from '../../runtime/c.ts';\nexport const e: number = c;\n",
  'src/surfaces/f.ts':
    "import { b } from '../compile/b.ts';\nimport { d } from '../adapters/one/d.ts';\nexport const f: number = b + d;\n",
  'src/index.ts': "export { f } from './surfaces/f.ts';\n",
  'src/testing.ts': "export { e } from './adapters/two/e.ts';\n",
};

export type Files = { readonly [path: string]: string };

export function build(files: Files): { ok: boolean; output: string } {
  return within(files, (dir) => call(dir, 'tsc', ['-b', 'src']));
}

export function lint(files: Files): { ok: boolean; output: string } {
  return within(files, (dir) => call(dir, 'oxlint', ['--format', 'unix', 'src']));
}

function within<T>(files: Files, work: (dir: string) => T): T {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-mini-'));
  try {
    for (const path of [
      '.oxlintrc.json',
      'tsconfig.base.json',
      'package.json',
      'src/tsconfig.json',
      ...FOLDERS.map((each) => `src/${each}/tsconfig.json`),
    ])
      cpSync(join(root, path), join(dir, path));
    symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'));
    for (const [path, text] of Object.entries({ ...PLAIN, ...files })) {
      mkdirSync(dirname(join(dir, path)), { recursive: true });
      writeFileSync(join(dir, path), text);
    }
    return work(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function call(dir: string, tool: string, args: readonly string[]): { ok: boolean; output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'node_modules', '.bin', tool), ...args], {
    cwd: dir,
    encoding: 'utf8',
  });
  return { ok: status === 0, output: `${stdout}${stderr}` };
}
