/** `sluice keys`: makes and lists the keys with which people sign their answers. */
import type { Options } from '../command-table.ts';
import type { Cli } from '../context.ts';
import { addKey, listKeys } from '../keys.ts';
import { table } from '../text.ts';
import { withCommandName } from '../command-name.ts';

export async function keysAddCommand(cli: Cli, name: string, { out }: Options<'keys add'>): Promise<void> {
  const added = addKey(name, out);
  if (cli.json) cli.printJson(added);
  else {
    cli.screen.printData(`- { id: ${name}, roles: [], key: "${added.key}" }`);
    cli.hint(`The private key is in ${added.file}; only you can read it. Put the line above under \`people\`.`);
  }
}

export async function keysListCommand(cli: Cli): Promise<void> {
  const keys = listKeys();
  if (cli.json) cli.printJson(keys);
  else if (keys.length === 0) cli.hint(withCommandName('no keys yet; make one with `sluice keys add NAME`'));
  else cli.screen.print(table(keys.map(({ name, key, file }) => [name, key ?? 'cannot be used', file])));
  for (const each of keys) if (each.key === null) cli.hint(each.problem);
}
