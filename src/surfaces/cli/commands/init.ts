/** `sluice init`: a new project that runs offline. Overwrites files only with `--force`. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withCommandName } from '../command-name.ts';
import type { Cli } from '../context.ts';
import { OK, type ExitStatus } from '../exit-status.ts';
import { PROJECT_FILES } from '../init-files.ts';
import { makeFolder } from '../option-values.ts';
import { shellWord } from '../text.ts';
import { usage } from '../usage.ts';

export interface InitOptions {
  readonly force?: boolean;
}

export async function initCommand(cli: Cli, dir: string, { force = false }: InitOptions): Promise<ExitStatus> {
  makeFolder('init', dir);
  const files = Object.keys(PROJECT_FILES);
  const there = files.filter((file) => existsSync(join(dir, file)));
  if (there.length > 0 && !force)
    throw usage(
      `${there.map((file) => `\`${join(dir, file)}\``).join(', ')} would be overwritten`,
      'Choose an empty folder, or add `--force`.',
    );
  for (const [file, text] of Object.entries(PROJECT_FILES)) writeFileSync(join(dir, file), text);
  if (cli.json) cli.printJson({ dir, files });
  else cli.screen.print(nextSteps(dir, files));
  return OK;
}

function nextSteps(dir: string, files: readonly string[]): string {
  const enter = dir === '.' ? [] : [`  cd ${shellWord(dir)}`];
  return [
    `created ${files.join(', ')}${dir === '.' ? '' : ` in ${dir}`}`,
    '',
    'Next:',
    ...enter,
    withCommandName('  sluice check support.flow.yaml'),
    withCommandName('  sluice run support.flow.yaml --script support.script.yaml --input @input.json'),
  ].join('\n');
}
