/** Refuses to continue a run whose code has changed since it started, unless the operator accepts the change. */
import { acceptedModules, changedModules } from '../../effects/pins.ts';
import type { RunId } from '../../ir/events.ts';
import { SluiceError } from '../../runtime/errors.ts';
import { readRun } from '../../runtime/journal/read.ts';
import { currentUser } from './ask-person.ts';
import type { Session } from './session.ts';
import type { WorldOptions } from './world.ts';

export async function checkCode(
  { store, engine }: Session,
  run: RunId,
  options: Pick<WorldOptions, 'acceptChangedCode'>,
): Promise<void> {
  const { state } = await readRun(store.journal, run);
  const pins = state.origin.pins ?? {};
  const changed = state.outcome === null ? changedModules(pins) : [];
  if (changed.length === 0) return;
  if (options.acceptChangedCode !== true)
    throw new SluiceError(
      'code-changed',
      `the code of run \`${run}\` has changed since it started: ${changed.map((file) => `\`${file}\``).join(', ')}`,
      'Restore the files, or accept the change with `--accept-changed-code`.',
    );
  await engine.repin(run, currentUser(), acceptedModules(pins));
}
