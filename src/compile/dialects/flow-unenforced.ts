/** What the sections let an author say about agents and this release does not act on: a warning, never silence. */
import type { Report } from '../diagnostics.ts';
import type { ReadDocument } from '../document.ts';
import type { Flow } from './flow-read.ts';

/** Steps and the clock are counted for the run as a whole. */
const OF_THE_RUN = ['steps', 'wall_clock_seconds'];

export function warnUnenforced(flow: Flow, { sections }: ReadDocument, report: Report): void {
  const values = [...flow.nodes.values()].map(({ value }) => value);
  const agents = new Set(values.flatMap((value) => (value.type === 'agent' ? [value.agent] : [])));
  for (const [index, { id, name }] of (sections.value.agents ?? []).entries()) {
    const agent = id ?? name ?? '';
    if (!agents.has(agent)) continue;
    for (const path of [['budget'], ['boundary', 'budget']])
      for (const field of OF_THE_RUN) {
        if (sections.located('agents', index, ...path, field) === undefined) continue;
        const message = `\`${field}\` in the budget of agent \`${agent}\` is checked but not enforced by this release`;
        report.warning('not-enforced', sections.key('agents', index, ...path, field), message, {
          help: 'Limit it for the whole run, under `budgets`.',
        });
      }
  }
}
