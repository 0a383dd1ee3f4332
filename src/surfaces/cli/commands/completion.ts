/** `sluice completion`: a script for the shell, made from the commands themselves, so that it never lags behind them. */
import type { Command } from 'commander';
import type { Cli } from '../context.ts';
import { OK, type ExitStatus } from '../exit-status.ts';

interface Known {
  readonly path: string;
  readonly about: string;
  readonly options: readonly { readonly long: string; readonly about: string }[];
  readonly children: readonly { readonly name: string; readonly about: string }[];
}

export async function completionCommand(cli: Cli, shell: string, program: Command): Promise<ExitStatus> {
  const known = knownCommands(program, []);
  cli.screen.print(shell === 'bash' ? bash(known) : shell === 'zsh' ? zsh(known) : fish(known));
  return OK;
}

function knownCommands(command: Command, path: readonly string[]): readonly Known[] {
  const help = command.createHelp();
  const options = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)].flatMap(
    ({ long, description }) => (long === undefined || long === null ? [] : [{ long, about: description }]),
  );
  const children = help.visibleCommands(command).map((child) => ({ name: child.name(), about: child.description() }));
  const own: Known = { path: path.join(' '), about: command.description(), options: unique(options), children };
  return [own, ...command.commands.flatMap((child) => knownCommands(child, [...path, child.name()]))];
}

function unique<Option extends { readonly long: string }>(options: readonly Option[]): readonly Option[] {
  return [...new Map(options.map((option) => [option.long, option])).values()];
}

function bash(known: readonly Known[]): string {
  const cases = known.map(
    ({ path, options, children }) =>
      `    ${quote(path)}) words=${quote([...children.map(({ name }) => name), ...options.map(({ long }) => long)].join(' '))} ;;`,
  );
  return `# bash completion for sluice; put it into ~/.bashrc: source <(sluice completion bash)
_sluice() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path="" words="" index
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "\${COMP_WORDS[index]}" in
      ${nested(known)}) path="\${path:+$path }\${COMP_WORDS[index]}" ;;
    esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [[ "$current" == -* ]] || COMPREPLY+=($(compgen -f -- "$current"))
}
complete -o filenames -F _sluice sluice`;
}

function zsh(known: readonly Known[]): string {
  const cases = known.map(({ path, options, children }) => {
    const words = [
      ...children.map(({ name, about }) => `${name}:${about}`),
      ...options.map(({ long, about }) => `${long}:${about}`),
    ];
    return `    ${quote(path)}) candidates=(${words.map((word) => quote(word)).join(' ')}) ;;`;
  });
  // `words` and `path` have meanings of their own in zsh.
  return `#compdef sluice
# zsh completion for sluice; put it into a folder of $fpath as _sluice, or: source <(sluice completion zsh)
_sluice() {
  local -a candidates
  local spot="" word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$word" in
      ${nested(known)}) spot="\${spot:+$spot }$word" ;;
    esac
  done
  case "$spot" in
${cases.join('\n')}
  esac
  _describe 'sluice' candidates
  _files
}
compdef _sluice sluice`;
}

function fish(known: readonly Known[]): string {
  const lines = known.flatMap(({ path, options, children }) => {
    const names = known[0]?.children.map(({ name }) => name).join(' ') ?? '';
    const when =
      path === ''
        ? `not __fish_seen_subcommand_from ${names}`
        : path
            .split(' ')
            .map((word) => `__fish_seen_subcommand_from ${word}`)
            .join('; and ');
    return [
      ...children.map(({ name, about }) => `complete -c sluice -n ${quote(when)} -a ${quote(name)} -d ${quote(about)}`),
      ...options.map(
        ({ long, about }) => `complete -c sluice -n ${quote(when)} -l ${quote(long.slice(2))} -d ${quote(about)}`,
      ),
    ];
  });
  return ['# fish completion for sluice; put it into ~/.config/fish/completions/sluice.fish', ...lines].join('\n');
}

/** Every word that is a command, at any depth, as a pattern. */
function nested(known: readonly Known[]): string {
  return [...new Set(known.flatMap(({ children }) => children.map(({ name }) => name)))].join('|');
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
