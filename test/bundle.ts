/** Before the tests: bundles the sources if they have changed, so that commands which the tests start run the current code quickly. */
import { bundle, isBundled } from '../scripts/bundle.ts';

export async function setup(): Promise<void> {
  if (!isBundled()) await bundle({ tidy: false });
}
