/** Makes printed commands work as printed: `sluice …` where that is on the PATH, `npx sluice …` in a project. */
import { existsSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import { shellWord } from './text.ts';

const COMMAND =
  /(?<![\w/.-])sluice (?=(?:--help|answer|approvals|audit|backup|breakers|budget|cancel|check|completion|diagnose|diff|doctor|erase|eval|explain|graph|help|init|logs|mcp|metrics|replay|resume|run|runs|schema|show|signal|simulate|trace|watch)\b)/g;

/** Replaces the name of the program in commands that a text prints. */
export function withCommandName(text: string): string {
  name ??= commandName(process.env, process.cwd(), process.argv[1] ?? 'sluice');
  return text.replaceAll(COMMAND, `${name} `);
}
let name: string | undefined;

export function commandName(env: NodeJS.ProcessEnv, cwd: string, script: string): string {
  const isNpm = env['npm_command'] !== undefined || env['npm_lifecycle_event'] !== undefined;
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  if (!isNpm && folders.some((folder) => existsSync(join(folder, 'sluice')))) return 'sluice';
  if (isNpm || isInstalled(cwd)) return 'npx sluice';
  return `node ${shellWord(relative(cwd, script) || script)}`;
}

function isInstalled(folder: string): boolean {
  if (existsSync(join(folder, 'node_modules', '.bin', 'sluice'))) return true;
  const parent = dirname(folder);
  return parent !== folder && isInstalled(parent);
}
