/** An HTML page that stands alone: no script, no font, no picture from elsewhere. Light and dark. */
import { escapeXml } from './plots.ts';

export interface Section {
  readonly title: string;
  /** HTML. */
  readonly body: string;
}

export function htmlPage(title: string, summary: string, sections: readonly Section[]): string {
  const parts = sections.map((section) => `<section><h2>${escapeXml(section.title)}</h2>${section.body}</section>`);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeXml(title)}</title><style>${STYLE}</style></head>
<body><main><h1>${escapeXml(title)}</h1><p class="summary">${escapeXml(summary)}</p>
${parts.join('\n')}
</main></body></html>
`;
}

/** A table. Cells are HTML. */
export function htmlTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (tag: 'th' | 'td', row: readonly string[]): string =>
    `<tr>${row.map((cell) => `<${tag}>${cell}</${tag}>`).join('')}</tr>`;
  return `<div class="wide"><table><thead>${cells('th', head)}</thead><tbody>${rows.map((row) => cells('td', row)).join('')}</tbody></table></div>`;
}

export function htmlList(texts: readonly string[]): string {
  return `<ul>${texts.map((text) => `<li>${escapeXml(text)}</li>`).join('')}</ul>`;
}

/** A word in the colour of its status. */
export function badge(is: 'good' | 'bad' | 'neutral', text: string): string {
  return `<span class="badge ${is}">${escapeXml(text)}</span>`;
}

const STYLE = `
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --line: #d5dae1; --page: #fff; --bar: #3b6fb6; --good: #1b7f4b; --bad: #b3261e; --mark: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #9aa5b4; --line: #3a434f; --page: #14181d; --bar: #6c9fe0; --good: #5ac48a; --bad: #f2857c; --mark: #f2857c; } }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 980px; margin: 0 auto; padding: 32px 20px 64px; }
h1 { font-size: 24px; margin: 0 0 4px; } h2 { font-size: 17px; margin: 32px 0 8px; }
.summary, .none { color: var(--soft); margin: 0; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 6px 10px 6px 0; border-bottom: 1px solid var(--line); } th { color: var(--soft); font-weight: 600; }
.badge { font-weight: 600; } .badge.good { color: var(--good); } .badge.bad { color: var(--bad); } .badge.neutral { color: var(--soft); }
svg { max-width: 100%; height: auto; } svg text { font: 12px system-ui, sans-serif; fill: var(--ink); } svg text.mark { fill: var(--mark); }
.bar, .dot { fill: var(--bar); } .axis { stroke: var(--line); } .range { stroke: var(--bar); stroke-width: 3; } line.mark { stroke: var(--mark); stroke-width: 1.5; }
code { font: 13px ui-monospace, monospace; overflow-wrap: anywhere; } ul { margin: 4px 0; padding-left: 18px; }
`;

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
