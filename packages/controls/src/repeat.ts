/**
 * The same effect twice: an equal call of the run happened, may have happened or is in flight. A person is asked, or the agent is told
 * if there is nobody to ask. The core sets the mark of a call in the step that requests it, so equal calls of one reply find each other.
 */
import { quote } from '@sluice-internal/kernel/expr';
import { asksAboutRepeats } from '@sluice-internal/kernel/ir';
import type { ControlFile, ProposedCall } from './control.ts';
import { PERMISSION } from './errors.ts';

/** True if a person is asked before an equal call of the tool. */
export function watchesRepeats({ def, agent }: Pick<ProposedCall, 'def' | 'agent'>): boolean {
  return agent !== null && def !== undefined && asksAboutRepeats(def);
}

export const repeatControl: ControlFile = {
  name: 'repeat',
  lower(call) {
    const { tool, agent } = call;
    if (agent === null || !watchesRepeats(call)) return null;
    const first = '_walk.repeats[0]';
    const same = `the same call of ${tool}`;
    const unknown = `text(${quote(`${same} at `)}, ${first}.at, " did not answer, and it may have happened")`;
    const reason = `${first}.ran == "yes" ? text(${quote(`${same} was made at `)}, ${first}.at) : ${first}.ran == "maybe" ? ${unknown} : ${quote(`${same} is under way`)}`;
    const isRepeat = 'size(_walk.repeats) > 0';
    const told = { when: isRepeat, reason: `text((${reason}), ". It was not made again")` };
    // Nobody is asked twice about one call: after an approval only the agent is told.
    const cases = agent.people
      ? [
          { ...told, when: `_walk.approved && ${isRepeat}` },
          { when: isRepeat, reason, asks: true as const },
        ]
      : [told];
    return {
      control: 'repeat',
      how: 'expr',
      onRefuse: 'tell',
      volatile: true,
      with: { cases, repeats: true, step: 'repeat', tag: 'DENIED', error: PERMISSION },
    };
  },
};
