/** A rule exists when a command fails: what the build and the linter refuse, shown on a project under the real configuration. */
import { describe, expect, test } from 'vitest';
import { build, lint } from './mini-project.ts';

describe('the build', () => {
  test('takes a project whose imports go the right way', () => {
    expect(build({})).toEqual({ ok: true, output: '' });
  });

  test.each([
    ['core', 'compile', "import { b } from '../compile/b.ts';\nexport const x: number = b;\n"],
    ['core', 'runtime', "import { c } from '../runtime/c.ts';\nexport const x: number = c;\n"],
    ['compile', 'runtime', "import { c } from '../runtime/c.ts';\nexport const x: number = c;\n"],
    ['compile', 'adapters', "import { d } from '../adapters/one/d.ts';\nexport const x: number = d;\n"],
    ['runtime', 'compile', "import { b } from '../compile/b.ts';\nexport const x: number = b;\n"],
    ['runtime', 'adapters', "import { d } from '../adapters/one/d.ts';\nexport const x: number = d;\n"],
    ['runtime', 'surfaces', "import { f } from '../surfaces/f.ts';\nexport const x: number = f;\n"],
    ['adapters', 'compile', "import { b } from '../compile/b.ts';\nexport const x: number = b;\n"],
    ['adapters', 'surfaces', "import { f } from '../surfaces/f.ts';\nexport const x: number = f;\n"],
  ])('refuses an import from %s of %s', (folder, _, text) => {
    const { ok, output } = build({ [`src/${folder}/x.ts`]: text });
    expect(ok).toBe(false);
    expect(output).toContain(`src/${folder}/x.ts(1,`);
  });

  const folders = ['core', 'compile'];
  const acts = [
    "console.log('x');",
    'process.exit(1);',
    "void fetch('x');",
    'setTimeout(() => undefined, 1);',
    'performance.now();',
    'crypto.randomUUID();',
  ];
  test.each(folders.flatMap((folder) => acts.map((act) => [folder, act] as const)))(
    'refuses in %s: %s',
    (folder, act) => {
      const { ok, output } = build({ [`src/${folder}/x.ts`]: `${act}\nexport const x: number = 1;\n` });
      expect(ok).toBe(false);
      expect(output).toContain(`src/${folder}/x.ts(1,`);
    },
  );

  test.each(folders)('refuses a module of Node in %s', (folder) => {
    expect(
      build({
        [`src/${folder}/x.ts`]: "import { readFileSync } from 'node:fs';\nexport const x: unknown = readFileSync;\n",
      }).ok,
    ).toBe(false);
  });

  test('is not softened by the types of the libraries that the core uses', () => {
    const uses =
      "import { Environment } from '@marcbachmann/cel-js';\nimport { RE2JS } from 're2js';\nexport const x: unknown = [Environment, RE2JS];\n";
    expect(build({ 'src/core/x.ts': uses })).toEqual({ ok: true, output: '' });
    expect(build({ 'src/core/x.ts': `${uses}console.log(x);\n` }).output).toContain('src/core/x.ts(4,');
  });
});

describe('the linter', () => {
  test('takes a project whose imports go the right way', () => {
    expect(lint({})).toMatchObject({ ok: true });
  });

  test.each([
    [
      'an import cycle',
      'import(no-cycle)',
      {
        'src/core/x.ts': "import { y } from './y.ts';\nexport const x = (): number => y();\n",
        'src/core/y.ts': "import { x } from './x.ts';\nexport const y = (): number => x();\n",
      },
    ],
    [
      'an adapter in another one',
      'eslint(no-restricted-imports)',
      { 'src/adapters/one/x.ts': "import { e } from '../two/e.ts';\nexport const x: number = e;\n" },
    ],
    [
      'an import against the arrows',
      'eslint(no-restricted-imports)',
      { 'src/core/x.ts': "import { c } from '../runtime/c.ts';\nexport const x: number = c;\n" },
    ],
    [
      'a clock in the core',
      'eslint(no-restricted-properties)',
      { 'src/core/x.ts': 'export const x = (): number => Date.now();\n' },
    ],
    [
      'chance in the compiler',
      'eslint(no-restricted-properties)',
      { 'src/compile/x.ts': 'export const x = (): number => Math.random();\n' },
    ],
    [
      'a promise that nobody waits for',
      'typescript(no-floating-promises)',
      { 'src/runtime/x.ts': 'export const x = (): void => {\n  Promise.resolve(1);\n};\n' },
    ],
    [
      'a promise where a boolean is meant',
      'typescript(no-misused-promises)',
      { 'src/runtime/x.ts': 'export const x = (p: Promise<number>): number => (p ? 1 : 2);\n' },
    ],
    ['a default export', 'import(no-default-export)', { 'src/runtime/x.ts': 'const x = 1;\nexport default x;\n' }],
    ['any', 'typescript(no-explicit-any)', { 'src/runtime/x.ts': 'export const x = (v: any): number => Number(v);\n' }],
  ])('refuses %s', (_, rule, files) => {
    const { ok, output } = lint(files);
    expect(ok).toBe(false);
    expect(output).toContain(rule);
  });
});
