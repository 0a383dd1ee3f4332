/** Each rule about purity and style is a command that fails. Two compiler runs and two linter runs show all of them. */
import { beforeAll, describe, expect, test } from 'vitest';
import { PURE } from '../../architecture.ts';
import { build, lint } from './mini-project.ts';

const ACTS = {
  log: "console.log('x');",
  exit: 'process.exit(1);',
  fetch: "void fetch('x');",
  timer: 'setTimeout(() => undefined, 1);',
  clock: 'performance.now();',
  chance: 'crypto.randomUUID();',
};
const impure = PURE.flatMap((name) =>
  Object.entries(ACTS).map(
    ([act, text]) =>
      [name, text, `packages/${name}/src/act-${act}.ts`, `${text}\nexport const x: number = 1;\n`] as const,
  ),
);
const nodeModules = PURE.map(
  (name) =>
    [
      name,
      `packages/${name}/src/act-node.ts`,
      "import { readFileSync } from 'node:fs';\nexport const x: unknown = readFileSync;\n",
    ] as const,
);
const libraries =
  "import { Environment } from '@marcbachmann/cel-js';\nimport { RE2JS } from 're2js';\nexport const x: unknown = [Environment, RE2JS];\n";

describe('the build', () => {
  let good: ReturnType<typeof build>;
  let bad: ReturnType<typeof build>;
  beforeAll(() => {
    good = build({ 'packages/kernel/src/libraries.ts': libraries });
    bad = build({
      'packages/kernel/src/libraries.ts': `${libraries}console.log(x);\n`,
      ...Object.fromEntries(impure.map(([, , path, text]) => [path, text])),
      ...Object.fromEntries(nodeModules.map(([, path, text]) => [path, text])),
    });
  }, 60_000);

  test('accepts a project whose imports follow the arrows', () => {
    expect(good).toEqual({ ok: true, output: '' });
  });

  test('is not softened by the types of the libraries that the pure packages use', () => {
    expect(bad.output).toContain('packages/kernel/src/libraries.ts(4,');
  });

  test.each(impure)('refuses in %s: %s', (_, __, path) => {
    expect(bad.output).toContain(`${path}(1,`);
  });

  test.each(nodeModules)('refuses a module of Node in %s', (_, path) => {
    expect(bad.output).toContain(`${path}(1,`);
  });
});

const RULES: readonly (readonly [string, string, { readonly [path: string]: string }])[] = [
  [
    'an import cycle',
    'import(no-cycle)',
    {
      'packages/kernel/src/x.ts': "import { y } from './y.ts';\nexport const x = (): number => y();\n",
      'packages/kernel/src/y.ts': "import { x } from './x.ts';\nexport const y = (): number => x();\n",
    },
  ],
  [
    'a clock in the core',
    'eslint(no-restricted-properties)',
    { 'packages/kernel/src/now.ts': 'export const x = (): number => Date.now();\n' },
  ],
  [
    'randomness in the compiler',
    'eslint(no-restricted-properties)',
    { 'packages/compile/src/random.ts': 'export const x = (): number => Math.random();\n' },
  ],
  [
    'a promise without await',
    'typescript(no-floating-promises)',
    { 'packages/engine/src/float.ts': 'export const x = (): void => {\n  Promise.resolve(1);\n};\n' },
  ],
  [
    'a promise used as a boolean',
    'typescript(no-misused-promises)',
    { 'packages/engine/src/misuse.ts': 'export const x = (p: Promise<number>): number => (p ? 1 : 2);\n' },
  ],
  [
    'a default export',
    'import(no-default-export)',
    { 'packages/engine/src/default.ts': 'const x = 1;\nexport default x;\n' },
  ],
  [
    'any',
    'typescript(no-explicit-any)',
    { 'packages/engine/src/any.ts': 'export const x = (v: any): number => Number(v);\n' },
  ],
];

describe('the linter', () => {
  let good: ReturnType<typeof lint>;
  let bad: ReturnType<typeof lint>;
  beforeAll(() => {
    good = lint({});
    bad = lint({
      ...Object.fromEntries(RULES.flatMap(([, , files]) => Object.entries(files))),
      ...Object.fromEntries(nodeModules.map(([, path, text]) => [path, text])),
    });
  }, 60_000);

  test('accepts a project whose imports follow the arrows', () => {
    expect(good).toMatchObject({ ok: true });
  });

  test.each(RULES)('refuses %s', (_, rule, files) => {
    for (const path of Object.keys(files)) expect(linesAbout(path)).toContain(rule);
  });

  test.each(nodeModules)('refuses a module of Node in %s', (_, path) => {
    expect(linesAbout(path)).toContain('eslint(no-restricted-imports)');
  });

  function linesAbout(path: string): string {
    return bad.output
      .split('\n')
      .filter((line) => line.includes(`${path}:`))
      .join('\n');
  }
});
