/** Reads commands, options and values from the program, so that completion never lags behind. */
import type { Command, Option } from 'commander';

export interface KnownOption {
  readonly long: string;
  readonly short: string | null;
  readonly about: string;
  /** True if the option takes a value. */
  readonly valued: boolean;
  /** The values it accepts, if they are a short fixed list. */
  readonly values: readonly string[];
}

export interface Known {
  /** The words that lead to the command. Empty for the program itself. */
  readonly path: string;
  readonly options: readonly KnownOption[];
  readonly children: readonly { readonly name: string; readonly about: string }[];
  /** The values that its arguments accept, if they are a short fixed list. */
  readonly values: readonly string[];
  /** True if a file or a run id may follow. */
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

/** Words to offer if no option is being typed. Offers the options if there is nothing else. */
export function wordsOf({ children, values, open, options }: Known): readonly { name: string; about: string }[] {
  const words = [...children, ...values.map((name) => ({ name, about: '' }))];
  return words.length > 0 || open ? words : options.map(({ long, about }) => ({ name: long, about }));
}

/** Every spelling of an option, with its command. */
export function spellings({ path }: Known, { long, short }: KnownOption): readonly string[] {
  return [long, ...(short === null ? [] : [short])].map((name) => `${path} ${name}`);
}

/** Quotes for POSIX shells and fish. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function knownOption(option: Option): readonly KnownOption[] {
  const { long, short, description, argChoices = [], required, optional } = option;
  if (typeof long !== 'string') return [];
  return [{ long, short: short ?? null, about: description, valued: required || optional, values: argChoices }];
}
