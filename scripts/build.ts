/**
 * Builds `dist/`: the types, the bundle that the package runs, and the pages that its server sends. A wrong import direction, or I/O in the core, stops it here. Also
 * writes the JSON Schema of documents, and links the command in `node_modules/.bin`, so that `npx sluice` in a checkout runs it.
 * With `--changed`, a bundle and pages that are newer than their sources stay, as after `npm ci`.
 */
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { documentSchema } from '@sluice-internal/compile/document';
import { NOTATIONS } from '@sluice-internal/notations/driver';
import { bundle, isBundled } from './bundle.ts';
import { writeDeclarations } from './declarations.ts';
import { buildStudio, isStudioBuilt } from './studio.ts';
import { root, run } from './tool.ts';

const built = run('tsc', ['-b', 'packages/cli', 'packages/client', 'packages/studio']);
if (!built.ok) {
  process.stderr.write(`${built.output}\n`);
  process.exitCode = 1;
} else {
  if (!(process.argv.includes('--changed') && isBundled())) await bundle({ tidy: true });
  if (!(process.argv.includes('--changed') && isStudioBuilt())) await buildStudio();
  writeDeclarations();
  writeSchema();
  if (process.platform !== 'win32') link();
}

/** The JSON Schema of documents, for editors. */
function writeSchema(): void {
  mkdirSync(join(root, 'schema'), { recursive: true });
  writeFileSync(join(root, 'schema', 'sluice.schema.json'), `${JSON.stringify(documentSchema(NOTATIONS), null, 2)}\n`);
}

function link(): void {
  const bin = join(root, 'node_modules', '.bin');
  mkdirSync(bin, { recursive: true });
  rmSync(join(bin, 'sluice'), { force: true });
  symlinkSync(join('..', '..', 'bin', 'sluice.js'), join(bin, 'sluice'));
}
