/**
 * Finds parts of a document that use a higher tier of autonomy than they need, as far as the document alone proves it. Each
 * finding has the tier that is used, the lower tier that is enough, and the reason. It considers only the document, not the
 * task: for example, an agent without tools makes no choices.
 */
import type { Lowered } from '../lower/builder-types.ts';
import type { Report } from '../source/diagnostics.ts';
import type { ReadDocument } from '../document/document.ts';
import type { FlowBody } from '@sluice-internal/kernel/ir';
import { isRecord } from '@sluice-internal/kernel/expr';

export function limitOf({ meters }: FlowBody, id: string): number | null {
  return meters[id]?.max ?? null;
}

export interface Excess {
  readonly uses: 2 | 3 | 4 | 5 | 6;
  readonly needs: 1 | 2 | 3 | 4 | 5;
  readonly why: string;
  /** The node that it is about. Default: the whole document. */
  readonly node?: string;
}

export function isDenied({ boundaries }: FlowBody, agent: string, tool: string): boolean {
  const boundary = boundaries !== undefined && Object.hasOwn(boundaries, agent) ? boundaries[agent] : undefined;
  return boundary?.tools.deny.includes(tool) ?? false;
}

export function takesNothing({ tools }: FlowBody, name: string): boolean {
  const input = Object.hasOwn(tools, name) ? tools[name]?.input : undefined;
  if (input === undefined || !isRecord(input)) return false;
  return input['additionalProperties'] === false && Object.keys((input['properties'] ?? {}) as object).length === 0;
}

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
