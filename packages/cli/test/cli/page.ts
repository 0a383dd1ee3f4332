/** The files and commands that a page prints, to be written and run as they stand there. */
export interface Printed {
  readonly files: { readonly [name: string]: string };
  readonly commands: readonly { readonly words: readonly string[]; readonly shows: readonly string[] }[];
}

/** A block that begins with a comment that names a file is that file; one with `$ npx sluice` lines is a session. */
export function printedIn(page: string): Printed {
  const blocks = [...page.matchAll(/^```\w*\n([\s\S]*?)^```$/gm)].map(([, block]) => block as string);
  const files: { [name: string]: string } = {};
  const commands: { words: readonly string[]; shows: string[] }[] = [];
  for (const block of blocks) {
    const [first = ''] = block.split('\n');
    const name = /^(?:#|\/\/) ([\w-]+(?:\.[\w-]+)+)(?::.*)?$/.exec(first)?.[1];
    if (name !== undefined) files[name] = block;
    for (const line of block.split('\n')) {
      if (line.startsWith('$ npx sluice '))
        commands.push({ words: wordsOf(line.slice('$ npx sluice '.length)), shows: [] });
      else if (block.startsWith('$ ') && line !== '') commands.at(-1)?.shows.push(line);
    }
  }
  return { files, commands };
}

/** As a shell splits them; quotes hold together. */
export function wordsOf(line: string): readonly string[] {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare ?? '',
  );
}
