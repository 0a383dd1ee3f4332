/**
 * The parts of a step that depend on the node alone and not on the run. They are computed once per node. The journal refers to
 * the node instead of repeating them.
 */
import { limitsInput } from '../ir/estimate.ts';
import { digest } from './digest.ts';
import { areSorted } from '../expr/sorted-keys.ts';
import type { DoNode, Expr, ForkNode, Input, Node, Write } from '../ir/nodes.ts';
import { chargesOf } from './meters.ts';
import type { Charges } from './meters.ts';
import type { Program } from './program.ts';
import type { Branches, Recorded, WriteRecord } from '../ir/events.ts';

export interface Declared extends Charges {
  /** The writes, if every value is a reference or a literal; null if one is computed. */
  readonly writes: readonly WriteRecord[] | null;
  /** Of an end: its output, unless it is computed. */
  readonly output: Recorded | null;
  /** Of a fork: its branches, if none has a guard. */
  readonly branches: Branches | null;
  /** The fingerprint of an input that reads nothing from the run. */
  readonly fingerprint: string | null;
  /** True if the amounts to reserve for a call depend on its input. */
  readonly countsInput: boolean;
}

export function declaredOf(program: Program, node: Node): Declared {
  let declared = program.derived.get(node) as Declared | undefined;
  if (declared === undefined) program.derived.set(node, (declared = declare(program, node)));
  return declared;
}

function declare(program: Program, node: Node): Declared {
  return {
    ...chargesOf(program, node),
    writes: node.op === 'let' || node.op === 'do' ? writesOf(program, node.writes) : null,
    output: node.op === 'end' ? program.fixed(node.output) : null,
    branches: node.op === 'fork' ? branchesOf(node) : null,
    fingerprint: node.op === 'do' ? fingerprintOf(program, node) : null,
    countsInput: node.op === 'do' && limitsInput(program.flow, node),
  };
}

function writesOf(program: Program, writes: readonly Write[]): readonly WriteRecord[] | null {
  const records: WriteRecord[] = [];
  for (const { slot, path, mode, value } of writes) {
    const from = isOrdered(value) ? program.fixed(value) : null;
    if (from === null) return null;
    records.push({ slot, path, mode, from });
  }
  return records;
}

function branchesOf({ over }: ForkNode): Branches | null {
  if (!('heads' in over) || over.heads.some(({ when }) => when !== undefined)) return null;
  return { heads: over.heads.map(({ name, to }) => ({ name, to })) };
}

/** A graph is stored with sorted keys. A written value must keep its key order when it is loaded again. */
function isOrdered(value: Write['value']): boolean {
  return typeof value === 'string' || areSorted(Object.keys(value));
}

function fingerprintOf(program: Program, { effect }: DoNode): string | null {
  const constants = Object.entries(effect.input satisfies Input).map(([field, source]) => {
    const fixed = program.fixed(source satisfies Expr);
    return fixed !== null && 'value' in fixed ? ([field, fixed.value] as const) : null;
  });
  return constants.includes(null)
    ? null
    : digest(Object.fromEntries(constants as [string, never][]), program.pure.hash);
}
