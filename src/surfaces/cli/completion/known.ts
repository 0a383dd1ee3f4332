/** What there is to complete, read off the commands themselves, so that no shell's script lags behind them. */
import type { Command, Option } from 'commander';

export interface KnownOption {
  readonly long: string;
  readonly short: string | null;
  readonly about: string;
  /** Whether a value follows it. */
  readonly valued: boolean;
  /** The values it takes, where they are few and known; a file or a word of your own otherwise. */
  readonly values: readonly string[];
}

export interface Known {
  /** The words that lead to the command; empty for the program itself. */
  readonly path: string;
  readonly options: readonly KnownOption[];
  readonly children: readonly { readonly name: string; readonly about: string }[];
  /** The values that its arguments take, where they are few and known. */
  readonly values: readonly string[];
  /** Whether anything else may stand there: a file, a run. */
  readonly open: boolean;
}

export function knownCommands(command: Command, path: readonly string[] = []): readonly Known[] {
  const help = command.createHelp();
  const options = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)].flatMap(knownOption);
  const given = command.registeredArguments;
  const own: Known = {
    path: path.join(' '),
    options: [...new Map(options.map((option) => [option.long, option])).values()],
    children: help.visibleCommands(command).map((child) => ({ name: child.name(), about: child.description() })),
    values: given.flatMap(({ argChoices = [] }) => argChoices),
    open: given.some(({ argChoices }) => argChoices === undefined),
  };
  return [own, ...command.commands.flatMap((child) => knownCommands(child, [...path, child.name()]))];
}

/** What may stand where no option is being typed. Where nothing else may, the options are offered unasked. */
export function wordsOf({ children, values, open, options }: Known): readonly { name: string; about: string }[] {
  const words = [...children, ...values.map((name) => ({ name, about: '' }))];
  return words.length > 0 || open ? words : options.map(({ long, about }) => ({ name: long, about }));
}

/** Every way to write an option, with the command that takes it. */
export function spellings({ path }: Known, { long, short }: KnownOption): readonly string[] {
  return [long, ...(short === null ? [] : [short])].map((name) => `${path} ${name}`);
}

/** For a POSIX shell and for fish alike. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function knownOption(option: Option): readonly KnownOption[] {
  const { long, short, description, argChoices = [], required, optional } = option;
  if (typeof long !== 'string') return [];
  return [{ long, short: short ?? null, about: description, valued: required || optional, values: argChoices }];
}
