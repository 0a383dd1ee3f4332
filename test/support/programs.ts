/**
 * Programs that tests start. Before the tests they are joined into a few files, because Node starts one in half the time that
 * its sources need. Without that, as in `npm run crash`, the sources run.
 */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { InputOptions } from 'rolldown';

const root = join(import.meta.dirname, '../..');
const OUT = join(root, 'dist/programs');
/** The files that the programs were made of. */
const STAMP = join(OUT, 'sources.json');

const PROGRAMS = [
  'test/crash/refund-worker.ts',
  'test/crash/beating-worker.ts',
  'test/crash/clocked-worker.ts',
  'test/crash/disk-scene.ts',
  'test/crash/effect-server.ts',
  'test/crash/team-worker.ts',
  'test/crash/worker.ts',
  'packages/store-sqlite/test/journals/child.ts',
  'packages/store-sqlite/test/memory/killed-writer.ts',
  'packages/tools/test/tools/mcp-bad-server.ts',
  'packages/tools/test/tools/mcp-good-server.ts',
  'packages/tools/test/tools/mcp-telling-server.ts',
  'packages/tools/test/tools/run-program.ts',
  'packages/tools/test/tools/run-shell.ts',
] as const;

/** The file that Node starts. */
export function program(name: (typeof PROGRAMS)[number]): string {
  return process.env['SLUICE_TEST_PROGRAMS'] === undefined ? join(root, name) : join(OUT, `${entry(name)}.mjs`);
}

/** Reference servers of MCP from npm. */
const SERVERS = ['everything', 'filesystem', 'memory'] as const;
export type ReferenceServer = (typeof SERVERS)[number];

export function referenceServer(name: ReferenceServer): string {
  return process.env['SLUICE_TEST_PROGRAMS'] === undefined ? installed(name) : join(OUT, `server-${name}.mjs`);
}

function installed(name: ReferenceServer): string {
  const own = createRequire(import.meta.url).resolve(`@modelcontextprotocol/server-${name}/package.json`);
  return join(dirname(own), 'dist/index.js');
}

function entry(name: string): string {
  return name.replaceAll('/', '-').replace('.ts', '');
}

export async function buildPrograms(): Promise<void> {
  if (!areBuilt()) await build();
  process.env['SLUICE_TEST_PROGRAMS'] = OUT;
}

function areBuilt(): boolean {
  if (!existsSync(STAMP)) return false;
  const at = statSync(STAMP).mtimeMs;
  const sources = JSON.parse(readFileSync(STAMP, 'utf8')) as readonly string[];
  // A folder that was copied from another checkout names the files of that checkout.
  return (
    sources[0] === import.meta.filename && sources.every((file) => existsSync(file) && statSync(file).mtimeMs <= at)
  );
}

async function build(): Promise<void> {
  const sources = [
    ...(await joined({
      input: Object.fromEntries(PROGRAMS.map((name) => [entry(name), join(root, name)])),
      external: /^(?!\.|\/|zod|yaml|ajv|re2js|@modelcontextprotocol)/,
    })),
    ...(await joined({ input: Object.fromEntries(SERVERS.map((name) => [`server-${name}`, installed(name)])) })),
  ];
  writeFileSync(STAMP, JSON.stringify([import.meta.filename, ...sources]));
}

/** Writes the joined files, and returns those that they were made of. */
async function joined(options: InputOptions): Promise<readonly string[]> {
  const { rolldown } = await import('rolldown');
  const bundling = await rolldown({
    ...options,
    platform: 'node',
    plugins: [{ name: 'folders', transform: withFolder }],
  });
  mkdirSync(OUT, { recursive: true });
  const { output } = await bundling.write({
    dir: OUT,
    format: 'esm',
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name]-[hash].mjs',
  });
  await bundling.close();
  return output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : [])).filter((id) => existsSync(id));
}

/** A program finds the files beside its source. */
function withFolder(code: string, id: string): string | undefined {
  if (id.startsWith(root) && id.includes('/test/'))
    return code.replaceAll('import.meta.dirname', JSON.stringify(dirname(id)));
  const isServer = id.includes('/@modelcontextprotocol/server-');
  return isServer ? code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)) : undefined;
}
