/**
 * The command line's front door: takes the arguments, leaves an exit status, and tells every error the same way. It ends by
 * itself once nothing is left to do, so that what was written to a pipe always arrives.
 */
import { reportError } from './report-error.ts';
import { createProgram } from './program.ts';
import { createScreen } from './screen.ts';
import { usageErrorOf } from './usage.ts';

export async function main(args: readonly string[]): Promise<void> {
  endWithLauncher();
  const screen = createScreen();
  const options = { json: args.includes('--json'), debug: args.includes('--debug') };
  try {
    process.exitCode = 0;
    await createProgram(screen).parseAsync([...args], { from: 'user' });
  } catch (error) {
    const usage = usageErrorOf(error);
    if (usage === null) return;
    process.exitCode = reportError(usage, screen, options);
  }
}

/** Started on an older Node, the launcher waits for us; when it is killed, we are told to stop as it was. */
function endWithLauncher(): void {
  if (process.env['SLUICE_LAUNCHER'] === undefined || process.channel === undefined || process.channel === null) return;
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel.unref();
}
