/**
 * Programs that tests start. Before the tests they are joined into a few files, because Node starts one in half the time that
 * its sources need. Without that, as in `npm run crash`, the sources run.
 */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');
const OUT = join(root, 'dist/programs');
/** The files that the programs were made of. */
const STAMP = join(OUT, 'sources.json');

const PROGRAMS = [
  'crash/clocked-worker.ts',
  'crash/disk-scene.ts',
  'crash/effect-server.ts',
  'crash/team-worker.ts',
  'crash/worker.ts',
  'journals/child.ts',
  'memory/killed-writer.ts',
  'tools/mcp-bad-server.ts',
  'tools/mcp-good-server.ts',
  'tools/mcp-telling-server.ts',
  'tools/run-program.ts',
  'tools/run-shell.ts',
] as const;

/** The file that Node starts. */
export function program(name: (typeof PROGRAMS)[number]): string {
  return process.env['SLUICE_TEST_PROGRAMS'] === undefined ? join(root, 'test', name) : join(OUT, `${entry(name)}.mjs`);
}

function entry(name: string): string {
  return name.replace('/', '-').replace('.ts', '');
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
  const { rolldown } = await import('rolldown');
  const bundling = await rolldown({
    input: Object.fromEntries(PROGRAMS.map((name) => [entry(name), join(root, 'test', name)])),
    platform: 'node',
    external: /^(?!\.|\/|zod|yaml|ajv|re2js|@modelcontextprotocol)/,
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
  const sources = output
    .flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []))
    .filter((id) => existsSync(id));
  writeFileSync(STAMP, JSON.stringify([import.meta.filename, ...sources]));
}

/** A program finds the files beside its source. */
function withFolder(code: string, id: string): string | undefined {
  if (!id.startsWith(join(root, 'test'))) return undefined;
  return code.replaceAll('import.meta.dirname', JSON.stringify(dirname(id)));
}
