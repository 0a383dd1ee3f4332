/** Models and people by script; plugins and checks for real, where the script does not stand in for them. */
import { join } from 'node:path';
import { evidencePerformer } from '../../src/effects/evidence/performer.ts';
import { isPolicyCheck, policyPerformer } from '../../src/effects/policy/performer.ts';
import { scriptedPerformer } from '../../src/effects/scripted/performer.ts';
import type { Script } from '../../src/effects/scripted/script.ts';
import { toolPerformer } from '../../src/effects/tools/performer.ts';
import type { Performer } from '../../src/runtime/ports.ts';

export function world(script: Script, workDir: string): Performer {
  const tools = toolPerformer({ workDir });
  // The folder of a case, as for the compiler.
  const evidence = evidencePerformer({
    workDir,
    documentDir: join(import.meta.dirname, 'team', 'validator-of-your-own'),
  });
  const policy = policyPerformer();
  return scriptedPerformer(script, {
    perform: (call) =>
      (isPolicyCheck(call.command) ? policy : call.command.kind === 'check' ? evidence : tools).perform(call),
  });
}
