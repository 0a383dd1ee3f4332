/** Writes the pages about metrics and pathologies from their tables, so that page and code cannot differ. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PATHOLOGIES } from '../packages/evals/src/diagnose/pathologies.ts';
import type { Pathology } from '../packages/evals/src/diagnose/pathology.ts';
import { shownTarget } from '../packages/evals/src/render/metrics.ts';
import { METRICS } from '@sluice-internal/evals/metrics';
import { root } from './tool.ts';

/** The generated files, by path. */
export function evaluationPages(): ReadonlyMap<string, string> {
  const pages = PATHOLOGIES.map((each) => [`docs/pathologies/${each.id}.md`, pathologyPage(each)] as const);
  return new Map([...pages, ['docs/pathologies/README.md', indexPage()], ['docs/guide/metrics.md', metricsPage()]]);
}

function pathologyPage({ id, title, symptom, cause, rule, containment, prevention, mast, detect }: Pathology): string {
  return `# ${title}

\`${id}\`${mast === null ? '' : `, MAST ${mast}`}

**Symptom.** ${symptom}

**Cause.** ${cause}

**${detect === undefined ? 'What to look at' : 'Rule of the detector'}.** ${rule}

**Containment.** ${containment}

**Prevention.** ${prevention}

${
  detect === undefined
    ? 'No event defines it, so `npx sluice diagnose` does not report it'
    : '`npx sluice diagnose RUN` reports it with the events that show it and a remedy'
}: see [Diagnosis](../guide/diagnosis.md).
`;
}

function indexPage(): string {
  const rows = PATHOLOGIES.map(
    ({ id, title, symptom, mast, detect }) =>
      `| [${title}](${id}.md) | ${symptom} | ${detect === undefined ? 'no' : 'yes'} | ${mast ?? '-'} |`,
  );
  return `# Pathologies

These are 23 failure modes of agents. \`npx sluice diagnose RUN\` looks in the journal of a run for those that events define (\`yes\`). The page of each
other one says what to look at. The last column has the number of the failure in the published taxonomy MAST.

| pathology | symptom | found | MAST |
|---|---|---|---|
${rows.join('\n')}
`;
}

/** The table stands between two markers; the rest of the page is written by hand. */
function metricsPage(): string {
  const path = join(root, 'docs/guide/metrics.md');
  const rows = METRICS.map(
    ({ id, title, formula, target, detects }) =>
      `| ${title} (\`${id}\`) | ${formula} | ${shownTarget(id, target)} | ${detects} |`,
  );
  const table = `| metric | formula | target | detects |\n|---|---|---|---|\n${rows.join('\n')}`;
  return readFileSync(path, 'utf8').replace(BETWEEN, `<!-- metrics -->\n\n${table}\n\n<!-- /metrics -->`);
}
const BETWEEN = /<!-- metrics -->[\s\S]*<!-- \/metrics -->/;

if (process.argv[1]?.endsWith('evaluation-pages.ts') === true)
  for (const [path, text] of evaluationPages()) {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), text);
  }
