/** The files that a shell command line writes, as far as the line names them. */
import { tokensOf } from './command-tokens.ts';
import { READERS, isIdle, readCommandLine, unwrapped, type SimpleCommand } from './commands.ts';

const GIT_READS = new Set('status log diff show blame grep ls-files rev-parse branch remote config'.split(' '));
const GIT_CHANGES = new Set('apply am restore revert cherry-pick merge pull rebase stash'.split(' '));
const IN_PLACE = /^(?:-[a-zA-Z]*i|--in-place)/;
const SHELL = /^(?:.*\/)?(?:ba|da|z|k)?sh$/;
const DEPTH_MAX = 4;

/** Files by name. Other changes, such as `git apply x.patch`, are in `changes` as they were written. */
export function writesOf(line: string): { readonly paths: readonly string[]; readonly changes: readonly string[] } {
  const paths = [...targetsIn(line)];
  const changes: string[] = [];
  for (const command of readCommandLine(line).all) {
    const [name, args] = partsOf(command);
    paths.push(...argumentsWritten(name, args));
    if (changesFiles(name, args)) changes.push(command.text);
  }
  return { paths, changes };
}

/** The files after `>`, also in the text that a shell is given to run. */
function targetsIn(line: string, depth = 0): readonly string[] {
  const targets: string[] = [];
  const tokens = (depth > DEPTH_MAX ? null : tokensOf(line, targets)) ?? [];
  const inner = tokens.filter(({ bare }, at) => {
    const [shell, option] = [tokens[at - 2]?.bare ?? '', tokens[at - 1]?.bare ?? ''];
    return /^-\w*c$/.test(option) && SHELL.test(shell) && bare !== '';
  });
  return [...targets, ...inner.flatMap(({ bare }) => targetsIn(bare, depth + 1))];
}

/** False if every command of the line only prints or reads. */
export function mayWrite(line: string): boolean {
  const { paths, changes } = writesOf(line);
  return paths.length + changes.length > 0 || readCommandLine(line).all.some((command) => !isReader(command));
}

function isReader(command: SimpleCommand): boolean {
  const [name, args] = partsOf(command);
  if (isIdle(command) || READERS.has(name)) return true;
  if (name === 'git') return GIT_READS.has(args[0] ?? '');
  if (name === 'sed') return !args.some((arg) => IN_PLACE.test(arg));
  return name === 'find' && !args.some((arg) => /^-(?:exec|execdir|ok|delete|fprint)/.test(arg));
}

function argumentsWritten(name: string, args: readonly string[]): readonly string[] {
  const plain = args.filter((arg) => !arg.startsWith('-'));
  if (['tee', 'rm', 'unlink', 'mv', 'truncate'].includes(name)) return plain;
  if (['cp', 'install', 'ln'].includes(name)) return plain.slice(-1);
  const edits = (name === 'sed' || name === 'perl') && args.some((arg) => IN_PLACE.test(arg));
  return edits ? plain.slice(1) : [];
}

function changesFiles(name: string, args: readonly string[]): boolean {
  if (name === 'patch') return true;
  if (name !== 'git') return false;
  const [verb = ''] = args;
  if (verb === 'reset') return args.includes('--hard');
  return verb === 'checkout' ? args.includes('--') || args.includes('.') : GIT_CHANGES.has(verb);
}

function partsOf({ words }: SimpleCommand): readonly [name: string, args: readonly string[]] {
  const [name = '', ...args] = unwrapped(words);
  return [name.slice(name.lastIndexOf('/') + 1), args];
}
