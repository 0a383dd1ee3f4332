/** The package as it is published: what is in it, how it resolves, and on which Nodes it loads. */
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { publint } from 'publint';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const dir = mkdtempSync(join(tmpdir(), 'sluice-package-'));
const installed = join(dir, 'node_modules/sluice');
let tarball = '';

function run(command: string, args: readonly string[], cwd = dir, env: NodeJS.ProcessEnv = process.env) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: 'utf8' });
  return { status, stdout, stderr };
}

/** Unpacked beside the dependencies of the checkout, as an installation would be. */
beforeAll(() => {
  const packed = run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', dir], root);
  const [{ filename }] = JSON.parse(packed.stdout) as [{ readonly filename: string }];
  tarball = join(dir, filename);
  mkdirSync(installed, { recursive: true });
  run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1']);
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { dependencies: object };
  for (const name of Object.keys(dependencies)) {
    mkdirSync(dirname(join(dir, 'node_modules', name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(dir, 'node_modules', name));
  }
}, 60_000);
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Documents that need an optional package each. */
const DOCUMENTS = {
  'model.yaml': 'steps: [{ name: one, agent: a }]\n',
  'policy.yaml': `policies: { all: "permit(principal, action, resource);" }
flow: { id: p, entry: a, nodes: [{ id: a, type: terminal }] }
`,
  'code.yaml': `tools: { sum: { effect: read, code: "1 + 1" } }
flow: { id: c, entry: a, nodes: [{ id: a, type: tool, tool: sum }] }
`,
  'mcp.yaml': `mcp: { files: { command: node, args: [x.js] } }
flow: { id: m, entry: a, nodes: [{ id: a, type: terminal }] }
`,
  'pii.yaml': `pii: { mode: tokenize, types: [phone] }
flow: { id: t, entry: a, nodes: [{ id: a, type: terminal, output: "{{event.payload.text}}" }] }
`,
};

describe('the tarball', () => {
  test('has what its pages refer to, and nothing of the build', () => {
    const files = readdirSync(installed, { recursive: true }) as string[];
    for (const wanted of [
      'README.md',
      'LICENSE',
      'CHANGELOG.md',
      'schema/sluice.schema.json',
      'examples/refund.flow.yaml',
      'docs/guide/engine.md',
      'docs/errors/README.md',
    ])
      expect(files).toContain(wanted);
    expect(files.filter((file) => /\.map$|tsbuildinfo|\.test\.|^src/.test(file))).toEqual([]);
    const links = [...readFileSync(join(installed, 'README.md'), 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(
      ([, path = '']) => path,
    );
    expect(links.length).toBeGreaterThan(3);
    expect(links.filter((path) => !existsSync(join(installed, path)))).toEqual([]);
  });

  test('publint finds nothing', async () => {
    const { messages } = await publint({ pkgDir: installed, strict: true, pack: false });
    expect(messages).toEqual([]);
  });

  test('its types resolve everywhere that ESM does', () => {
    const attw = join(root, 'node_modules/.bin/attw');
    const { status } = run(process.execPath, [attw, tarball, '--profile', 'esm-only', '--format', 'ascii']);
    expect(status).toBe(0);
  }, 60_000);
});

describe('the installed package', () => {
  test('is imported, and required', () => {
    writeFileSync(join(dir, 'a.mjs'), "import { createEngine } from 'sluice'; console.log(typeof createEngine);\n");
    writeFileSync(
      join(dir, 'a.cjs'),
      "console.log(typeof require('sluice').createEngine, typeof require('sluice/testing').simulate);\n",
    );
    expect(run(process.execPath, ['a.mjs']).stdout).toBe('function\n');
    expect(run(process.execPath, ['a.cjs']).stdout).toBe('function function\n');
  });

  test('its types compile in a strict project that checks the types of libraries', () => {
    const strict = {
      strict: true,
      skipLibCheck: false,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
    };
    const lib = ['es2024', 'esnext.disposable'];
    const compilerOptions = { ...strict, target: 'es2024', module: 'nodenext', lib, types: ['node'], noEmit: true };
    const project = join(dir, 'strict');
    mkdirSync(join(project, 'node_modules/@types'), { recursive: true });
    for (const name of ['@types/node', 'undici-types'])
      symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name));
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
    writeFileSync(
      join(project, 'all.ts'),
      `import { createEngine, type ModelObjects } from 'sluice';
import { simulate } from 'sluice/testing';
export const models: ModelObjects = {};
export const all = [createEngine, simulate];
`,
    );
    const { status, stdout } = run(
      process.execPath,
      [join(root, 'node_modules/typescript/bin/tsc'), '--singleThreaded'],
      project,
    );
    expect(stdout).toBe('');
    expect(status).toBe(0);
  }, 60_000);

  test('refuses an old Node with one clear error', () => {
    const OLD = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '22.12.0' } });\n";
    writeFileSync(join(dir, 'old.cjs'), OLD);
    writeFileSync(join(dir, 'b.mjs'), "import 'sluice';\n");
    const { status, stderr } = run(process.execPath, ['--require', './old.cjs', 'b.mjs']);
    expect(status).toBe(1);
    expect(stderr).toContain('sluice needs Node 22.13 or newer');
  });

  test.each([
    ['a model', '@ai-sdk/openai@4', ['run', 'model.yaml', '--model', 'openai/gpt-5-mini']],
    ['policies', '@cedar-policy/cedar-wasm@4', ['check', 'policy.yaml']],
    ['code', 'quickjs-emscripten', ['run', 'code.yaml']],
    ['an MCP server', '@modelcontextprotocol/client@2', ['mcp', 'lock', 'mcp.yaml']],
    ['phone numbers', 'libphonenumber-js@1', ['run', 'pii.yaml', '--input', '{"text": "call +49 30 901820 now"}']],
  ])('without the optional package for %s, one error gives the command', (_, name, args) => {
    for (const [file, text] of Object.entries(DOCUMENTS)) writeFileSync(join(dir, file), text);
    const env = { ...process.env, OPENAI_API_KEY: 'none' };
    const ran = run(process.execPath, [join(installed, 'bin/sluice.js'), ...args], dir, env);
    expect(ran.status, ran.stderr).not.toBe(0);
    expect(ran.stderr).toContain('is not installed');
    expect(ran.stderr).toContain(`npm install ${name}`);
    expect(ran.stderr).not.toMatch(/^\s+at /m);
  });

  test('runs its example by its own command', () => {
    const example = (name: string): string => join(installed, 'examples', name);
    const args = [
      'run',
      example('refund.flow.yaml'),
      '--script',
      example('refund.script.yaml'),
      '--input',
      'x',
      '--json',
    ];
    const { status, stdout } = run(process.execPath, [join(installed, 'bin/sluice.js'), ...args]);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ code: 'SUCCESS' });
  });
});
