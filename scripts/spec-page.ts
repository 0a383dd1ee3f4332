/** The page that lists the tests of each row of each table of the specification. */
import type { Showing, Table } from './spec-rows.ts';

export const SPEC_PAGE = 'docs/spec-coverage.md';

export function specPage(tables: { readonly [id: string]: Table }, showings: readonly Showing[]): string {
  const count = Object.values(tables).reduce((sum, { rows }) => sum + Object.keys(rows).length, 0);
  const head = [
    '# Bounded autonomy, row by row',
    '',
    '`node scripts/spec-coverage.ts` makes this page from `test/tables/rows.yaml` and the names of the tests. A test fails if the page is',
    'out of date, if a row has no test, or if a test names a row that does not exist.',
    '',
    `${Object.keys(tables).length} tables, ${count} rows.`,
  ];
  const parts = Object.entries(tables).map(([id, { title, rows }]) =>
    [
      `## ${title}`,
      '',
      '| row | here | shown by |',
      '|---|---|---|',
      ...Object.entries(rows).map(
        ([key, demand]) => `| ${key} | ${demand} | ${tests(showings.filter(({ row }) => row === `${id}/${key}`))} |`,
      ),
    ].join('\n'),
  );
  return `${[head.join('\n'), ...parts].join('\n\n')}\n`;
}

function tests(showings: readonly Showing[]): string {
  return showings.length === 0 ? '**nothing**' : showings.map(linkOf).join('<br>');
}

/** A name may hold what a cell or a link may not. */
function linkOf({ words, file }: Showing): string {
  const name = words
    .replaceAll(/\$\{?[\w.]*\}?|%[a-z]/g, '…')
    .replaceAll(/[|[\]<>]/g, (sign) => `\\${sign}`)
    .trim();
  return `[${name === '' ? file.split('/').at(-1) : name}](../${file})`;
}
