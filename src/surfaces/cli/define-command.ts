/** The parts from which all commands are built. */
import type { Command } from 'commander';
import type { Cli, ExitStatus } from './context.ts';

type Handler<Args extends readonly unknown[]> = (cli: Cli, ...args: Args) => Promise<ExitStatus | void>;

export type Caller = <Args extends readonly unknown[]>(
  load: () => Promise<Handler<Args>>,
) => (...args: unknown[]) => Promise<void>;

/** Usual arguments. */
export const RUN = ['<run>', 'the id of a run'] as const;
export const FLOW = ['<file>', 'a flow document'] as const;

export function define(parent: Command, name: string, about: string, argument?: typeof RUN | typeof FLOW): Command {
  const command = parent.command(name).description(about);
  return argument === undefined ? command : command.argument(argument[0], argument[1]);
}

/** Options of the commands that an operator changes the database with. */
export function asOperator(command: Command): Command {
  return command.option('--as <who>', 'the name of the person who does it').option('--why <text>', 'the reason');
}
