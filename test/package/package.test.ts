/** The package as it is published: what is in it, how it resolves, on which Nodes it loads, and the projects that it makes. */
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { publint } from 'publint';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { packInto } from '../../scripts/pack.ts';
import { steadyFolder } from '../support/steady-folder.ts';

const root = join(import.meta.dirname, '../..');
const dir = steadyFolder('sluice-package');
const modules = join(dir, 'node_modules');
const installed = join(modules, 'sluice');
const sluice = join(installed, 'bin/sluice.js');
let tarball = '';

/** A test that runs inside of another has this variable, and prints nothing. */
const { NODE_TEST_CONTEXT: _, ...environment } = process.env;

function run(command: string, args: readonly string[], cwd = dir, env: NodeJS.ProcessEnv = environment) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: 'utf8' });
  return { status, stdout, stderr, output: `${stdout}${stderr}` };
}

/** Both packages, unpacked beside the dependencies of the checkout, as an installation would be. Nothing is downloaded. */
beforeAll(() => {
  const packed = packInto(dir);
  for (const [index, name] of ['sluice', 'create-sluice'].entries()) {
    const file = packed[index] ?? '';
    if (name === 'sluice') tarball = file;
    mkdirSync(join(modules, name), { recursive: true });
    run('tar', ['-xzf', file, '-C', join(modules, name), '--strip-components=1']);
  }
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { dependencies: object };
  for (const name of Object.keys(dependencies)) link(name, modules);
}, 60_000);

function link(name: string, folder: string): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  symlinkSync(join(root, 'node_modules', name), join(folder, name));
}

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

  test('has no scripts, which would run on the machine of a user, and nothing else that only the project needs', () => {
    for (const name of ['sluice', 'create-sluice']) {
      const manifest = JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8')) as object;
      for (const field of ['scripts', 'devDependencies', 'workspaces', 'allowScripts'])
        expect(manifest, name).not.toHaveProperty(field);
    }
  });

  test('names every package whose code it has, with version and hash (SBOM)', () => {
    const { components } = JSON.parse(readFileSync(join(installed, 'sbom.cdx.json'), 'utf8')) as {
      readonly components: readonly {
        readonly name: string;
        readonly version: string;
        readonly hashes: readonly { readonly content: string }[];
      }[];
    };
    for (const { name, version, hashes } of components)
      expect([name, version, hashes[0]?.content]).toEqual([
        name,
        expect.stringMatching(/^\d/),
        expect.stringMatching(/^[0-9a-f]{128}$/),
      ]);
    const names = components.map(({ name }) => name);
    const folders = readdirSync(join(root, 'packages')).filter((name) => name !== 'create-sluice');
    for (const folder of ['.', ...folders.map((name) => join('packages', name))]) {
      const { dependencies = {} } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as {
        readonly dependencies?: object;
      };
      const used = Object.keys(dependencies).filter((name) => !name.startsWith('@sluice-internal/'));
      expect(names, folder).toEqual(expect.arrayContaining(used));
    }
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
    for (const name of ['@types/node', 'undici-types']) link(name, join(project, 'node_modules'));
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
    writeFileSync(
      join(project, 'all.ts'),
      `import { createEngine, type ModelObjects } from 'sluice';
import { simulate } from 'sluice/testing';
export const models: ModelObjects = {};
export const all = [createEngine, simulate];
`,
    );
    copyFileSync(join(import.meta.dirname, 'strict-options.ts'), join(project, 'options.ts'));
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
    const env = { ...environment, OPENAI_API_KEY: 'none' };
    const ran = run(process.execPath, [sluice, ...args], dir, env);
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
    const { status, stdout } = run(process.execPath, [sluice, ...args]);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ code: 'SUCCESS' });
  });
});

/** The Nodes at hand: the pinned one, and the one in `node22`. */
const newer = process.execPath;
const older = join(import.meta.dirname, 'node22/node_modules/node/bin/node');

describe('a project that the package makes', () => {
  const made = join(dir, 'made');
  const create = join(modules, 'create-sluice/create.js');

  beforeAll(() => {
    for (const name of ['typescript', '@typescript', '@types', 'undici-types', '.bin/tsc'])
      if (existsSync(join(root, 'node_modules', name))) link(name, join(made, 'node_modules'));
  });

  test('both releases of Node are here', () => {
    const releases = [newer, older].map((node) =>
      run(node, ['-p', 'process.versions.node.split(".")[0]']).stdout.trim(),
    );
    expect(releases).toEqual(['24', '22']);
  });

  test('`npm create sluice` makes the TypeScript template on both', () => {
    const project = join(made, 'created');
    const contents = (node: string, args: readonly string[]): unknown => {
      rmSync(project, { recursive: true, force: true });
      const { status, output } = run(node, [...args, project]);
      expect(status, output).toBe(0);
      const files = readdirSync(project, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
      return files.map(({ parentPath, name }) => [name, readFileSync(join(parentPath, name), 'utf8')]);
    };
    const expected = contents(newer, [sluice, 'init', '--template', 'typescript']);
    for (const node of [newer, older]) expect(contents(node, [create])).toEqual(expected);
  });

  test.each(['support', 'research', 'team', 'typescript'])(
    'every command in the README of %s works as printed, and its test on both releases',
    { timeout: 240_000 },
    (template) => {
      const project = join(made, template);
      const init = [sluice, 'init', '--template', template];
      const started = template === 'typescript' ? run(older, [create, project]) : run(newer, [...init, project]);
      expect(started.status, started.output).toBe(0);
      const commands = commandsIn(readFileSync(join(project, 'README.md'), 'utf8'));
      expect(commands.length).toBeGreaterThanOrEqual(3);
      const outputs = commands.map((command) => {
        const { status, output } = typed(command, project);
        // A run that waits for an answer ends with 3.
        const expected = template === 'support' && / run /.test(command) ? 3 : 0;
        expect([command, status, output]).toEqual([command, expected, output]);
        return output;
      });
      expect(outputs.join('\n')).toContain('  sha256:');
      // `npm test` was one of them, on the newer Node.
      for (const [args, printed] of template === 'typescript' ? COMPILED : [PLAIN]) {
        const { status, output } = run(older, args, project);
        expect(status, output).toBe(0);
        expect(output).toMatch(printed);
      }
    },
  );

  test('an unknown template is refused with the nearest name', () => {
    const refused = run(newer, [sluice, 'init', join(dir, 'x'), '--template', 'typscript']);
    expect([refused.status, refused.output]).toEqual([2, expect.stringContaining('Did you mean `typescript`?')]);
    expect(existsSync(join(dir, 'x'))).toBe(false);
  });

  /** As the shell runs it in the project, with the packed command for `npx sluice`. Nothing is installed. */
  function typed(command: string, project: string) {
    const { scripts } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as {
      scripts: { test: string };
    };
    const line = command
      .replace(/^npm test.*/, scripts.test)
      .replace(/^npx sluice/, `node ${sluice}`)
      .replaceAll(/APPROVAL|RUN/g, (word) => idFor(word, project));
    const path = [dirname(newer), join(made, 'node_modules/.bin'), environment['PATH']].join(':');
    return run('sh', ['-c', line], project, { ...environment, PATH: path });
  }
});

const PLAIN = [['--test'], /pass [1-9]/] as const;
const COMPILED = [
  [['--test', 'dist/refunds.test.js'], /pass 2/],
  [[sluice, 'check', 'dist/refunds.js'], /refunds {2}sha256:/],
] as const;

/** `npm install` loads the packages that are here already, and `npm start` asks a model. */
function commandsIn(readme: string): readonly string[] {
  const blocks = [...readme.matchAll(/^ {4}(\S.*)$/gm)].map(([, command = '']) => command);
  const inline = [...readme.matchAll(/`(npx sluice [^`]+)`/g)].map(([, command = '']) => command);
  return [...blocks, ...inline].filter((command) => !/npm install|npm start/.test(command));
}

/** The id that stands for APPROVAL or RUN in a README. */
function idFor(word: string, project: string): string {
  const [command, id] = word === 'RUN' ? (['runs', /"r_\w+"/] as const) : (['approvals', /"a_[^"]+"/] as const);
  return id.exec(run(newer, [sluice, command, '--json'], project).stdout)?.[0] ?? '';
}
