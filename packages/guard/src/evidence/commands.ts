/**
 * Finds the commands of a shell command line that must have succeeded if the line exits with 0.
 * `echo "go test"` runs no test, and `go test || true` exits with 0 even if the test fails; neither counts as evidence.
 *
 * The sandbox runs lines with `pipefail`, so every part of a pipeline counts. A line that cannot be read, or that can change
 * the meaning of its words (`trap`, `alias`, functions), proves nothing.
 */

import { tokensOf, type Token } from './command-tokens.ts';
import { selectsNothing, setsNothing } from './no-tests.ts';

/** One simple command, such as `CI=1 go test ./...`. */
export interface SimpleCommand {
  /** As written, with single spaces. */
  readonly text: string;
  /** The words without quotes; assignments in front are left out. */
  readonly words: readonly string[];
  /** The length of the assignments in front of `text`. */
  readonly assigned: number;
}

export interface CommandLine {
  /** The commands that must have succeeded if the line exits with 0. */
  readonly proven: readonly SimpleCommand[];
  /** Every simple command of the line. */
  readonly all: readonly SimpleCommand[];
}

/** Commands that print, wait, change the shell or negate. They prove nothing. */
const IDLE = setOf(
  'echo printf true : false exit return sleep wait cd pushd popd pwd export set unset local declare readonly typeset shopt ulimit umask shift break continue read yes !',
);
/** Commands that only read files. */
export const READERS = setOf(
  'cat ls head tail less more grep egrep fgrep rg ag wc which type whereis man file stat du df sort uniq cut tr date whoami id diff cmp test [ [[ basename dirname realpath readlink history jq tree xxd od strings awk',
);
/** Commands that read, list or move files. They prove only themselves: `cat pytest.ini` is not a run of pytest. */
const FILE_COMMANDS = new Set([
  ...READERS,
  ...setOf(
    'find sed tee touch mkdir rmdir rm mv cp ln chmod chown git tar zip unzip curl wget install mkfifo mktemp truncate',
  ),
  ...setOf(
    'split rsync scp dd logger base64 md5sum sha256sum sum seq expr uname hostname nproc column fold paste tac rev nl',
  ),
]);
/** Commands that run the command after them, with the options that take the next word as their value. */
const WRAPPERS: { readonly [name: string]: string } = {
  env: '-u --unset -C --chdir',
  command: '',
  builtin: '',
  exec: '-a',
  nohup: '',
  nice: '-n --adjustment',
  ionice: '-c -n --class --classdata',
  time: '-f -o --format --output',
  sudo: '-u -g -C -D -h -p -R -T --user --group',
  doas: '-u -C',
  stdbuf: '-i -o -e',
  setsid: '',
  busybox: '',
  timeout: '-k -s --kill-after --signal',
  npx: '-p --package -w --workspace',
  bunx: '-p --package',
};
/** Commands that run the command after this word: `uv run pytest`. */
const RUNNING: { readonly [name: string]: string } = {
  uv: 'run',
  poetry: 'run',
  pipenv: 'run',
  bundle: 'exec',
  npm: 'exec',
  pnpm: 'exec',
};
/** Commands that may not run the command after them, or not wait for it. */
const UNSURE = setOf('xargs coproc parallel watch at batch script su strace');
/** Interpreters: the text after these options is code, and not a command. */
const INTERPRETERS = /^(?:python[\d.]*|node|nodejs|ruby|perl|php|deno|bun)$/;
const CODE_OPTIONS = setOf('-c -e -p -r --eval --print eval');
const SHELLS = setOf('sh bash dash zsh ksh');
const OPENERS: { readonly [word: string]: string } = {
  if: 'fi',
  for: 'done',
  while: 'done',
  until: 'done',
  select: 'done',
  case: 'esac',
};
const NOTHING: CommandLine = { proven: [], all: [] };
const DEPTH_MAX = 8;

export function readCommandLine(line: string, depth = 0): CommandLine {
  const tokens = depth > DEPTH_MAX ? null : tokensOf(line);
  if (tokens === null) return NOTHING;
  const reader = { tokens, at: 0, all: [] as SimpleCommand[], redefines: false, depth };
  const list = readList(reader, null);
  const isRead = reader.at === tokens.length && !reader.redefines && !tokens.some(({ bare }) => setsNothing(bare));
  return { all: reader.all, proven: isRead ? list.proven : [] };
}

/**
 * True if the pattern occurs in one of the commands. `|` separates alternatives; within one, `&&` separates parts that must
 * all occur. Letter case does not matter.
 */
export function contains(commands: readonly SimpleCommand[], pattern: string): boolean {
  return alternativesOf(pattern).some((parts) => parts.every((part) => commands.some((each) => shows(each, part))));
}

export function alternativesOf(pattern: string): readonly (readonly string[])[] {
  return pattern
    .split('|')
    .map((alternative) =>
      alternative
        .split('&&')
        .map(squeezed)
        .filter((part) => part !== ''),
    )
    .filter((parts) => parts.length > 0);
}

/** True if the command does something, and the part occurs in it. */
export function shows(command: SimpleCommand, part: string): boolean {
  if (isIdle(command)) return false;
  const wanted = squeezed(part);
  const [text, bare] = [squeezed(command.text), squeezed(command.words.join(' '))];
  if (runsCode(command) || isFileCommand(command)) return bare.startsWith(wanted) || text.startsWith(wanted);
  // A pattern may begin with an assignment (`CI=1 npm test`), but the value of one alone runs nothing.
  return (
    bare.includes(wanted) || text.lastIndexOf(wanted) + wanted.length > Math.max(command.assigned, wanted.length - 1)
  );
}

/** True if the command reads, lists or moves files: `cat pytest.ini` runs no test. */
function isFileCommand({ words }: SimpleCommand): boolean {
  return FILE_COMMANDS.has(nameOf(words));
}

/** `python3 -c "print('go test')"` */
function runsCode({ words }: SimpleCommand): boolean {
  return INTERPRETERS.test(nameOf(words)) && unwrapped(words).some((word) => CODE_OPTIONS.has(word));
}

/** True if the command only prints, waits, changes the shell, or shows a help text. */
export function isIdle({ words }: SimpleCommand): boolean {
  const own = unwrapped(words);
  const name = basename(own[0] ?? '');
  if (name === '' || IDLE.has(name) || UNSURE.has(name) || isUnknown(name)) return true;
  if (words.slice(0, 3).some((word) => basename(word) === 'command') && words.some((word) => /^-[vV]$/.test(word)))
    return true;
  return selectsNothing(own);
}

/** The name is an expansion or a pattern, so it can be any command: `$E`, `$'echo'`, `ech?`. */
function isUnknown(name: string): boolean {
  return /^[$`]|[*?{]|^\[.*\]/.test(name) && name !== '[' && name !== '[[' && name !== '{';
}

/** Lower case, with single spaces. */
export function squeezed(text: string): string {
  return text.toLowerCase().replace(/\s+/g, ' ').trim();
}

interface Reader {
  readonly tokens: readonly Token[];
  at: number;
  readonly all: SimpleCommand[];
  /** True after `trap`, `alias` or a function: words may mean something else. */
  redefines: boolean;
  readonly depth: number;
}
interface Outcome {
  readonly proven: readonly SimpleCommand[];
  /** True if a failure here ends the line with a failure. */
  readonly stops: boolean;
}
const UNPROVEN: Outcome = { proven: [], stops: false };

/** `a; b` exits with the status of `b`. After `set -e`, and after `a || exit 1`, the earlier commands count as well. */
function readList(reader: Reader, close: string | null): Outcome {
  const proven: SimpleCommand[] = [];
  let last: Outcome = UNPROVEN;
  let errexit = false;
  while (reader.at < reader.tokens.length && !isAt(reader, close)) {
    if (isSeparator(reader.tokens[reader.at])) {
      reader.at += 1;
      continue;
    }
    const from = reader.at;
    const outcome = readAndOr(reader);
    if (reader.at === from) break;
    errexit ||= setsErrexit(reader.tokens.slice(from, reader.at));
    const inBackground = reader.tokens[reader.at]?.raw === '&';
    last = inBackground ? UNPROVEN : outcome;
    const own = reader.tokens.slice(from, reader.at);
    // A failure before the last `&&` does not end a line under `set -e`.
    if ((errexit && !own.some(({ raw }) => raw === '&&')) || last.stops) proven.push(...last.proven);
    if (mayLeave(own)) reader.redefines ||= reader.tokens.slice(reader.at).some(({ kind }) => kind === 'word');
  }
  if (isAt(reader, close)) reader.at += 1;
  return { proven: [...new Set([...proven, ...last.proven])], stops: errexit };
}

/** `a && b` proves both; `a || b` proves neither, unless `b` fails for certain. */
function readAndOr(reader: Reader): Outcome {
  let outcome = readPipeline(reader);
  for (let operator = operatorAt(reader); operator === '&&' || operator === '||'; operator = operatorAt(reader)) {
    reader.at += 1;
    while (reader.tokens[reader.at]?.raw === '\n') reader.at += 1;
    const from = reader.at;
    const right = readPipeline(reader);
    const fails = failsForCertain(reader.tokens.slice(from, reader.at));
    if (operator === '&&') outcome = { proven: [...outcome.proven, ...right.proven], stops: false };
    else outcome = fails ? { proven: outcome.proven, stops: true } : UNPROVEN;
  }
  return outcome;
}

function readPipeline(reader: Reader): Outcome {
  const negated = reader.tokens[reader.at]?.raw === '!';
  if (negated) reader.at += 1;
  const proven: SimpleCommand[] = [...readCommand(reader).proven];
  while (operatorAt(reader) === '|' || operatorAt(reader) === '|&') {
    reader.at += 1;
    const next = readCommand(reader).proven;
    // Only the outer line runs with pipefail.
    if (reader.depth > 0) proven.length = 0;
    proven.push(...next);
  }
  return negated ? UNPROVEN : { proven, stops: false };
}

function readCommand(reader: Reader): Outcome {
  const token = reader.tokens[reader.at];
  if (token === undefined) return UNPROVEN;
  if (token.raw === '(' || token.raw === '{') {
    reader.at += 1;
    const inner = readList(reader, token.raw === '(' ? ')' : '}');
    skipWords(reader);
    return { proven: inner.proven, stops: false };
  }
  if (token.kind === 'word' && Object.hasOwn(OPENERS, token.raw)) {
    skipCompound(reader);
    return UNPROVEN;
  }
  return readSimple(reader);
}

function readSimple(reader: Reader): Outcome {
  const words: Token[] = [];
  for (let token = reader.tokens[reader.at]; token?.kind === 'word'; token = reader.tokens[reader.at]) {
    words.push(token);
    reader.at += 1;
  }
  if (words.length === 0) return UNPROVEN;
  if (reader.tokens[reader.at]?.raw === '(' || words[0]?.raw === 'function') {
    reader.redefines = true;
    reader.at = reader.tokens.length;
    return UNPROVEN;
  }
  const assignments = words.findIndex(({ raw }) => !/^[A-Za-z_]\w*\+?=/.test(raw));
  const own = assignments === -1 ? [] : words.slice(assignments);
  const joined = (each: readonly Token[]): string => each.map(({ raw }) => raw).join(' ');
  const assigned = joined(words.slice(0, words.length - own.length)).length;
  const command = { text: joined(words), words: own.map(({ bare }) => bare), assigned };
  const name = nameOf(command.words);
  if (redefines(name, command.words)) reader.redefines = true;
  const inner = innerOf(command.words, reader.depth);
  if (inner !== null) {
    reader.all.push(...inner.all);
    return { proven: inner.proven, stops: false };
  }
  reader.all.push(command);
  return { proven: isIdle(command) ? [] : [command], stops: false };
}

const REDEFINING = new Set(['trap', 'alias', 'hash', 'enable']);

/** Later words may mean something else, later commands may not run (`set -n`), or failures be ignored (`set +e`). */
function redefines(name: string, words: readonly string[]): boolean {
  if (REDEFINING.has(name)) return true;
  if (name !== 'set' && name !== 'shopt') return false;
  return words.some((word, at) => /^[+][a-z]*e|^-[a-z]*n/.test(word) || IGNORED.has(`${words[at - 1] ?? ''} ${word}`));
}

const IGNORED = new Set(['-o noexec', '+o errexit', '+o pipefail']);

/** The line that `sh -c` or `eval` runs; null for other commands. */
function innerOf(words: readonly string[], depth: number): CommandLine | null {
  const own = unwrapped(words);
  const split =
    basename(words[0] ?? '') === 'env' ? words.findIndex((word) => /^(?:-S|--split-string)/.test(word)) : -1;
  if (split !== -1)
    return readCommandLine(
      words
        .slice(split)
        .join(' ')
        .replace(/^(?:-S|--split-string=?)/, ''),
      depth + 1,
    );
  const name = basename(own[0] ?? '');
  if (name === 'eval') return readCommandLine(own.slice(1).join(' '), depth + 1);
  if (!SHELLS.has(name)) return null;
  const option = own.findIndex((word) => /^-[a-z]*c$/.test(word));
  const line = option === -1 ? undefined : own[option + 1];
  if (line === undefined) return null;
  // `bash -n` reads commands and runs none.
  if (own.slice(1, option + 1).some((word) => /^-[a-z]*n/.test(word) || word === 'noexec')) return NOTHING;
  return readCommandLine(line, depth + 1);
}

/** The words without the commands that run the rest. */
export function unwrapped(words: readonly string[]): readonly string[] {
  const name = basename(words[0] ?? '');
  if (Object.hasOwn(RUNNING, name) && words[1] === RUNNING[name]) return unwrapped(withoutOptions(words.slice(2), ''));
  const valued = Object.hasOwn(WRAPPERS, name) ? WRAPPERS[name] : undefined;
  if (valued === undefined) return words;
  const rest = withoutOptions(words.slice(1), valued);
  // In `timeout 5 npm test`, the word 5 comes before the command.
  return unwrapped(name === 'timeout' ? rest.slice(1) : rest);
}

/** The words after options and assignments. `valued` are the options that take the next word. */
function withoutOptions(words: readonly string[], valued: string): readonly string[] {
  const takesNext = valued.split(' ');
  let at = 0;
  while (/^-|^[A-Za-z_]\w*=/.test(words[at] ?? '')) at += takesNext.includes(words[at] ?? '') ? 2 : 1;
  return words.slice(at);
}

function nameOf(words: readonly string[]): string {
  return basename(unwrapped(words)[0] ?? '');
}

function setOf(list: string): ReadonlySet<string> {
  return new Set(list.split(' '));
}

function basename(word: string): string {
  return word.slice(word.lastIndexOf('/') + 1);
}

function setsErrexit(tokens: readonly Token[]): boolean {
  const words = tokens.map(({ bare }) => bare);
  return words[0] === 'set' && words.some((word) => /^-[a-z]*e/.test(word) || word === 'errexit');
}

/** `exit` and `exec` may end the shell with success: then the commands after them do not run. `a || exit 1` ends it with a failure. */
function mayLeave(tokens: readonly Token[]): boolean {
  return tokens.some(({ bare }, at) => {
    const before = tokens[at - 1];
    if (!LEAVING.has(bare) || (before?.kind === 'word' && !LEADING.has(before.raw))) return false;
    const status = tokens[at + 1]?.kind === 'word' ? (tokens[at + 1]?.bare ?? '') : '';
    const isFailure = /^[1-9]\d*$/.test(status) || (before?.raw === '||' && /^(?:\$\?)?$/.test(status));
    return bare === 'exec' || !isFailure;
  });
}

const LEAVING = setOf('exit return exec');
/** Words that a command follows. */
const LEADING = setOf('then do else elif if while until { !');

function failsForCertain(tokens: readonly Token[]): boolean {
  const [name = '', status = ''] = tokens.map(({ bare }) => bare);
  return name === 'false' || ((name === 'exit' || name === 'return') && /^(?:[1-9]\d*|\$\?)$/.test(status));
}

function isSeparator(token: Token | undefined): boolean {
  return token?.kind === 'operator' && [';', '\n', '&'].includes(token.raw);
}

function isAt(reader: Reader, close: string | null): boolean {
  return close !== null && reader.tokens[reader.at]?.raw === close;
}

function operatorAt(reader: Reader): string | null {
  const token = reader.tokens[reader.at];
  return token?.kind === 'operator' ? token.raw : null;
}

function skipWords(reader: Reader): void {
  while (reader.tokens[reader.at]?.kind === 'word') reader.at += 1;
}

/** Skips `if … fi` and loops: which of their commands ran is not known. */
function skipCompound(reader: Reader): void {
  const open: string[] = [];
  for (let token = reader.tokens[reader.at]; token !== undefined; token = reader.tokens[reader.at]) {
    reader.at += 1;
    if (token.kind !== 'word') continue;
    if (Object.hasOwn(OPENERS, token.raw)) open.push(OPENERS[token.raw] ?? '');
    else if (token.raw === open.at(-1)) open.pop();
    if (open.length === 0) return;
  }
}
