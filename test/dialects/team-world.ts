/** Models and people by script; plugins and checks for real, where the script does not stand in for them. */
import { join } from 'node:path';
import { evidencePerformer } from '@sluice-internal/guard/evidence';
import { isPolicyCheck, policyPerformer } from '@sluice-internal/guard/policy';
import { scriptedPerformer } from '@sluice-internal/library/host';
import type { Script } from '@sluice-internal/library/host';
import type { Performer } from '@sluice-internal/engine/ports';
import { shellRunner } from '@sluice-internal/tools/calls';
import { toolPerformer } from '../../packages/library/src/host/performer.ts';

export function world(script: Script, workDir: string): Performer {
  const tools = toolPerformer({ workDir });
  // The folder of a case, as for the compiler.
  const evidence = evidencePerformer({
    workDir,
    documentDir: join(import.meta.dirname, 'team', 'validator-of-your-own'),
    run: shellRunner(),
  });
  const policy = policyPerformer();
  return scriptedPerformer(script, {
    perform: (call) =>
      (isPolicyCheck(call.command) ? policy : call.command.kind === 'check' ? evidence : tools).perform(call),
  });
}
