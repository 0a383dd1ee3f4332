/** What the sections let an author say about agents and tools and this release does not act on: a warning, never silence. */
import type { Report } from '../diagnostics.ts';
import type { ReadDocument } from '../document.ts';
import type { Flow } from './flow-read.ts';

export function warnUnenforced(flow: Flow, { sections }: ReadDocument, report: Report): void {
  const values = [...flow.nodes.values()].map(({ value }) => value);
  const agents = new Set(values.flatMap((value) => (value.type === 'agent' ? [value.agent] : [])));
  const tools = new Set(values.flatMap((value) => (value.type === 'tool' ? [value.tool] : [])));
  const warn = (path: readonly (string | number)[], what: string): void => {
    if (sections.located(...path) === undefined) return;
    const key = String(path.at(-1));
    report.warning(
      'not-enforced',
      sections.key(...path),
      `\`${key}\` of ${what} is checked but not enforced by this release`,
      {
        help: 'Do not rely on it for safety yet.',
      },
    );
  };
  for (const [index, { id, name }] of (sections.value.agents ?? []).entries()) {
    if (!agents.has(id ?? name ?? '')) continue;
    for (const key of ['budget', 'boundary'])
      warn(['agents', index, key], `agent \`${id ?? name ?? ''}\``);
  }
  for (const tool of tools) warn(['tools', tool, 'rate_limit'], `tool \`${tool}\``);
}
