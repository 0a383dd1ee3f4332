/**
 * Entry point of the command line: runs one command and sets the exit status. The process ends when nothing is left to
 * do, so that piped output is complete.
 */
import { CommanderError } from 'commander';
import { reportError, reportLost, type OutputOptions } from './report-error.ts';
import { createProgram } from './program.ts';
import { createScreen, type Screen } from './screen.ts';
import { watchForSuddenEnd } from './sudden-end.ts';
import { usage } from './context.ts';

export async function main(args: readonly string[]): Promise<void> {
  endWithLauncher();
  const screen = createScreen();
  const options = { json: args.includes('--json'), debug: args.includes('--debug') };
  divertStrayOutput();
  const finished = watchForSuddenEnd(screen, options);
  await runCommand(args, screen, options);
  const lost = await screen.delivered();
  if (lost !== null) process.exitCode = reportLost(lost, screen, options);
  finished();
}

/** Runs one command on a screen and sets `process.exitCode`. */
export async function runCommand(args: readonly string[], screen: Screen, options: OutputOptions): Promise<void> {
  let text = '';
  try {
    process.exitCode = 0;
    await createProgram(screen, (part) => void (text += part)).parseAsync([...args], { from: 'user' });
  } catch (error) {
    const asked = askedFor(error);
    if (asked === null) process.exitCode = reportError(usageErrorOf(error), screen, options);
    else if (options.json) screen.printData(JSON.stringify({ [asked]: text.trimEnd() }, null, 2));
    else screen.print(text.trimEnd());
  }
}

/** `help` or `version` if the user asked for it, else null. */
function askedFor(error: unknown): 'help' | 'version' | null {
  if (!(error instanceof CommanderError) || error.exitCode !== 0) return null;
  return error.code === 'commander.version' ? 'version' : 'help';
}

/** Turns an error of the argument parser into a usage error with the nearest name. */
function usageErrorOf(error: unknown): unknown {
  if (!(error instanceof CommanderError)) return error;
  // Help was shown, but a script that forgot the command must notice.
  if (error.code === 'commander.help') return usage('a command is missing', 'Choose one of those above.');
  const [sentence = '', ...rest] = error.message.replace(/^error: /, '').split('\n');
  const meant = /\(Did you mean (?:one of )?(.+?)\?\)/.exec(rest.join(' '))?.[1];
  const help = meant === undefined ? 'Run `sluice --help`, or `sluice help COMMAND`.' : `Did you mean \`${meant}\`?`;
  return usage(sentence.replaceAll("'", '`'), help);
}

/** If an older Node started us, end when that launcher is killed. */
function endWithLauncher(): void {
  if (process.env['SLUICE_LAUNCHER'] === undefined || process.channel === undefined || process.channel === null) return;
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel.unref();
}

function divertStrayOutput(): void {
  process.stdout.write = process.stderr.write.bind(process.stderr);
}
