/** `sluice completion`: a completion script, generated from the commands. */
import type { Command } from 'commander';
import { bash } from '../completion/bash.ts';
import { fish } from '../completion/fish.ts';
import { knownCommands, type Known } from '../completion/known.ts';
import { zsh } from '../completion/zsh.ts';
import type { Cli } from '../context.ts';
import { OK, type ExitStatus } from '../exit-status.ts';

export type Shell = keyof typeof SHELLS;

export async function completionCommand(cli: Cli, shell: Shell, program: Command): Promise<ExitStatus> {
  const script = SHELLS[shell](knownCommands(program));
  if (cli.json) cli.printJson({ shell, script });
  else cli.screen.printData(script);
  return OK;
}

const SHELLS = { bash, zsh, fish } as const satisfies { readonly [shell: string]: (known: readonly Known[]) => string };
