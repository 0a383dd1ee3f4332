/** The tools that a flow calls, looked at once each: what is risky has its rules. */
import type { Report } from '../../diagnose/diagnostics.ts';
import type { ReadDocument } from '../../document/document.ts';
import type { Flow } from './read.ts';

const RISKY: ReadonlySet<string> = new Set(['financial', 'infrastructure']);

export function checkTools(flow: Flow, { sections }: ReadDocument, report: Report): void {
  const used = new Set([...flow.nodes.values()].flatMap(({ value }) => (value.type === 'tool' ? [value.tool] : [])));
  for (const name of used) {
    const tool = Object.hasOwn(sections.value.tools, name) ? sections.value.tools[name] : undefined;
    if (tool === undefined) continue;
    if (RISKY.has(tool.effect) && tool.input === undefined) {
      report.warning(
        'incomplete-tool',
        sections.key('tools', name),
        `the tool \`${name}\` has the effect \`${tool.effect}\`, but no schema for its arguments`,
        { help: 'Add `input`, a JSON Schema.' },
      );
    }
  }
}
