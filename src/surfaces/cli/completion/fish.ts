/** Completion for fish. */
import { quote, type Known } from './known.ts';

export function fish(known: readonly Known[]): string {
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
