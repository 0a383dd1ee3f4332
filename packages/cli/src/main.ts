/**
 * Entry point of the command line: runs one command and sets the exit status. The process ends when nothing is left to
 * do, so that piped output is complete.
 */
import { CommanderError, type Command } from 'commander';
import { reportError, reportLost, type OutputOptions } from './view/report-error.ts';
import { createProgram } from './program.ts';
import { createScreen, usage } from '@sluice-internal/library/documents';
import type { Screen } from '@sluice-internal/library/documents';
import { watchForSuddenEnd } from './session/sudden-end.ts';

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
  const program = createProgram(screen, (part) => void (text += part));
  try {
    process.exitCode = 0;
    await program.parseAsync([...args], { from: 'user' });
  } catch (error) {
    const asked = askedFor(error);
    if (asked === null) process.exitCode = reportError(usageErrorOf(error, program, args), screen, options);
    else if (options.json) screen.printData(JSON.stringify({ [asked]: text.trimEnd() }, null, 2));
    else screen.print(text.trimEnd());
  }
}

/** `help` or `version` if the user asked for it, else null. */
function askedFor(error: unknown): 'help' | 'version' | null {
  if (!(error instanceof CommanderError) || error.exitCode !== 0) return null;
  return error.code === 'commander.version' ? 'version' : 'help';
}

/** Turns an error of the argument parser into a usage error with the nearest name, or with the usage of the command. */
function usageErrorOf(error: unknown, program: Command, args: readonly string[]): unknown {
  if (!(error instanceof CommanderError)) return error;
  // Help was shown, but a script that forgot the command must notice.
  if (error.code === 'commander.help') return usage(missingCommand(args), 'Choose one of those above.');
  const [sentence = '', ...rest] = error.message.replace(/^error: /, '').split('\n');
  const meant = /\(Did you mean (?:one of )?(.+?)\?\)/.exec(rest.join(' '))?.[1];
  const [, option, argument, word, choices] = NOT_A_CHOICE.exec(sentence) ?? [];
  if (choices !== undefined)
    return usage(`\`${option ?? argument}\` cannot be \`${word}\``, `Choose one of ${choices}.`);
  return usage(
    sentence.replace(NO_VALUE, '$1 needs a value').replace(NO_OPTION, '$1 is missing').replaceAll("'", '`'),
    meant === undefined ? usageOf(program, args) : `Did you mean \`${meant}\`?`,
  );
}

function missingCommand([first, second]: readonly string[]): string {
  return first === 'help' && second !== undefined ? `unknown command \`${second}\`` : 'a command is missing';
}

/** The form of the command that the arguments name. */
function usageOf(program: Command, args: readonly string[]): string {
  let command = program;
  let name = 'sluice';
  for (const word of args) {
    const inner = command.commands.find((each) => each.name() === word);
    if (inner === undefined) continue;
    command = inner;
    name += ` ${word}`;
  }
  if (command.commands.length > 0) return `\`${name} --help\` lists the commands and options.`;
  const needed = command.options.flatMap(({ mandatory, flags }) => (mandatory ? [` ${flags}`] : []));
  return `Write \`${name} ${command.usage()}${needed.join('')}\`. \`${name} --help\` explains it.`;
}

const NO_VALUE = /^option ('.+') argument missing$/;
const NO_OPTION = /^required option ('.+') not specified$/;

/** The sentence of the argument parser about a value that is not one of the choices. */
const NOT_A_CHOICE =
  /^(?:option '(?:-\w, )?(--[\w-]+).*?' argument|command-argument value(?=.* for argument '(\w+)')) '(.*)' is invalid.* Allowed choices are (.+)\.$/;

/** If an older Node started us, end when that launcher is killed. */
function endWithLauncher(): void {
  if (process.env['SLUICE_LAUNCHER'] === undefined || process.channel === undefined || process.channel === null) return;
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel.unref();
}

function divertStrayOutput(): void {
  process.stdout.write = process.stderr.write.bind(process.stderr);
}
