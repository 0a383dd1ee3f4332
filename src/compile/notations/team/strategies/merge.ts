/**
 * Merges the outputs of branches. `Strategy` is tried first, then `ConflictResolution` in order; if none decides, the
 * outputs are concatenated.
 */
import type * as z from 'zod';
import type { Expr, NodeId } from '../../../../ir/nodes.ts';
import { list, name, oneOf, record } from '../../../document/shape/fields.ts';
import { quote } from '../../../expressions/cel-text.ts';
import type { Range } from '../../../source/range.ts';
import type { Lowering } from '../lowering.ts';
import { set } from '../../../lower/kit.ts';
import { BRANCHES, SAID, tell } from '../slots.ts';
import { spellings } from '../spelling.ts';
import { addTeamTurn } from '../turn.ts';

const MERGES = ['union', 'consensus', 'vote', 'ranked', 'semantic_diff'] as const;
type MergeStrategy = (typeof MERGES)[number];

export const mergeSchema = record(() => ({
  Strategy: oneOf(MERGES)
    .meta({ enum: spellings('Strategy', MERGES) })
    .default('union'),
  Agent: name().optional().describe('The agent that merges; needed for ranked and semantic_diff.'),
  ConflictResolution: list(oneOf(MERGES).meta({ enum: spellings('Strategy', MERGES) }))
    .default([])
    .describe('Tried in order if the strategy reaches no decision.'),
}));
type RawMerge = z.output<typeof mergeSchema>;

interface Branch {
  /** The entry in `path`. */
  readonly name: string;
  readonly agent: string;
  readonly at?: Range;
}

export interface Merge {
  readonly hint: string;
  readonly origin: string;
  readonly branches: readonly Branch[];
  readonly merge: RawMerge | null;
  readonly next: NodeId;
}

const MERGED = 'merged';

export function addMerge(l: Lowering, { hint, origin, branches, merge, next }: Merge): NodeId {
  const names = branches.map(({ agent }) => agent);
  const inject = (how: string): NodeId =>
    l.kit.set(
      { hint: `${hint}.merged:${how}`, origin: `merge:${how}` },
      [tell(`text(${quote(`[parallel merge — ${how}]\n`)}, ${MERGED})`, null), set(SAID, MERGED)],
      next,
    );
  const union = l.kit.set(
    { hint: `${hint}.union`, origin },
    [set(MERGED, names.length === 1 ? `${BRANCHES}[0].output` : blocks(names))],
    inject('union'),
  );
  if (names.length === 1) return union;
  const order = [merge?.Strategy ?? 'union', ...(merge?.ConflictResolution ?? [])];
  let otherwise = union;
  for (const strategy of order.toReversed())
    otherwise = addStrategy(l, strategy, { hint, origin, names, agent: merge?.Agent ?? '', inject, union, otherwise });
  return otherwise;
}

interface Attempt {
  readonly hint: string;
  readonly origin: string;
  readonly names: readonly string[];
  readonly agent: string;
  readonly inject: (how: string) => NodeId;
  readonly union: NodeId;
  readonly otherwise: NodeId;
}

function addStrategy(l: Lowering, strategy: MergeStrategy, attempt: Attempt): NodeId {
  const { hint, origin, inject, otherwise } = attempt;
  switch (strategy) {
    case 'union':
      return attempt.union;
    case 'consensus': {
      const take = l.kit.set(
        { hint: `${hint}.consensus`, origin },
        [set(MERGED, `${BRANCHES}[0].output`)],
        inject(strategy),
      );
      return l.kit.pick(
        { hint: `${hint}.agree`, origin },
        [{ when: `${BRANCHES}.all(b, ${statement('b')} == ${statement(`${BRANCHES}[0]`)})`, to: take }],
        otherwise,
      );
    }
    case 'vote': {
      const winner = `majority(${BRANCHES}.map(b, ${statement('b')}))`;
      const take = l.kit.set(
        { hint: `${hint}.vote`, origin },
        [set(MERGED, `cel.bind(w, ${winner}, ${BRANCHES}.filter(b, ${statement('b')} == w)[0].output)`)],
        inject(strategy),
      );
      return l.kit.pick({ hint: `${hint}.elect`, origin }, [{ when: `${winner} != null`, to: take }], otherwise);
    }
    case 'ranked':
    case 'semantic_diff':
      return addJudge(l, strategy, attempt);
  }
}

/** The statement of a branch is its last line; letter case is ignored. */
function statement(branch: Expr): Expr {
  return `lower(lastLine(${branch}.output))`;
}

/** The outputs in order, each under the name of its agent. */
function blocks(names: readonly string[]): Expr {
  const parts = names.flatMap((name, index) => [
    quote(`${index === 0 ? '' : '\n\n'}--- ${name} ---\n`),
    `${BRANCHES}[${index}].output`,
  ]);
  return `text(${parts.join(', ')})`;
}

const ASKED: { readonly [strategy: string]: string } = {
  ranked:
    'Several agents answered the same task. Choose the best answer, or put the best together out of them, and give it and nothing else.',
  semantic_diff:
    'Several agents answered the same task. Find where they agree, settle where they differ, and give the one reconciled result and nothing else.',
};

/** An agent merges: it sees the task and the outputs, and its message is the result. An empty message decides nothing. */
function addJudge(
  l: Lowering,
  strategy: 'ranked' | 'semantic_diff',
  { hint, origin, names, agent, inject, otherwise }: Attempt,
): NodeId {
  const take = l.kit.set({ hint: `${hint}.${strategy}`, origin }, [set(MERGED, SAID)], inject(strategy));
  const judged = l.kit.pick(
    { hint: `${hint}.${strategy}.judged`, origin },
    [{ when: `trim(${SAID}) != ""`, to: take }],
    otherwise,
  );
  const prompt = `text(${quote(`${ASKED[strategy] ?? ''}\n\nThe task:\n`)}, input, "\\n\\n", ${blocks(names)})`;
  const undecided = l.kit.set({ hint: `${hint}.${strategy}.undecided`, origin }, [set('error', 'null')], otherwise);
  return addTeamTurn(l, {
    agent,
    hint: `${hint}.${strategy}.judge`,
    origin,
    input: { prompt },
    shared: false,
    counts: false,
    next: judged,
    fail: undecided,
  });
}
