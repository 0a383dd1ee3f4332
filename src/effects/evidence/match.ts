/** How commands and paths are compared: without case, by parts, and never by a pattern that matches everything. */
import type { CommandRun } from './evidence.ts';

/** Alternatives are separated by `|`; each is a passage that a command must contain. */
export function matchesPattern(command: string, pattern: string): boolean {
  const said = command.toLowerCase();
  return alternativesOf(pattern).some((part) => said.includes(part));
}

/**
 * Whether commands that succeeded cover a pattern: one alternative suffices; parts joined by `&&` must each have succeeded,
 * possibly in commands of their own. Gives the runs that show it.
 */
export function coveredBy(pattern: string, passed: readonly CommandRun[]): readonly CommandRun[] | null {
  for (const alternative of alternativesOf(pattern)) {
    const parts = alternative
      .split('&&')
      .map((part) => part.trim())
      .filter((part) => part !== '');
    const runs = parts.map((part) => passed.findLast(({ command }) => command.toLowerCase().includes(part)));
    if (parts.length > 0 && runs.every((run) => run !== undefined)) return runs;
  }
  return null;
}

/** Without `./`, doubled slashes and the sandbox's name for the work directory. */
export function normalPath(path: string): string {
  return path
    .replace(/^\/workspace\/+/, '')
    .split('/')
    .filter((name) => name !== '' && name !== '.')
    .join('/');
}

/** The same file, named from the same folder or from one further in. */
export function samePath(a: string, b: string): boolean {
  const [one, two] = [normalPath(a).toLowerCase(), normalPath(b).toLowerCase()];
  if (one === '' || two === '') return false;
  return one === two || one.endsWith(`/${two}`) || two.endsWith(`/${one}`);
}

function alternativesOf(pattern: string): string[] {
  return pattern
    .toLowerCase()
    .split('|')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
