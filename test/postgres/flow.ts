/** The flow of the fault campaign: effects one after the other, and a person in the middle of every second run. */
import { compile } from '@sluice-internal/library';
import type { CompiledFlow } from '@sluice-internal/library';

export const EFFECTS = ['reserve', 'pay', 'ship', 'mail'] as const;

/** `version` changes the flow, as a deploy does. Runs keep the flow that they started with. */
export function campaignFlow(version = 1): CompiledFlow {
  const { flow, diagnostics } = compile({
    tools: Object.fromEntries(EFFECTS.map((name) => [name, { effect: 'financial' }])),
    flow: {
      id: 'order',
      entry: 'reserve',
      nodes: [
        { id: 'reserve', type: 'tool', tool: 'reserve', params: { version }, routes: [{ to: 'pay' }] },
        {
          id: 'pay',
          type: 'tool',
          tool: 'pay',
          params: { amount: '{{event.payload.amount}}' },
          routes: [{ to: 'who' }],
        },
        {
          ...{ id: 'who', type: 'decision', expr: "event.payload.asks ? 'person' : 'nobody'" },
          routes: [
            { when: 'person', to: 'gate' },
            { when: 'default', to: 'ship' },
          ],
        },
        { id: 'gate', type: 'approval', message: 'Ship it?', choices: ['yes', 'no'], routes: [{ to: 'ship' }] },
        { id: 'ship', type: 'tool', tool: 'ship', params: {}, routes: [{ to: 'mail' }] },
        { id: 'mail', type: 'tool', tool: 'mail', params: {}, routes: [{ to: 'done' }] },
        { id: 'done', type: 'terminal', output: `shipped ${version}` },
      ],
    },
  });
  if (flow === undefined) throw new Error(JSON.stringify(diagnostics));
  return flow;
}
