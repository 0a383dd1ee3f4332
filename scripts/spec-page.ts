/** The page that says, for each row of each table of the specification, which tests show it. */
import type { Showing, Table } from './spec-rows.ts';

export const SPEC_PAGE = 'docs/spec-coverage.md';

export function specPage(tables: { readonly [id: string]: Table }, showings: readonly Showing[]): string {
  const count = Object.values(tables).reduce((sum, { rows }) => sum + Object.keys(rows).length, 0);
  const head = [
    '# Bounded autonomy, row by row',
    '',
    'Made by `node scripts/spec-coverage.ts` out of `test/tables/rows.yaml` and the names of the tests; a test fails where this',
    'page is not what that gives, where a row has no test, and where a test names a row that does not exist.',
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
