/**
 * The seven tiers of autonomy, and the warning for a document that uses a higher tier than it needs. The warning considers
 * only the document, not the task: for example, an agent without tools makes no choices.
 */
import type { Lowered } from '../lower/builder.ts';
import type { Report } from '../diagnose/diagnostics.ts';
import type { ReadDocument } from '../document/document.ts';
import type { FlowBody } from '../../ir/nodes.ts';
import { isRecord } from '../../expr/json.ts';
import type { Authored, Excess } from './excess.ts';
import { plain } from '../source/located.ts';

const LADDER = [
  { tier: 1, name: 'direct response', path: 'fixed', by: 'one model call' },
  { tier: 2, name: 'prompt chain', path: 'fixed, in a line', by: '`workflow` with sequential steps' },
  {
    tier: 3,
    name: 'deterministic workflow',
    path: 'branches by hard logic',
    by: '`flow` with tool and decision nodes',
  },
  { tier: 4, name: 'conditional graph', path: 'branches by what models return', by: '`flow` with routes over outputs' },
  { tier: 5, name: 'supervised loop', path: 'chosen by the model, approved by people', by: '`loop` with approvals' },
  { tier: 6, name: 'bounded loop', path: 'chosen by the model, within budgets', by: '`loop` with budgets' },
  { tier: 7, name: 'open-ended loop', path: 'without bounds', by: 'nothing here: every flow is bounded' },
] as const;
type Tier = (typeof LADDER)[number]['tier'];

export function warnOfTier(
  { body, places }: Lowered,
  document: ReadDocument,
  excessOf: (body: FlowBody, authored: Authored) => readonly Excess[] = () => [],
  report: Report,
): void {
  const authored = plain(document.body);
  if (!isRecord(authored)) return;
  for (const { uses, needs, why, node } of excessOf(body, authored)) {
    const at = (node === undefined ? undefined : places.get(node)) ?? document.at;
    report.warning(
      'simpler-tier',
      at,
      `${why}: this is tier ${uses} (${nameOf(uses)}), and tier ${needs} (${nameOf(needs)}) is enough`,
      {
        help: `Use ${LADDER[needs - 1]?.by ?? ''}.`,
      },
    );
  }
}

function nameOf(tier: Tier): string {
  return LADDER[tier - 1]?.name ?? '';
}
