/** `sluice init`: a new project that runs offline. Overwrites files only with `--force`. */
import { existsSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { didYouMean } from '@sluice-internal/compile/source';
import { VERSION, createFolder } from '@sluice-internal/platform';
import { makeFolder, shellWord, usage } from '@sluice-internal/library/documents';
import type { Cli } from '@sluice-internal/library/documents';
import { withCommandName } from '../table/command-name.ts';
import type { Options } from '../table/command-table.ts';
import { DESK_FILES } from '../templates/init-files.ts';
import { TEMPLATES, type Template } from '../templates/templates.ts';

export async function initCommand(cli: Cli, dir: string, options: Options<'init'>): Promise<void> {
  const { force = false } = options;
  const { files: project, next } = templateOf(options.template);
  makeFolder('init', dir);
  const files = Object.keys(project);
  const there = files.filter((file) => existsSync(join(dir, file)));
  if (there.length > 0 && !force)
    throw usage(
      `${there.map((file) => `\`${join(dir, file)}\``).join(', ')} would be overwritten`,
      'Choose an empty folder, or add `--force`.',
    );
  for (const [file, text] of Object.entries(project)) {
    createFolder(dirname(join(dir, file)));
    writeFileSync(join(dir, file), file === 'package.json' ? manifestOf(text, dir) : text);
  }
  cli.show({ dir, files }, () => nextSteps(dir, files, next));
}

/** Named after the folder, and with the releases that the template was written for. */
function manifestOf(text: string, dir: string): string {
  const name = basename(resolve(dir))
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
  return text
    .replace('"my-flow"', JSON.stringify(name === '' ? 'my-flow' : name.slice(0, 200)))
    .replace('"sluice": "*"', `"sluice": "^${VERSION}"`);
}

function templateOf(name: string | undefined): Template {
  if (name === undefined) return { files: DESK_FILES, next: FIRST };
  const template = Object.hasOwn(TEMPLATES, name) ? TEMPLATES[name] : undefined;
  if (template !== undefined) return template;
  const known = Object.keys(TEMPLATES);
  throw usage(`there is no template \`${name}\``, didYouMean(name, known, `Choose one of ${known.join(', ')}.`));
}

const FIRST = ['sluice check desk.loop.yaml', 'sluice run desk.loop.yaml --script desk.script.yaml --input @input.txt'];

function nextSteps(dir: string, files: readonly string[], next: readonly string[]): string {
  const enter = dir === '.' ? [] : [`  cd ${shellWord(dir)}`];
  return [
    `created ${files.join(', ')}${dir === '.' ? '' : ` in ${dir}`}`,
    '',
    'Next:',
    ...enter,
    ...next.map((command) => withCommandName(`  ${command}`)),
  ].join('\n');
}
