/** A gate that runs a command of the author in the sandbox: it passes by the exit status, so no word of an agent counts. */
import { setting } from './artifacts.ts';
import { invalid, pass, type Evidence, type Verdict } from './evidence.ts';
import { isAboutTests, ranNoTests } from './no-tests.ts';
import { outcomeOf, tailOf } from './run.ts';
import { withoutAssertions } from './validators/reports.ts';

const TIMEOUT_MS = 300_000;

/** A test command must also run a test, and every test file that was written in this session must assert something. */
export async function runGate(evidence: Evidence): Promise<Verdict> {
  const command = setting(evidence, 'run');
  const timeoutMs = Number(evidence.config['timeoutMs'] ?? TIMEOUT_MS);
  const ran = await outcomeOf(evidence, command, timeoutMs);
  if (ran.exitCode !== 0)
    return invalid(`The engine ran \`${command}\`, which ended with exit code ${ran.exitCode}.\n${tailOf(ran)}`);
  if (!isAboutTests(command)) return pass();
  if (ranNoTests(`${ran.stdout}\n${ran.stderr}`))
    return invalid(`The engine ran \`${command}\`, and its output reports that no test ran.\n${tailOf(ran)}`);
  return (await withoutAssertions(evidence, {})) ?? pass();
}
