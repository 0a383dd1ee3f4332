/** A tool that the boundary denies, and the policies of the document. The third denial of a run ends it. */
import { quote } from '@sluice-internal/kernel/expr';
import type { Consequence, Expr, Instead } from '@sluice-internal/kernel/ir';
import { consequenceOf } from './consequence.ts';
import type { Boundary, ControlFile, ProposedCall } from './control.ts';
import { PERMISSION } from './errors.ts';
import { questionAbout } from './trouble.ts';

/** Denials in a run that count as mistakes; the next one ends the run. */
const DENIALS_MAX = 2;
const WORDS = { step: 'permission', tag: 'DENIED', error: PERMISSION } as const;

export const denyControl: ControlFile = {
  name: 'deny',
  lower(call, boundary) {
    const { tool, agent } = call;
    if (agent === null || !boundary.tools.deny.includes(tool)) return null;
    const reason = quote(`the boundary does not let ${agent.name} call ${tool}`);
    const { onRefuse, ...words } = refusalOf(call, boundary, agent.observations);
    return { control: 'deny', how: 'expr', onRefuse, with: { cases: [{ when: 'true', reason }], ...words } };
  },
};

export const policyControl: ControlFile = {
  name: 'policy',
  lower(call, boundary) {
    const { tool, agent, hasPolicies } = call;
    if (!hasPolicies) return null;
    const check = { control: 'policy', how: 'check' } as const;
    if (agent === null) {
      const reason = quote(`the call of \`${tool}\` is not permitted`);
      return { ...check, onRefuse: 'fail', with: { check: 'policy', input: {}, ...WORDS, reason } };
    }
    const { onRefuse, ...words } = refusalOf(call, boundary, agent.observations);
    const input = { agent: quote(agent.name), ...(agent.stage === undefined ? {} : { stage: quote(agent.stage) }) };
    const reason = `text(${quote(`${tool} is not permitted: `)}, _walk.reason)`;
    return { ...check, onRefuse, with: { check: 'policy', input, ...words, reason } };
  },
  perform: (call, { authorize }) => authorize(call),
};

function refusalOf(call: ProposedCall, boundary: Boundary, observations: Expr) {
  const onRefuse: Consequence = consequenceOf(boundary, 'denied', call.def?.effect ?? 'write');
  const often = `size(${observations}.filter(o, o.refused == "permission")) >= ${DENIALS_MAX}`;
  const instead: readonly Instead[] = [{ when: often, onRefuse: 'fail' }];
  return { onRefuse, ...WORDS, instead, ...(onRefuse === 'ask' ? questionAbout(call, 'denied', WORDS) : {}) };
}
