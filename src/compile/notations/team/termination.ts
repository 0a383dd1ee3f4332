/** Ends the session where what was just said matches: looked at after every turn whose route was not refused. */
import type { NodeId } from '../../../ir/nodes.ts';
import { literal, quote } from '../../expressions/cel-text.ts';
import type { Site } from './bad-turn.ts';
import { addGate } from './gate.ts';
import { addPick, success } from './lowering.ts';
import type { Lowering } from './lowering.ts';
import type { Rule, Team } from './model.ts';
import { SAID, TURNS } from './slots.ts';

/** `passed` names checks that this turn has already passed on its way; they are not made twice. */
export function addTermination(l: Lowering, site: Site, next: NodeId, passed: ReadonlySet<string> = new Set()): NodeId {
  const speakers = site.speakers ?? [site.agent];
  const isFor = ({ agents }: Rule): boolean => agents === null || speakers.some((agent) => agents.includes(agent));
  const cases = openRules(l)
    .filter(isFor)
    .map(({ pattern, agents, checks }, index) => {
      const left = checks.filter(({ name }) => !passed.has(name));
      const to = addGate(l, {
        site,
        key: `termination${index}`,
        what: 'the end of the session',
        checks: left,
        approval: null,
        recovery: null,
        pass: l.ended ?? success(l),
      });
      const matches = `re(${SAID}, ${quote(pattern)})`;
      if (agents === null || speakers.every((agent) => agents.includes(agent))) return { when: matches, to };
      return { when: `${TURNS}[size(${TURNS}) - 1] in ${literal([...agents])} && ${matches}`, to };
    });
  return addPick(l, `${site.hint}.termination`, site.origin, cases, next);
}

/** What runs inside a node is that node's affair: the session looks at what it comes to, and not into it. */
export function openRules({ prefix, team }: Lowering): readonly Rule[] {
  return prefix === '' ? team.termination.rules : [];
}

export function rulesFor({ termination }: Team, agent: string): readonly Rule[] {
  return termination.rules.filter(({ agents }) => agents === null || agents.includes(agent));
}
