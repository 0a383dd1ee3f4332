/** The files of the examples of teams. */
import { cpSync, existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Script } from '@sluice-internal/library/host';

const root = join(import.meta.dirname, '../../examples');
export const INPUT = 'Do it well.';

export function exampleNames(): string[] {
  return readdirSync(root).flatMap((file) =>
    file.endsWith('.team.yaml') ? [file.slice(0, -'.team.yaml'.length)] : [],
  );
}

/** The file of the document, and its text. */
export function exampleDocument(name: string): { readonly file: string; readonly text: string } {
  const file = `${name}.team.yaml`;
  return { file, text: readFileSync(join(root, file), 'utf8') };
}

export function exampleScript(name: string): Script {
  return parse(readFileSync(join(root, `${name}.script.yaml`), 'utf8')) as Script;
}

/** Where an example works: a copy of its repository, where it has one. */
export function layOut(name: string, workDir: string): void {
  const repository = join(root, `${name}-repo`);
  if (existsSync(repository)) cpSync(repository, workDir, { recursive: true });
}
