/** `sluice keys`: makes and lists the keys with which people sign their answers. */
import type { Cli } from '../context.ts';
import { OK, type ExitStatus } from '../exit-status.ts';
import { addKey, listKeys } from '../keys.ts';
import { table } from '../text.ts';
import { withCommandName } from '../command-name.ts';

export interface KeysAddOptions {
  readonly out?: string;
}

export async function keysAddCommand(cli: Cli, name: string, options: KeysAddOptions): Promise<ExitStatus> {
  const added = addKey(name, options.out);
  if (cli.json) cli.printJson(added);
  else {
    cli.screen.printData(`- { id: ${name}, roles: [], key: "${added.key}" }`);
    cli.hint(`The private key is in ${added.file}; only you can read it. Put the line above under \`people\`.`);
  }
  return OK;
}

export async function keysListCommand(cli: Cli): Promise<ExitStatus> {
  const keys = listKeys();
  if (cli.json) cli.printJson(keys);
  else if (keys.length === 0) cli.hint(withCommandName('no keys yet; make one with `sluice keys add NAME`'));
  else cli.screen.print(table(keys.map(({ name, key, file }) => [name, key, file])));
  return OK;
}
