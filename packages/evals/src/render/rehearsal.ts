/** A rehearsal as Markdown, JUnit and HTML. */
import type { Rehearsal } from '../rehearse/rehearse.ts';
import { junitXml, badge, htmlPage, htmlTable, type JUnitCase } from './page.ts';
import { barPlot, escapeXml, histogram } from './plots.ts';

export function rehearsalJUnit({ flow, certificate, defects, nodes, edges }: Rehearsal): string {
  const bounds = Object.entries(certificate).map(([measure, { seen, most, holds }]): JUnitCase => ({
    group: 'certificate',
    name: measure,
    problems: holds ? [] : [`${seen} were used, and the certificate allows ${most}`],
  }));
  const reached: JUnitCase[] = [
    { group: 'coverage', name: 'nodes', problems: nodes.never.map((name) => `no run reached ${name}`) },
    { group: 'coverage', name: 'routes', problems: edges.never.map((name) => `no run took ${name}`) },
  ];
  const faults = defects.flatMap(({ kind, about, message, seed }): JUnitCase[] =>
    seed === null ? [] : [{ group: 'defects', name: `${kind} ${about}`, problems: [`${message} (seed ${seed})`] }],
  );
  return junitXml(`rehearsal of ${flow}`, [...bounds, ...reached, ...faults]);
}

export function rehearsalMarkdown(result: Rehearsal): string {
  const codes = Object.entries(result.codes).map(([code, count]) => `| ${code} | ${count} |`);
  const defects = result.defects.map(
    ({ kind, message, seed }) => `- **${kind}**: ${message}${seed === null ? '' : ` (seed ${seed})`}`,
  );
  return `### Rehearsal of ${result.flow}

${summaryOf(result)}

| code | runs |
|---|---|
${codes.join('\n')}

${defects.length === 0 ? 'No defects found.' : defects.join('\n')}
`;
}

export function rehearsalHtml(result: Rehearsal): string {
  const { codes, samples, certificate, defects, nodes, edges, worst } = result;
  const limit = (measure: string, unit: string): { at: number; label: string }[] => {
    const most = certificate[measure]?.most ?? null;
    return most === null ? [] : [{ at: most, label: `certificate: ${most} ${unit}` }];
  };
  const list = (names: readonly string[]): string =>
    names.length === 0
      ? badge('good', 'all reached')
      : `<ul>${names.map((name) => `<li><code>${escapeXml(name)}</code></li>`).join('')}</ul>`;
  return htmlPage(`Rehearsal of ${result.flow}`, summaryOf(result), [
    { title: 'How runs ended', body: barPlot(codes) },
    { title: 'Steps', body: histogram(samples.steps, 'steps', limit('steps', 'steps')) },
    { title: 'Cost', body: histogram(samples.costUsd, 'USD', limit('costUsd', 'USD')) },
    {
      title: 'Against the certificate',
      body: htmlTable(
        ['Amount', 'Most seen', 'Certificate', ''],
        Object.entries(certificate).map(([measure, { seen, most, holds }]) => [
          escapeXml(measure),
          String(seen),
          most === null ? 'no bound' : String(most),
          most === null ? badge('neutral', 'not checked') : holds ? badge('good', 'holds') : badge('bad', 'exceeded'),
        ]),
      ),
    },
    { title: 'Nodes that no run reached', body: list(nodes.never) },
    { title: 'Routes that no run took', body: list(edges.never) },
    {
      title: 'Defects',
      body:
        defects.length === 0
          ? badge('good', 'none found')
          : htmlTable(
              ['Kind', 'Message', 'Runs', 'Seed'],
              defects.map(({ kind, message, runs, seed }) => [
                badge('bad', kind),
                escapeXml(message),
                String(runs),
                seed === null ? '-' : `<code>${seed}</code>`,
              ]),
            ),
    },
    {
      title: 'Worst run',
      body:
        worst === null
          ? ''
          : `<p><code>--runs 1 --seed ${worst.seed}</code> ends ${escapeXml(worst.code)} after ${worst.steps} steps and $${worst.costUsd}.</p>`,
    },
  ]);
}

function summaryOf({ runs, seed, nodes, edges, crashes }: Rehearsal): string {
  const all = ({ reached, never }: Rehearsal['nodes']): string => `${reached} of ${reached + never.length}`;
  return `${runs} runs from seed ${seed}; ${all(nodes)} nodes and ${all(edges)} routes reached; ${crashes} crashes.`;
}
