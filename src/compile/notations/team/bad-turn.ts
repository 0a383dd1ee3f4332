/**
 * A turn that leads nowhere: it counts, and the agent is told what was wrong with it. Too many in a row, of whatever kind,
 * and the session is stuck. Each kind of correction is a node of its own, so that the journal says which was given.
 */
import type { Expr, NodeId, Write } from '../../../ir/nodes.ts';
import { object, quote } from '../../expressions/cel-text.ts';
import { addLet, addPick } from './lowering.ts';
import type { Lowering } from './lowering.ts';
import { BAD, NOTE, SAID, set, tell } from './slots.ts';

/** A place where an agent has its turn, and can have it again. */
export interface Site {
  readonly agent: string;
  readonly hint: string;
  readonly origin: string;
  /** Where its turn begins. */
  readonly again: NodeId;
  /** The bad turn in a row that stops the session. */
  readonly limit: number;
  /** Whose calls count as evidence, where it is not the agent: the empty text for everybody's. */
  readonly witness?: string;
  /** Who may have said what it comes to, where it is not the agent. */
  readonly speakers?: readonly string[];
}

/** One kind of correction. The first whose condition holds is given; the last has none. */
export interface Correction {
  readonly type: string;
  readonly when?: Expr;
  readonly text: Expr;
}

export interface BadTurn {
  /** What happened, for the error of a session that is stuck. */
  readonly what: string;
  readonly corrections: readonly Correction[];
  /** Measured before the correction is chosen. */
  readonly measures?: readonly Write[];
  /** Whether the correction goes into the shared history. Yes, unless told. */
  readonly shared?: boolean;
  /** Written with every correction. */
  readonly writes?: readonly Write[];
  /** Who goes on, where it is not the agent itself. */
  readonly next?: NodeId;
  /** Another way on for some types. */
  readonly nextOf?: (type: string) => NodeId | undefined;
  readonly reason?: Expr;
}

export function addBadTurn(l: Lowering, site: Site, bad: BadTurn): NodeId {
  const { hint, origin, limit, again, agent } = site;
  const corrections = bad.corrections.map(({ type, when, text }) => {
    const writes = [
      set(BAD, `${BAD} + 1`),
      bad.shared === false ? set(NOTE, text) : tell(text, agent),
      ...(bad.writes ?? []),
    ];
    return {
      when,
      to: addLet(
        l,
        `${hint}.correction:${type}`,
        `correction:${type}`,
        writes,
        bad.nextOf?.(type) ?? bad.next ?? again,
      ),
    };
  });
  const last = corrections.at(-1)?.to ?? again;
  const chosen = addPick(
    l,
    `${hint}.choose`,
    origin,
    corrections.slice(0, -1).map(({ when = 'true', to }) => ({ when, to })),
    last,
  );
  const measured = bad.measures === undefined ? chosen : addLet(l, `${hint}.measure`, origin, bad.measures, chosen);
  return addPick(
    l,
    `${hint}.bad`,
    origin,
    [{ when: `${BAD} >= ${limit - 1}`, to: addStuck(l, site, bad.what, bad.reason) }],
    measured,
  );
}

/** The session cannot go on: it fails, and says who was stuck at what. */
export function addStuck(l: Lowering, { hint, origin, agent }: Site, what: string, reason: Expr = '""'): NodeId {
  const error = object([
    ['class', quote('semantic')],
    ['type', quote('StuckError')],
    [
      'message',
      `text(${quote(`${agent} is stuck after `)}, ${BAD} + 1, ${quote(` bad turns in a row; the last one: ${what}`)}, ${reason})`,
    ],
    ['node', quote(origin)],
    ['code', quote('REPEATED_FAILURE')],
  ]);
  return addLet(l, `${hint}.stuck`, origin, [set(BAD, `${BAD} + 1`), set('error', error)], l.builder.failedEnd(SAID));
}
