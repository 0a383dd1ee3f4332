/**
 * Reads a shell command line far enough to say which of its commands must have succeeded when the line exits with 0.
 * `echo "go test"` runs no test, and `go test || true` exits with 0 even if the test fails; neither counts as evidence.
 *
 * The sandbox runs lines with `pipefail`, so every part of a pipeline counts. A line that cannot be read, or that can change
 * what its words mean (`trap`, `alias`, functions), proves nothing.
 */

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

/** Commands that print, wait or change the shell. They prove nothing. */
const IDLE = new Set(
  'echo printf true : false exit return sleep wait cd pushd popd pwd export set unset local declare readonly typeset shopt ulimit umask shift break continue read yes'.split(
    ' ',
  ),
);
/** Commands that read, list or move files. They prove only themselves: `cat pytest.ini` is not a run of pytest. */
const FILE_COMMANDS = new Set(
  'cat ls head tail less more grep egrep fgrep rg ag wc which type whereis man file stat du df find sed awk sort uniq cut tr tee touch mkdir rmdir rm mv cp ln chmod chown git date whoami id diff cmp test [ [[ basename dirname realpath readlink history jq tree xxd od strings tar zip unzip curl wget'.split(
    ' ',
  ),
);
/** Commands that run the command after them, with the number of their own words before it. */
const WRAPPERS: { readonly [name: string]: number } = {
  env: 0,
  command: 0,
  builtin: 0,
  exec: 0,
  nohup: 0,
  nice: 0,
  time: 0,
  sudo: 0,
  stdbuf: 0,
  timeout: 1,
};
const SHELLS = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh']);
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
  const isComplete = reader.at === tokens.length;
  return { all: reader.all, proven: isComplete && !reader.redefines ? list.proven : [] };
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
  if (isFileCommand(command)) return bare.startsWith(wanted) || text.startsWith(wanted);
  // A pattern may begin with an assignment (`CI=1 npm test`), but the value of one alone runs nothing.
  return (
    bare.includes(wanted) || text.lastIndexOf(wanted) + wanted.length > Math.max(command.assigned, wanted.length - 1)
  );
}

/** True if the command reads, lists or moves files: `cat pytest.ini` runs no test. */
export function isFileCommand({ words }: SimpleCommand): boolean {
  return FILE_COMMANDS.has(nameOf(words));
}

/** True if the command only prints, waits, changes the shell, or shows a help text. */
export function isIdle({ words }: SimpleCommand): boolean {
  const own = unwrapped(words);
  const name = own[0] ?? '';
  return name === '' || IDLE.has(basename(name)) || own.includes('--help') || own.includes('--version');
}

/** Lower case, with single spaces. */
export function squeezed(text: string): string {
  return text.toLowerCase().replace(/\s+/g, ' ').trim();
}

interface Token {
  readonly kind: 'word' | 'operator';
  readonly raw: string;
  /** A word without its quotes. */
  readonly bare: string;
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
    if (errexit || last.stops) proven.push(...last.proven);
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
  if (name === 'trap' || name === 'alias') reader.redefines = true;
  const inner = innerOf(command.words, reader.depth);
  if (inner !== null) {
    reader.all.push(...inner.all);
    return { proven: inner.proven, stops: false };
  }
  reader.all.push(command);
  return { proven: isIdle(command) ? [] : [command], stops: false };
}

/** The line that `sh -c` or `eval` runs; null for other commands. */
function innerOf(words: readonly string[], depth: number): CommandLine | null {
  const own = unwrapped(words);
  const name = basename(own[0] ?? '');
  if (name === 'eval') return readCommandLine(own.slice(1).join(' '), depth + 1);
  if (!SHELLS.has(name)) return null;
  const option = own.findIndex((word) => /^-[a-z]*c$/.test(word));
  const line = option === -1 ? undefined : own[option + 1];
  if (line === undefined) return null;
  const inner = readCommandLine(line, depth + 1);
  return { all: inner.all, proven: inner.proven };
}

function unwrapped(words: readonly string[]): readonly string[] {
  const name = basename(words[0] ?? '');
  if (!Object.hasOwn(WRAPPERS, name)) return words;
  let at = 1;
  while (/^-|^[A-Za-z_]\w*=/.test(words[at] ?? '')) at += 1;
  return unwrapped(words.slice(at + (WRAPPERS[name] ?? 0)));
}

function nameOf(words: readonly string[]): string {
  return basename(unwrapped(words)[0] ?? '');
}

function basename(word: string): string {
  return word.slice(word.lastIndexOf('/') + 1);
}

function setsErrexit(tokens: readonly Token[]): boolean {
  const words = tokens.map(({ bare }) => bare);
  return words[0] === 'set' && words.some((word) => /^-[a-z]*e/.test(word) || word === 'errexit');
}

function failsForCertain(tokens: readonly Token[]): boolean {
  const [name = '', status = ''] = tokens.map(({ bare }) => bare);
  return name === 'false' || ((name === 'exit' || name === 'return') && /^[1-9]\d*$/.test(status));
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

/** Words, with redirections left out, and operators. Null if a quote or a bracket is not closed. */
function tokensOf(line: string): readonly Token[] | null {
  const tokens: Token[] = [];
  let rest = withoutBlank(line.replaceAll('\\\n', ' '));
  let redirects = false;
  const hereDocs: string[] = [];
  for (; rest !== ''; rest = withoutBlank(rest)) {
    const redirect = /^(\d*|&)(<<<|<<-?|>>|>&|<&|>\||<>|>|<)/.exec(rest);
    if (redirect !== null) {
      rest = rest.slice(redirect[0].length);
      if (/<<-?$/.test(redirect[0]) && !redirect[0].endsWith('<<<')) hereDocs.push('');
      redirects = true;
      continue;
    }
    const operator = /^(&&|\|\||\|&|;;|[;&|()\n])/.exec(rest)?.[0];
    if (operator !== undefined) {
      tokens.push({ kind: 'operator', raw: operator, bare: operator });
      rest = rest.slice(operator.length);
      if (operator === '\n') rest = skipHereDocs(rest, hereDocs);
      continue;
    }
    const word = wordAt(rest);
    if (word === null) return null;
    rest = rest.slice(word.raw.length);
    if (hereDocs.at(-1) === '') hereDocs[hereDocs.length - 1] = word.bare;
    else if (!redirects) tokens.push({ kind: 'word', ...word });
    redirects = false;
  }
  return tokens;
}

/** Skips spaces and a comment. */
function withoutBlank(text: string): string {
  return text.replace(/^[ \t\r]+/, '').replace(/^#[^\n]*/, '');
}

/** Leaves out the text of here-documents, which starts after the end of their line. */
function skipHereDocs(text: string, ends: string[]): string {
  let rest = text;
  for (const end of ends.splice(0)) {
    const lines = rest.split('\n');
    const last = lines.findIndex((each) => each.trim() === end);
    rest = last === -1 ? '' : lines.slice(last + 1).join('\n');
  }
  return rest;
}

/** One word with its quotes and substitutions. Null if one of them is not closed. */
function wordAt(text: string): { readonly raw: string; readonly bare: string } | null {
  let at = 0;
  let bare = '';
  while (at < text.length && !/[\s;&|()<>]/.test(text[at] ?? '')) {
    const part = partAt(text.slice(at));
    if (part === null) return null;
    bare += part.bare;
    at += part.length;
  }
  return { raw: text.slice(0, at), bare };
}

function partAt(text: string): { readonly length: number; readonly bare: string } | null {
  if (text.startsWith('\\')) return { length: Math.min(2, text.length), bare: text.slice(1, 2) };
  if (text.startsWith("'")) {
    const end = text.indexOf("'", 1);
    return end === -1 ? null : { length: end + 1, bare: text.slice(1, end) };
  }
  if (text.startsWith('"')) {
    const quoted = /^"((?:[^"\\]|\\[\s\S])*)"/.exec(text);
    return quoted === null ? null : { length: quoted[0].length, bare: (quoted[1] ?? '').replace(/\\(["\\$`])/g, '$1') };
  }
  if (text.startsWith('$(')) {
    const end = closingOf(text, 1);
    return end === -1 ? null : { length: end + 1, bare: text.slice(0, end + 1) };
  }
  if (text.startsWith('`')) {
    const end = text.indexOf('`', 1);
    return end === -1 ? null : { length: end + 1, bare: text.slice(0, end + 1) };
  }
  return { length: 1, bare: text[0] ?? '' };
}

/** The bracket that closes the one at `from`. */
function closingOf(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === '(') depth += 1;
    if (text[at] === ')') depth -= 1;
    if (depth === 0) return at;
  }
  return -1;
}
