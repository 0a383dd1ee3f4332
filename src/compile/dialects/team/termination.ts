/** Ends the session where what was just said matches: looked at after every turn whose route was not refused. */
import type { NodeId } from '../../../core/ir.ts';
import { quote } from '../../cel-text.ts';
import type { Site } from './bad-turn.ts';
import { addGate } from './gate.ts';
import { addPick, success } from './lowering.ts';
import type { Lowering } from './lowering.ts';
import type { Rule, Team } from './model.ts';
import { SAID } from './slots.ts';

/** `passed` names checks that this turn has already passed on its way; they are not made twice. */
export function addTermination(l: Lowering, site: Site, next: NodeId, passed: ReadonlySet<string> = new Set()): NodeId {
  const rules = l.prefix === '' ? rulesFor(l.team, site.agent) : [];
  const cases = rules.map(({ pattern, checks }, index) => {
    const left = checks.filter(({ name }) => !passed.has(name));
    const to = addGate(l, {
      site,
      key: `termination${index}`,
      what: 'the end of the session',
      checks: left,
      approval: null,
      recovery: null,
      pass: success(l),
    });
    return { when: `re(${SAID}, ${quote(pattern)})`, to };
  });
  return addPick(l, `${site.hint}.termination`, site.origin, cases, next);
}

export function rulesFor({ termination }: Team, agent: string): readonly Rule[] {
  return termination.rules.filter(({ agents }) => agents === null || agents.includes(agent));
}
