/** Writes the page that says which test shows which row of the specification: `node scripts/spec-coverage.ts`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SPEC_PAGE, specPage } from './spec-page.ts';
import { rowIds, showings, specTables } from './spec-rows.ts';
import { root } from './tool.ts';

const shown = showings();
writeFileSync(join(root, SPEC_PAGE), specPage(specTables(), shown));
const rows = new Set(shown.map(({ row }) => row));
const missing = rowIds().filter((id) => !rows.has(id));
process.stdout.write(`${SPEC_PAGE}: ${rowIds().length - missing.length} of ${rowIds().length} rows are shown\n`);
for (const id of missing) process.stdout.write(`  not shown: ${id}\n`);
