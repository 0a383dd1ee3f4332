/**
 * The seven tiers of autonomy, and the warning for a document that uses a higher tier than it needs. The warning considers
 * only the document, not the task: for example, an agent without tools makes no choices.
 */
import type { Lowered } from '../lower/builder-types.ts';
import type { Report } from '../diagnose/diagnostics.ts';
import type { ReadDocument } from '../document/document.ts';
import type { Excess } from './excess.ts';

/** By tier, from 1. The seventh, an open-ended loop, has no document: every flow is bounded. */
const LADDER = {
  1: { name: 'direct response', by: 'one model call' },
  2: { name: 'prompt chain', by: '`workflow` with sequential steps' },
  3: { name: 'deterministic workflow', by: '`flow` with tool and decision nodes' },
  4: { name: 'conditional graph', by: '`flow` with routes over outputs' },
  5: { name: 'supervised loop', by: '`loop` with approvals' },
  6: { name: 'bounded loop', by: '`loop` with budgets' },
} as const;

export function warnOfTier(
  excess: readonly Excess[],
  { places }: Lowered,
  document: ReadDocument,
  report: Report,
): void {
  for (const { uses, needs, why, node } of excess) {
    const at = (node === undefined ? undefined : places.get(node)) ?? document.at;
    report.warning(
      'simpler-tier',
      at,
      `${why}: this is tier ${uses} (${LADDER[uses].name}), and tier ${needs} (${LADDER[needs].name}) is enough`,
      { help: `Use ${LADDER[needs].by}.` },
    );
  }
}
