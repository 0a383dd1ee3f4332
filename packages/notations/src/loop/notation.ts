/** The notation of the bounded agent. */
import { isDenied, limitOf, takesNothing } from '@sluice-internal/compile/rules';
import type { Notation, Excess } from '@sluice-internal/compile/rules';
import type { FlowBody } from '@sluice-internal/kernel/ir';
import { drawLoop } from './draw.ts';
import { lowerLoop } from './lower.ts';
import { readLoop } from './read.ts';
import { loopSchema } from './schema.ts';

export const loopNotation: Notation = {
  name: 'loop',
  key: 'loop',
  schema: loopSchema,
  lower(document, definitions, report) {
    const loop = readLoop(document, definitions, report);
    if (loop === null) return { lowered: null, picture: null };
    const lowered = lowerLoop(loop, document.at);
    return {
      lowered,
      picture: drawLoop(loop),
      excess: loopExcess(lowered.body, Object.keys(definitions.agents)),
      boundary: loop.definitions.boundary,
    };
  },
};

/** The lower tier of autonomy that can replace the loop: at most one finding, the lowest that is enough. */
function loopExcess(body: FlowBody, declared: readonly string[]): readonly Excess[] {
  const agents = Object.values(body.agents).filter(({ id }) => declared.includes(id));
  const tier = agents.length <= 1 ? 1 : 2;
  const found = (needs: Excess['needs'], why: string): readonly Excess[] => [{ uses: 6, needs, why }];
  if (agents.every(({ tools }) => tools.length === 0))
    return found(tier, tier === 1 ? 'the agent of this loop has no tools' : 'no agent of this loop has tools');
  const callable = agents.flatMap(({ id, tools }) => tools.filter((tool) => !isDenied(body, id, tool)));
  const [only] = callable;
  if (only === undefined) return found(tier, 'the boundary denies every tool of this loop');
  const calls = limitOf(body, 'budget.toolCalls');
  if (calls === 0) return found(tier, 'the budget allows no tool call');
  if (limitOf(body, 'steps') === 1) return found(1, 'the budget allows a single turn');
  if (callable.length === 1 && takesNothing(body, only))
    return found(3, `this loop can only call \`${only}\`, which takes no arguments`);
  return calls === 1 ? found(4, 'the budget allows one tool call, which is one branch') : [];
}
