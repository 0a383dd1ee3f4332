/** Turns errors of the argument parser into usage errors with the nearest name. */
import { CommanderError } from 'commander';
import { SluiceError } from '../../runtime/errors.ts';

/** `help` or `version` if the user asked for it, else null. */
export function askedFor(error: unknown): 'help' | 'version' | null {
  if (!(error instanceof CommanderError) || error.exitCode !== 0) return null;
  return error.code === 'commander.version' ? 'version' : 'help';
}

export function usageErrorOf(error: unknown): unknown {
  if (!(error instanceof CommanderError)) return error;
  // Help was shown, but a script that forgot the command must notice.
  if (error.code === 'commander.help')
    return new SluiceError('usage', 'a command is missing', 'Choose one of those above.');
  const [sentence = '', ...rest] = error.message.replace(/^error: /, '').split('\n');
  const meant = /\(Did you mean (?:one of )?(.+?)\?\)/.exec(rest.join(' '))?.[1];
  const help = meant === undefined ? 'Run `sluice --help`, or `sluice help COMMAND`.' : `Did you mean \`${meant}\`?`;
  return new SluiceError('usage', sentence.replaceAll("'", '`'), help);
}

export function usage(message: string, help?: string): SluiceError {
  return new SluiceError('usage', message, help);
}
