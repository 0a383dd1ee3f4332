/**
 * Conditions that stop all calls (`fail_closed`). A call goes on only if every condition is known to be false; a condition
 * that cannot be evaluated ends the run.
 */
import { literal, quote } from '@sluice-internal/kernel/expr';
import { onlyReads } from '@sluice-internal/kernel/ir';
import type { Expr } from '@sluice-internal/kernel/ir';
import type { ControlFile, ProposedCall, ProposingAgent } from './control.ts';
import { CLOSED } from './errors.ts';

/** `workspace` lists the agent's tools that change its files, `tests` those that run commands there. */
export const GUARD_NAMES = [
  'tool',
  'args',
  'effect',
  'category',
  'approval',
  'observations',
  'input',
  'workspace',
  'tests',
] as const;

export const failClosedControl: ControlFile = {
  name: 'fail_closed',
  lower(call, { failClosed, tools }) {
    const { tool, agent } = call;
    if (agent === null || failClosed.length === 0) return null;
    const names = namesOf(call, agent, tools.approve.includes(tool));
    const cases = failClosed.map(({ what, when, code }) => ({
      when: agent.condition(when, names),
      reason: quote(`${what}: ${tool} was not called`),
      error: { ...CLOSED, code },
    }));
    const reason = quote(`a fail_closed condition cannot be evaluated: ${tool} was not called`);
    return {
      control: 'fail_closed',
      how: 'expr',
      onRefuse: 'fail',
      with: { cases, tag: 'DENIED', error: CLOSED, reason },
    };
  },
};

function namesOf(
  { tool, def, args }: ProposedCall,
  agent: ProposingAgent,
  approval: boolean,
): { readonly [root: string]: Expr } {
  return {
    tool: quote(tool),
    args,
    effect: quote(def?.effect ?? 'write'),
    category: quote(def?.category ?? ''),
    approval: literal(approval),
    observations: agent.observations,
    workspace: literal(changingTools(agent, 'file_system')),
    tests: literal(changingTools(agent, 'sandbox')),
  };
}

/** The agent's tools of a category that change something. */
function changingTools({ tools, toolDef }: ProposingAgent, category: string): string[] {
  return tools.filter((each) => {
    const def = toolDef(each);
    return def?.category === category && !onlyReads(def.effect);
  });
}
