/**
 * A bad turn takes no route, or its route is refused. The agent gets a correction. After too many bad turns in a row, of any
 * kind, the session is stuck. Each kind of correction is a separate node, so that the journal names it.
 */
import type { Expr, NodeId, Write } from '@sluice-internal/kernel/ir';
import { quote } from '@sluice-internal/compile/expressions';
import { errorOf, set } from '@sluice-internal/compile/lower';
import { part, type Lowering, type Place } from './lowering.ts';
import { BAD, NOTE, ONE_MORE_BAD, OUTPUT, reject, tell } from './slots.ts';

const BAD_TURNS = 3;

/** The bad turn in a row that stops the session: `FailureHandling.Threshold`, or 3. */
export function badTurns({ team }: Lowering): number {
  return team.raw.FailureHandling.Threshold ?? BAD_TURNS;
}

/** A place where an agent has turns. */
export interface Site extends Place {
  readonly agent: string;
  /** The node at which its turn begins. */
  readonly again: NodeId;
  /** The bad turn in a row that stops the session. */
  readonly limit: number;
  /** True if the author set the limit for this place, so that no other threshold applies. */
  readonly fixed?: boolean;
  /** The agent whose calls count as evidence; the empty text for all agents. `agent` when absent. */
  readonly witness?: string;
  /** The agents who may have written the message of this place. `agent` when absent. */
  readonly speakers?: readonly string[];
}

/** The site of an agent whose place has its own name. */
export function siteOf(l: Lowering, agent: string): Site {
  return { agent, hint: agent, origin: agent, again: l.builder.idOf(agent), limit: badTurns(l) };
}

/** The site of a turn without a keyword or signal: `MaxConsecutiveTurnsWithoutSignal` can stop the session earlier. */
export function silentSite({ team }: Lowering, site: Site): Site {
  const most = team.raw.FailureHandling.MaxConsecutiveTurnsWithoutSignal;
  return most > 0 ? { ...site, limit: Math.min(site.limit, most) } : site;
}

/** One kind of correction. The first whose condition holds is given; the last has no condition. */
export interface Correction {
  readonly type: string;
  readonly when?: Expr;
  readonly text: Expr;
}

export interface BadTurn {
  /** Used in the error of a stuck session. */
  readonly what: string;
  readonly corrections: readonly Correction[];
  /** Written before the correction is chosen. */
  readonly measures?: readonly Write[];
  /** True, the default, if the correction goes into the shared history. */
  readonly shared?: boolean;
  /** Written with every correction. */
  readonly writes?: readonly Write[];
  /** The next turn; the same agent's when absent. */
  readonly next?: NodeId;
  /** Overrides `next` for some types. */
  readonly nextOf?: (type: string) => NodeId | undefined;
  readonly reason?: Expr;
  /** The limit as an expression; the site's own when absent. */
  readonly limit?: Expr;
  /** The most that `limit` can be. */
  readonly limitMax?: number;
  /** The agent that the correction is addressed to; the site's own when absent. */
  readonly to?: string;
}

export function addBadTurn(l: Lowering, site: Site, bad: BadTurn): NodeId {
  const { hint, again, agent } = site;
  const corrections = bad.corrections.map(({ type, when, text }) => {
    const writes = [
      set(BAD, ONE_MORE_BAD),
      bad.shared === false ? set(NOTE, text) : tell(text, bad.to ?? agent),
      ...(bad.writes ?? []),
    ];
    const next = bad.nextOf?.(type) ?? bad.next ?? again;
    const step = { hint: `${hint}.correction:${type}`, origin: `correction:${type}` };
    return { when, next, to: l.kit.set(step, writes, next) };
  });
  const nodes = corrections.flatMap(({ to, next }) => (next === again ? [to] : []));
  l.corrections.push({ nodes, again, limit: Math.max(site.limit, bad.limitMax ?? 0) });
  const last = corrections.at(-1)?.to ?? again;
  const others = corrections.slice(0, -1).map(({ when = 'true', to }) => ({ when, to }));
  const chosen = l.kit.pick(part(site, 'choose'), others, last);
  const measured = bad.measures === undefined ? chosen : l.kit.set(part(site, 'measure'), bad.measures, chosen);
  const when = `${BAD} >= ${bad.limit === undefined ? site.limit - 1 : `${bad.limit} - 1`}`;
  return l.kit.when(part(site, 'bad'), when, addStuck(l, site, bad.what, bad.reason, bad.shared), measured);
}

/**
 * Fails the session and names the stuck agent and the last problem. The last message of the shared history is refused;
 * a chooser that is stuck (`shared` is false) leaves it as it is.
 */
export function addStuck(l: Lowering, site: Site, what: string, reason: Expr = '""', shared = true): NodeId {
  const { origin, agent } = site;
  const message = `text(${quote(`${agent} is stuck after `)}, ${BAD} + 1, ${quote(` bad turns in a row; the last one: ${what}`)}, ${reason})`;
  const error = errorOf({ type: 'StuckError', message }, origin);
  return l.kit.set(
    part(site, 'stuck'),
    [set(BAD, ONE_MORE_BAD), set('error', error), ...(shared ? [reject(message)] : [])],
    l.builder.failedEnd(OUTPUT),
  );
}
