/** JUnit XML, as CI systems read it. */
import { escapeXml } from './plots.ts';

export interface JUnitCase {
  readonly name: string;
  readonly group: string;
  readonly seconds?: number;
  /** Empty for a case that passed. */
  readonly problems: readonly string[];
  readonly skipped?: string;
}

export function junitXml(suite: string, cases: readonly JUnitCase[]): string {
  const failures = cases.filter(({ problems }) => problems.length > 0).length;
  const skipped = cases.filter((each) => each.skipped !== undefined).length;
  const lines = cases.map(caseXml).join('\n');
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites><testsuite name="${escapeXml(suite)}" tests="${cases.length}" failures="${failures}" skipped="${skipped}" errors="0">
${lines}
</testsuite></testsuites>
`;
}

function caseXml({ name, group, seconds = 0, problems, skipped }: JUnitCase): string {
  const head = `  <testcase classname="${escapeXml(group)}" name="${escapeXml(name)}" time="${seconds.toFixed(3)}"`;
  if (skipped !== undefined) return `${head}><skipped message="${escapeXml(skipped)}"/></testcase>`;
  const [first] = problems;
  if (first === undefined) return `${head}/>`;
  return `${head}><failure message="${escapeXml(first)}">${escapeXml(problems.join('\n'))}</failure></testcase>`;
}
