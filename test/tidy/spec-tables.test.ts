/** The tables of the specification: each row is shown by a test, and the page that says so is up to date. */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { SPEC_PAGE, specPage } from '../../scripts/spec-page.ts';
import { rowIds, showings, specTables } from '../../scripts/spec-rows.ts';
import { read } from './tree.ts';

const shown = showings();
const PAGE = new URL('../../../shared/spec/bounded-autonomy.md', import.meta.url);

describe('the rows of the specification', () => {
  test('are each shown by a test', () => {
    const rows = new Set(shown.map(({ row }) => row));
    expect(rowIds().filter((id) => !rows.has(id))).toEqual([]);
  });

  test('are the only ones that tests name', () => {
    const known = new Set(rowIds());
    expect(shown.filter(({ row }) => !known.has(row))).toEqual([]);
  });

  test('stand on the page as the tests have them; `node scripts/spec-coverage.ts` writes it', () => {
    expect(read(SPEC_PAGE)).toBe(specPage(specTables(), shown));
  });

  test('are those of the specification itself, table by table, where it is at hand', ({ skip }) => {
    skip(!existsSync(PAGE), 'not there, so not compared: ../shared/spec/bounded-autonomy.md');
    const theirs = tablesIn(readFileSync(PAGE, 'utf8'));
    const ours = Object.values(specTables()).map(({ rows }) => Object.keys(rows));
    expect(ours.map((rows) => rows.length)).toEqual(theirs.map((rows) => rows.length));
    const strays = ours.flatMap((rows, table) =>
      rows.filter((key, row) => {
        const words = (theirs[table]?.[row] ?? '').toLowerCase();
        return !key.split('-').every((word) => words.includes(word));
      }),
    );
    expect(strays).toEqual([]);
  });
});

/** A cell may stand on a line of its own, so rows are counted off by cells. */
function tablesIn(text: string): string[][] {
  const lines = text.split('\n');
  return lines.flatMap((line, at) => {
    if (!/^\|(---\|)+$/.test(line)) return [];
    const width = line.split('---').length - 1;
    const end = lines.findIndex((each, index) => index > at && !each.trimEnd().endsWith('|'));
    const cells = lines
      .slice(at + 1, end)
      .join('\n')
      .replaceAll(/^\|/gm, '')
      .split('|')
      .map((cell) => cell.trim())
      .slice(0, -1);
    return [
      Array.from({ length: cells.length / width }, (_, row) => cells.slice(row * width, (row + 1) * width).join(' ')),
    ];
  });
}
