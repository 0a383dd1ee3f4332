/** A person has rejected the same call before. */
import { quote } from '@sluice-internal/kernel/expr';
import type { ControlFile } from './control.ts';
import { PERMISSION } from './errors.ts';
import { mayAsk } from './reach.ts';

export const rejectedControl: ControlFile = {
  name: 'rejected',
  lower(call, boundary) {
    const { tool, args, agent } = call;
    if (agent === null || !mayAsk(call, boundary)) return null;
    const before = `${agent.observations}.exists(o, o.refused == "approval" && o.tool == ${quote(tool)} && o.args == ${args})`;
    const reason = quote(`this call of ${tool} was rejected before`);
    return {
      control: 'rejected',
      how: 'expr',
      onRefuse: 'tell',
      with: {
        cases: [{ when: `!_walk.approved && ${before}`, reason }],
        step: 'approval',
        tag: 'DENIED',
        error: PERMISSION,
      },
    };
  },
};
