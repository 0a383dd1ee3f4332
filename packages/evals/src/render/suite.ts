/** The result of a suite as text, Markdown, JUnit and HTML. */
import type { SuiteResult } from '../suite/suite.ts';
import { badge, htmlList, htmlPage, htmlTable, junitXml } from './page.ts';
import { codeSpan, comparisonLine, metricSections, metricsMarkdown, type MetricsReport } from './metrics.ts';
import { escapeXml } from './plots.ts';

export function suiteSummary({ passed, failed, missed, comparisons }: SuiteResult): string {
  const worse = comparisons.filter((each) => each.worse).length;
  return [
    `${passed} passed, ${failed} failed`,
    ...(missed.length > 0 ? [`${missed.length} thresholds missed`] : []),
    ...(worse > 0 ? [`${worse} metrics got worse`] : []),
  ].join('; ');
}

export function suiteMarkdown(result: SuiteResult): string {
  const failures = failedCases(result).map(
    ({ name, mode, problems, failure, done }) =>
      `- ${codeSpan(name)} (${mode}): ${problems.map(codeSpan).join('; ')}${
        failure === null ? '' : `; the run failed by ${codeSpan(`${failure.about} ${failure.name}: ${failure.why}`)}`
      }${done === null ? '' : `. Done: ${codeSpan(done)}`}`,
  );
  const policy = result.policy.map(({ call, before, after }) => `- ${codeSpan(call)}: ${before} → ${after}`);
  const parts = [
    metricsMarkdown(reportOf(result)),
    ...(failures.length === 0 ? [] : [`**Failed cases**\n\n${failures.join('\n')}\n`]),
    ...(result.missed.length === 0
      ? []
      : [`**Missed thresholds**\n\n${result.missed.map((each) => `- ${each}`).join('\n')}\n`]),
    ...(policy.length === 0 ? [] : [`**Changed decisions**\n\n${policy.join('\n')}\n`]),
  ];
  return parts.join('\n');
}

export function suiteJUnit({ suite, cases, missed, comparisons }: SuiteResult): string {
  return junitXml(suite, [
    ...cases.map(({ name, mode, problems }) => ({ name, group: mode, problems })),
    ...missed.map((each) => ({ name: each.split(' ')[0] ?? each, group: 'thresholds', problems: [each] })),
    ...comparisons.map((each) => ({
      name: each.id,
      group: 'baseline',
      problems: each.worse ? [comparisonLine(each)] : [],
    })),
  ]);
}

export function suiteHtml(result: SuiteResult): string {
  const rowOf = ({ name, mode, passed, code, failure, done, problems }: SuiteResult['cases'][number]) => [
    passed ? badge('good', 'passed') : badge('bad', 'failed'),
    escapeXml(name),
    escapeXml(mode),
    escapeXml(code ?? '-'),
    escapeXml(failure === null ? '-' : `${failure.about} ${failure.name}`),
    escapeXml(done ?? '-'),
    problems.length === 0 ? '' : htmlList(problems),
  ];
  // Failed cases come first.
  const failed = failedCases(result).map(rowOf);
  const rows = result.cases.filter(({ passed }) => passed).map(rowOf);
  const { missed, policy } = result;
  const changed = policy.map((each) => [each.case, each.call, each.before, each.after].map(escapeXml));
  const optional = [
    { title: 'Missed thresholds', of: missed, body: htmlList(missed) },
    { title: 'Changed decisions', of: policy, body: htmlTable(['Case', 'Call', 'Before', 'After'], changed) },
  ];
  return htmlPage(result.suite, suiteSummary(result), [
    ...optional.filter(({ of }) => of.length > 0),
    ...metricSections(reportOf(result)),
    {
      title: 'Cases',
      body: htmlTable(['', 'Case', 'Mode', 'Code', 'Failed part', 'Done', 'Problems'], [...failed, ...rows]),
    },
  ]);
}

export function failedCases({ cases }: SuiteResult): SuiteResult['cases'] {
  return cases.filter(({ passed }) => !passed);
}

function reportOf(result: SuiteResult): MetricsReport {
  const { suite, figures, samples, comparisons } = result;
  return { title: suite, summary: suiteSummary(result), figures, samples, comparisons };
}
