/**
 * A long session in short, without asking a model: once there are more turns than the trigger, agents are shown the latest
 * ones as they were and, for all before, where the session stands and what was really done. Only what is shown changes; no
 * route and no gate looks at it.
 */
import type { Expr } from '../../../ir/nodes.ts';
import { OBSERVATIONS } from '../../lower/agent-turn/slots.ts';
import type { Team } from './model.ts';
import { STATE, TURNS } from './slots.ts';

export const CONTRACTS = 'contracts';
const EVIDENCE_MAX = 20;

export interface Recap {
  readonly keep: number;
  readonly text: Expr;
}

/** Null where the team is shown everything. */
export function recapOf({ raw }: Team): Recap | null {
  const settings = raw.Compaction;
  if (settings === undefined || !isCarriedOut(raw)) return null;
  const text = settings.Mode === 'window' ? '"[Earlier turns are left out.]"' : lossless();
  return { keep: settings.KeepRecentTurns, text: `size(${TURNS}) > ${settings.TriggerTurnCount} ? ${text} : null` };
}

/** Lossless needs a position and evidence to rebuild from; the modes that ask a model are not there. */
export function isCarriedOut(raw: Team['raw']): boolean {
  const mode = raw.Compaction?.Mode;
  if (mode === 'window') return true;
  return mode === 'lossless' && raw.Selection.Type === 'statemachine' && raw.EvidenceStore !== undefined;
}

function lossless(): Expr {
  const contracts = `join(${CONTRACTS}.map(k, text(${CONTRACTS}[k].ok ? "✓ " : "✗ ", k, ${CONTRACTS}[k].ok ? "" : text(": ", ${CONTRACTS}[k].reason))), "\\n")`;
  const evidence = `join(tail(${OBSERVATIONS}, ${EVIDENCE_MAX}).map(o, text(o.ok ? "✓ " : "✗ ", "turn ", o.turn, " ", o.agent, " ", o.tool, " ", o.args.path, o.args.command)), "\\n")`;
  const parts = [
    '"[CONTEXT RECONSTRUCTION — derived from durable evidence, not summarised by a model]\\n\\nSTATE MACHINE POSITION\\n"',
    STATE,
    '"\\n\\nCONTRACT STATUS\\n"',
    contracts,
    '"\\n\\nRECENT EVIDENCE, latest last\\n"',
    evidence,
    '"\\n\\nRESUMPTION NOTE\\nGo on from this position. What is listed here was really done; what is not, was not."',
  ];
  return `text(${parts.join(', ')})`;
}
