/** Undoes a stage before it is repeated, and marks its observations as undone. Adds nothing if no tool has a compensation. */
import type { Expr, LetNode, NodeId, Write } from '@sluice-internal/kernel/ir';
import { literal } from '@sluice-internal/compile/expressions';
import { OBSERVATIONS, set, setField } from '@sluice-internal/compile/lower';
import { nameOf, stepOf, type Lowering } from './lowering.ts';

/** The number of observations as each stage began. */
const OBSERVED = '_observed';
const START = 'start';

/** Writes before the first stage. A team inherits the observations of the run. */
export function rollbackStart(l: Lowering): readonly Write[] {
  if (reversible(l).length === 0) return [];
  return [set(OBSERVED, { [START]: l.prefix === '' ? '0' : `size(${OBSERVATIONS})` })];
}

/** Writes as a stage begins. */
export function rollbackMark(l: Lowering, stage: string): readonly Write[] {
  return reversible(l).length === 0 ? [] : [setField(OBSERVED, [stage], `size(${OBSERVATIONS})`)];
}

export interface Rollback {
  readonly undoes?: NonNullable<LetNode['undoes']>;
  readonly writes: readonly Write[];
}

/** The undo before these stages are repeated. The earliest stage comes first. */
export function rollbackOf(l: Lowering, stages: 'all' | readonly string[]): Rollback {
  if (reversible(l).length === 0) return { writes: [] };
  return {
    undoes: stages === 'all' ? 'all' : stages.map((stage) => nameOf(l, stage)),
    writes: undone(l, stages === 'all' ? START : (stages[0] ?? START)),
  };
}

/** The end of a branch that failed. The engine undoes what the branch did; its observations must not count as done. */
export function failedBranch(l: Lowering, stage: string): NodeId {
  const failed = l.builder.failedEnd();
  const writes = undone(l, stage);
  return writes.length === 0 ? failed : l.kit.set(stepOf(l, stage, 'undone'), writes, failed);
}

/** Writes before the stages of a team end without a result. */
export function undoneTeam(l: Lowering): readonly Write[] {
  return l.prefix === '' ? [] : undone(l, START);
}

/** Calls since the mark that have a compensation did not succeed, because they were undone. */
function undone(l: Lowering, mark: string): readonly Write[] {
  const tools = reversible(l);
  if (tools.length === 0) return [];
  const changed = `o.ok && o.tool in ${literal([...tools])}`;
  const each: Expr = `${changed} ? merge(o, {"ok": false, "error": "the call was undone"}) : o`;
  const [before, since] = [`slice(${OBSERVATIONS}, 0, n)`, `slice(${OBSERVATIONS}, n, size(${OBSERVATIONS}))`];
  return [set(OBSERVATIONS, `cel.bind(n, ${OBSERVED}[${literal(mark)}], ${before} + ${since}.map(o, ${each}))`)];
}

/** The tools whose calls can be undone. */
function reversible({ staged: { definitions } }: Lowering): readonly string[] {
  const { tools } = definitions;
  return Object.keys(tools).filter((name) => (tools[name]?.compensate ?? null) !== null);
}
