/** Completion for bash: words, options after a dash, option values, and files. */
import { quote, spellings, wordsOf, type Known } from './known.ts';

export function bash(known: readonly Known[]): string {
  const paths = known.filter(({ path }) => path !== '').map(({ path }) => quote(path));
  const commands = known.map((each) => {
    const words = wordsOf(each).map(({ name }) => name);
    const options = each.options.map(({ long }) => long);
    return `    ${quote(each.path)}) words=${quote(words.join(' '))} options=${quote(options.join(' '))} files=${each.open ? 1 : ''} ;;`;
  });
  const values = known.flatMap((each) =>
    each.options
      .filter(({ valued }) => valued)
      .map((option) => {
        const pattern = spellings(each, option)
          .map((spelling) => quote(spelling))
          .join('|');
        return `    ${pattern}) words=${quote(option.values.join(' '))} files=${option.values.length === 0 ? 1 : ''} ;;`;
      }),
  );
  return `# bash completion for sluice; put it into ~/.bashrc: source <(sluice completion bash)
_sluice() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" path="" words="" options="" files="" index
  # bash makes words of their own of the parts of --option=value.
  if [[ "$current" == "=" ]]; then current=""
  elif [[ "$before" == "=" ]]; then before="\${COMP_WORDS[COMP_CWORD-2]}"
  fi
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "\${path:+$path }\${COMP_WORDS[index]}" in
      ${paths.join('|')}) path="\${path:+$path }\${COMP_WORDS[index]}" ;;
    esac
  done
  case "$path" in
${commands.join('\n')}
  esac
  if [[ "$current" == -* ]]; then words="$options" files=""; fi
  case "$path $before" in
${values.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [[ -z "$files" ]] || COMPREPLY+=($(compgen -f -- "$current"))
}
complete -o filenames -F _sluice sluice`;
}
