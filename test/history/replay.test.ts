/** L2: journals of earlier releases mean what they meant: their chain holds, deciding again agrees, the report is the same. */
import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { audit, replay } from '@sluice-internal/engine/audit';
import type { Journal, Report, StoredRun } from '@sluice-internal/engine/ports';
import { readRun } from '@sluice-internal/engine/journal';
import { reportOf } from '@sluice-internal/engine/report';

interface Frozen {
  readonly stored: StoredRun;
  readonly report: Report;
}

const here = new URL('./', import.meta.url);
const releases = readdirSync(here, { withFileTypes: true }).filter((entry) => entry.isDirectory());

test('a release has journals', () => {
  for (const { name } of releases) expect(readdirSync(new URL(`${name}/`, here))).not.toEqual([]);
});

describe.each(releases.map(({ name }) => name))('journals of release %s', (release) => {
  const folder = new URL(`${release}/`, here);
  test.each(readdirSync(folder))('L2: %s', async (file) => {
    const { stored, report } = JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Frozen;
    const journal: Journal = {
      load: async () => stored,
      page: async () => stored.appends,
      changes: async () => ({ items: [], next: '' }),
      commit: async () => {
        throw new Error('a frozen journal is only read');
      },
    };
    expect(await audit(journal, report.run)).toMatchObject({ ok: true, broken: null });
    expect(await replay(journal, report.run)).toMatchObject({ agrees: true, difference: null });
    // A later release may add fields to a report; those of the earlier one stay equal.
    const now = JSON.parse(JSON.stringify(reportOf(await readRun(journal, report.run)))) as {
      [field: string]: unknown;
    };
    expect(Object.fromEntries(Object.keys(report).map((field) => [field, now[field]]))).toEqual(report);
  });
});
