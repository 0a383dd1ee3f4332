/** Before the tests: bundles the sources if they have changed, so that commands and programs which the tests start run the current code quickly. Also builds the pages. */
import { chmodSync, mkdirSync } from 'node:fs';
import { bundle, isBundled } from '../../scripts/bundle.ts';
import { buildStudio, isStudioBuilt } from '../../scripts/studio.ts';
import { CODE_CACHE } from '../../scripts/tool.ts';
import { buildPrograms } from '../support/programs.ts';

export async function setup(): Promise<void> {
  if (!isBundled()) await bundle({ tidy: false });
  if (!isStudioBuilt()) await buildStudio();
  // Mutation testing changes the sources through Vite.
  if (process.env['SLUICE_TESTS'] === undefined) await buildPrograms();
  shareCache();
}

/** Tests that run as root start commands as another user too, which keep their code beside. */
function shareCache(): void {
  mkdirSync(CODE_CACHE, { recursive: true });
  if (process.getuid?.() === 0) chmodSync(CODE_CACHE, 0o1777);
}
