/** `sluice completion`: a completion script, generated from the commands, so that it is always up to date. */
import type { Command, Option } from 'commander';
import type { Cli } from '@sluice-internal/library/documents';

export async function completionCommand(
  cli: Cli,
  shell: keyof typeof SHELLS,
  _: object,
  command: Command,
): Promise<void> {
  const script = SHELLS[shell](knownCommands(command.parent as Command));
  if (cli.json) cli.printJson({ shell, script });
  else cli.screen.printData(script);
}

const SHELLS = { bash, zsh, fish } as const satisfies { readonly [shell: string]: (known: readonly Known[]) => string };

function bash(known: readonly Known[]): string {
  const commands = known.map((each) => {
    const words = wordsOf(each).map(({ name }) => name);
    const options = each.options.map(({ long }) => long);
    return `    ${quote(each.path)}) words=${quote(words.join(' '))} options=${quote(options.join(' '))} files=${each.open ? 1 : ''} ;;`;
  });
  const values = valueCases(known, (words) => `words=${quote(words.join(' '))} files=${words.length === 0 ? 1 : ''}`);
  return `# bash completion for sluice; put it into ~/.bashrc: source <(sluice completion bash)
_sluice() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" path="" words="" options="" files="" index
  # bash makes words of their own of the parts of --option=value.
  if [[ "$current" == "=" ]]; then current=""
  elif [[ "$before" == "=" ]]; then before="\${COMP_WORDS[COMP_CWORD-2]}"
  fi
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "\${path:+$path }\${COMP_WORDS[index]}" in
      ${pathPattern(known)}) path="\${path:+$path }\${COMP_WORDS[index]}" ;;
    esac
  done
  case "$path" in
${commands.join('\n')}
  esac
  if [[ "$current" == -* ]]; then words="$options" files=""; fi
  case "$path $before" in
${values}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [[ -z "$files" ]] || COMPREPLY+=($(compgen -f -- "$current"))
}
complete -o filenames -F _sluice sluice`;
}

function zsh(known: readonly Known[]): string {
  const commands = known.map((each) => {
    const options = each.options.map(({ long, about }) => ({ name: long, about }));
    return `    ${quote(each.path)}) candidates=(${described(wordsOf(each))}) options=(${described(options)}) files=${each.open ? 1 : "''"} ;;`;
  });
  const values = valueCases(known, (words) => {
    const candidates = described(words.map((name) => ({ name, about: '' })));
    return `candidates=(${candidates}) files=${words.length === 0 ? 1 : "''"}`;
  });
  // `words` and `path` are reserved in zsh.
  return `#compdef sluice
# zsh completion for sluice; put it into a folder of $fpath as _sluice, or: source <(sluice completion zsh)
_sluice() {
  local -a candidates options
  local spot="" files="" word before="\${words[CURRENT-1]}"
  if [[ "$PREFIX" == --*=* ]]; then before="\${PREFIX%%=*}"; compset -P '*='; fi
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${spot:+$spot }$word" in
      ${pathPattern(known)}) spot="\${spot:+$spot }$word" ;;
    esac
  done
  case "$spot" in
${commands.join('\n')}
  esac
  if [[ "$PREFIX" == -* ]]; then candidates=("\${(@)options}"); files=""; fi
  case "$spot $before" in
${values}
  esac
  (( $#candidates )) && _describe 'sluice' candidates
  [[ -z "$files" ]] || _files
}
compdef _sluice sluice`;
}

function described(words: readonly { readonly name: string; readonly about: string }[]): string {
  return words.map(({ name, about }) => quote(about === '' ? name : `${name}:${about}`)).join(' ');
}

function fish(known: readonly Known[]): string {
  const lines = known.flatMap((each) => {
    const start = `complete -c sluice -n ${quote(placeOf(each, known))}`;
    const only = each.open ? '' : ' -f';
    return [
      ...each.children.map(({ name, about }) => `${start}${only} -a ${quote(name)} -d ${quote(about)}`),
      ...(each.values.length > 0 ? [`${start}${only} -a ${quote(each.values.join(' '))}`] : []),
      ...each.options.map(({ long, short, about, valued, values }) => {
        const letter = short === null ? '' : ` -s ${short.slice(1)}`;
        const value = values.length > 0 ? ` -x -a ${quote(values.join(' '))}` : valued ? ' -r' : '';
        return `${start} -l ${quote(long.slice(2))}${letter}${value} -d ${quote(about)}`;
      }),
    ];
  });
  return ['# fish completion for sluice; put it into ~/.config/fish/completions/sluice.fish', ...lines].join('\n');
}

function placeOf({ path }: Known, known: readonly Known[]): string {
  const names = known[0]?.children.map(({ name }) => name).join(' ') ?? '';
  if (path === '') return `not __fish_seen_subcommand_from ${names}`;
  return path
    .split(' ')
    .map((word) => `__fish_seen_subcommand_from ${word}`)
    .join('; and ');
}

/** A pattern of bash and zsh for the words that lead to a command. */
function pathPattern(known: readonly Known[]): string {
  const paths = known.filter(({ path }) => path !== '');
  return paths.map(({ path }) => quote(path)).join('|');
}

/** A case of bash and zsh for each option that takes a value. `assign` sets the words to offer. */
function valueCases(known: readonly Known[], assign: (words: readonly string[]) => string): string {
  const cases = known.flatMap(({ path, options }) =>
    options
      .filter(({ valued }) => valued)
      .map(({ long, short, values }) => {
        const spellings = [long, ...(short === null ? [] : [short])].map((name) => quote(`${path} ${name}`));
        return `    ${spellings.join('|')}) ${assign(values)} ;;`;
      }),
  );
  return cases.join('\n');
}

interface KnownOption {
  readonly long: string;
  readonly short: string | null;
  readonly about: string;
  /** True if the option takes a value. */
  readonly valued: boolean;
  /** The values it accepts, if they are a short fixed list. */
  readonly values: readonly string[];
}

interface Known {
  /** The words that lead to the command. Empty for the program itself. */
  readonly path: string;
  readonly options: readonly KnownOption[];
  readonly children: readonly { readonly name: string; readonly about: string }[];
  /** The values that its arguments accept, if they are a short fixed list. */
  readonly values: readonly string[];
  /** True if a file or a run id may follow. */
  readonly open: boolean;
}

function knownCommands(command: Command, path: readonly string[] = []): readonly Known[] {
  const help = command.createHelp();
  const options = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)].flatMap(knownOption);
  const given = command.registeredArguments;
  const own: Known = {
    path: path.join(' '),
    options: [...new Map(options.map((option) => [option.long, option])).values()],
    children: help.visibleCommands(command).map((child) => ({ name: child.name(), about: child.description() })),
    values: given.flatMap(({ argChoices = [] }) => argChoices),
    open: given.some(({ argChoices }) => argChoices === undefined),
  };
  return [own, ...command.commands.flatMap((child) => knownCommands(child, [...path, child.name()]))];
}

/** Words to offer if no option is being typed. Offers the options if there is nothing else. */
function wordsOf({ children, values, open, options }: Known): readonly { name: string; about: string }[] {
  const words = [...children, ...values.map((name) => ({ name, about: '' }))];
  return words.length > 0 || open ? words : options.map(({ long, about }) => ({ name: long, about }));
}

/** Quotes for POSIX shells and fish. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function knownOption(option: Option): readonly KnownOption[] {
  const { long, short, description, argChoices = [], required, optional } = option;
  if (typeof long !== 'string') return [];
  return [{ long, short: short ?? null, about: description, valued: required || optional, values: argChoices }];
}
