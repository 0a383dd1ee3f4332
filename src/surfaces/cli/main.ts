/**
 * The command line's front door: takes the arguments, leaves an exit status, and tells every error the same way. It ends by
 * itself once nothing is left to do, so that what was written to a pipe always arrives.
 */
import { reportError, reportLost } from './report-error.ts';
import { createProgram } from './program.ts';
import { createScreen, type Screen } from './screen.ts';
import { watchForSuddenEnd } from './sudden-end.ts';
import { askedFor, usageErrorOf } from './usage.ts';

export async function main(args: readonly string[]): Promise<void> {
  endWithLauncher();
  const screen = createScreen();
  const options = { json: args.includes('--json'), debug: args.includes('--debug') };
  divertStrayOutput();
  const finished = watchForSuddenEnd(screen, options);
  await command(args, screen, options);
  const lost = await screen.delivered();
  if (lost !== null) process.exitCode = reportLost(lost, screen, options);
  finished();
}

interface Told {
  readonly json: boolean;
  readonly debug: boolean;
}

async function command(args: readonly string[], screen: Screen, options: Told): Promise<void> {
  let text = '';
  try {
    process.exitCode = 0;
    await createProgram(screen, (part) => void (text += part)).parseAsync([...args], { from: 'user' });
  } catch (error) {
    const asked = askedFor(error);
    if (asked === null) process.exitCode = reportError(usageErrorOf(error), screen, options);
    else screen.print(options.json ? JSON.stringify({ [asked]: text.trimEnd() }, null, 2) : text.trimEnd());
  }
}

/** Started on an older Node, the launcher waits for us; when it is killed, we are told to stop as it was. */
function endWithLauncher(): void {
  if (process.env['SLUICE_LAUNCHER'] === undefined || process.channel === undefined || process.channel === null) return;
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel.unref();
}

function divertStrayOutput(): void {
  process.stdout.write = process.stderr.write.bind(process.stderr);
}
