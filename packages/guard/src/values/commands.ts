/** Calls that run commands in a shell. */
import type { Json } from '@sluice-internal/kernel/expr';
import { mayWrite, writesOf } from '../evidence/command-writes.ts';
import { readCommandLine } from '../evidence/commands.ts';
import type { Observation } from './detector.ts';
import { isChange } from './requests.ts';
import { RUNNING, isSame, stem } from './words.ts';

/** Names of tools that run commands. */
export const RUNNER = /test|shell|exec|command|terminal|bash|(?:^|[._])run|code/i;

/** The command lines in the arguments: a text, or a list of words. */
export function commandsIn(args: Json): readonly string[] {
  if (typeof args === 'string') return [args];
  if (args === null || typeof args !== 'object') return [];
  if (Array.isArray(args)) return args.every((each) => typeof each === 'string') ? [args.join(' ')] : [];
  return Object.values(args).flatMap(commandsIn);
}

/** The call can have performed the action of the verb. A command that only reads, such as `ls`, changes nothing. */
export function canPerform(verb: string, { ok, tool, args }: Observation): boolean {
  if (!ok || !isChange(verb) || RUNNING.has(verb) || !RUNNER.test(tool)) return ok;
  const lines = commandsIn(args);
  return lines.length === 0 || lines.some((line) => mayWrite(line) || INDIRECT.test(line) || WRITING.test(line));
}

/** The line can run commands that it does not name, or that a loop or a condition holds: `ls | xargs rm`, `for f in *; do mv …`. */
const INDIRECT =
  /`|\$\(|\(\)|(?:^|[;|&({'"\n])\s*(?:sudo\s+)?(?:\$|(?:for|while|until|if|case|select|function|eval|xargs|parallel|su|watch|at|batch|script|strace|coproc)\s)/;
/** Commands that mostly read, in a form that changes something. */
const WRITING =
  /\b(?:git (?:branch|config|remote) (?:-\S+ )*[^-\s|;&]|sort [^|;&]*(?:-o|--output)|awk [^|;&]*-i|date [^|;&]*(?:-s|--set)\b)/;

/** A command of the call is named after the action, or is a program for it: `npm install x` for `installed`, `rm` for `deleted`. */
export function runsAction(verb: string, { ok, tool, args }: Observation): boolean {
  if (!ok || !RUNNER.test(tool)) return false;
  return commandsIn(args).some(
    (line) =>
      (isSame(CREATE, verb) && writesOf(line).paths.length > 0) ||
      readCommandLine(line).proven.some(({ text, words }) => mayWrite(text) && words.slice(0, 3).some(names(verb))),
  );
}

const CREATE = stem('create');
const PROGRAMS: { readonly [program: string]: string } = {
  rm: 'delete',
  rmdir: 'delete',
  unlink: 'delete',
  mkdir: 'create',
  touch: 'create',
};

function names(verb: string): (word: string) => boolean {
  const isNamed = (part: string): boolean =>
    isSame(stem((Object.hasOwn(PROGRAMS, part) ? PROGRAMS[part] : undefined) ?? part), verb);
  return (word) => (word.match(/\p{L}+/gu) ?? []).some(isNamed);
}
