/** Completion for zsh, with descriptions. */
import { quote, spellings, wordsOf, type Known } from './known.ts';

export function zsh(known: readonly Known[]): string {
  const paths = known.filter(({ path }) => path !== '').map(({ path }) => quote(path));
  const commands = known.map((each) => {
    const options = each.options.map(({ long, about }) => ({ name: long, about }));
    return `    ${quote(each.path)}) candidates=(${described(wordsOf(each))}) options=(${described(options)}) files=${each.open ? 1 : "''"} ;;`;
  });
  const values = known.flatMap((each) =>
    each.options
      .filter(({ valued }) => valued)
      .map((option) => {
        const pattern = spellings(each, option)
          .map((spelling) => quote(spelling))
          .join('|');
        const words = described(option.values.map((name) => ({ name, about: '' })));
        return `    ${pattern}) candidates=(${words}) files=${option.values.length === 0 ? 1 : "''"} ;;`;
      }),
  );
  // `words` and `path` are reserved in zsh.
  return `#compdef sluice
# zsh completion for sluice; put it into a folder of $fpath as _sluice, or: source <(sluice completion zsh)
_sluice() {
  local -a candidates options
  local spot="" files="" word before="\${words[CURRENT-1]}"
  if [[ "$PREFIX" == --*=* ]]; then before="\${PREFIX%%=*}"; compset -P '*='; fi
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${spot:+$spot }$word" in
      ${paths.join('|')}) spot="\${spot:+$spot }$word" ;;
    esac
  done
  case "$spot" in
${commands.join('\n')}
  esac
  if [[ "$PREFIX" == -* ]]; then candidates=("\${(@)options}"); files=""; fi
  case "$spot $before" in
${values.join('\n')}
  esac
  (( $#candidates )) && _describe 'sluice' candidates
  [[ -z "$files" ]] || _files
}
compdef _sluice sluice`;
}

function described(words: readonly { readonly name: string; readonly about: string }[]): string {
  return words.map(({ name, about }) => quote(about === '' ? name : `${name}:${about}`)).join(' ');
}
