/** `sluice doctor`: what this machine has and lacks. Says whether a key is there, never what it is. */
import type { Cli } from '../context.ts';
import { FAILED, OK, type ExitStatus } from '../exit-status.ts';
import { examine, type Finding } from '../machine.ts';
import { table } from '../text.ts';

export async function doctorCommand(cli: Cli): Promise<ExitStatus> {
  const findings = await examine(cli.db);
  const ok = findings.every(({ status }) => status !== 'bad');
  if (cli.json) cli.printJson({ ok, checks: findings });
  else cli.screen.print(`${table(findings.map(rowOf))}\n\n${ok ? 'ready' : 'not ready: see what is marked `bad`'}`);
  return ok ? OK : FAILED;
}

function rowOf({ name, status, found, help }: Finding): string[] {
  return [status, name, help === undefined ? found : `${found} (${help})`];
}
