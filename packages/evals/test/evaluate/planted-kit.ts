/** Documents and scripts from which the planted runs are made. */

export interface Given {
  readonly document: object;
  readonly script: object;
  readonly input?: string;
}

export const call = (name: string, args: object = { n: 1 }, usage?: object) => ({
  text: '',
  tools: [{ name, args }],
  ...(usage === undefined ? {} : { usage }),
});
export const bot = (replies: readonly unknown[], tools: object = {}, more: object = {}) => ({
  agents: { bot: replies },
  tools: { find: [{ result: 7 }], save: [{ result: 1 }], ...tools },
  approvals: { save: 'approve' },
  ...more,
});
export const loop = (more: object = {}, tools: object = {}) => ({
  agents: [{ id: 'bot', tools: ['find', 'save', ...Object.keys(tools)] }],
  tools: { find: { effect: 'read' }, save: { effect: 'write' }, ...tools },
  loop: { agent: 'bot' },
  ...more,
});
export const agentFlow = (tools: object = {}, agent: object = {}, more: object = {}) => ({
  agents: [{ id: 'bot', tools: Object.keys(tools), ...agent }],
  tools,
  flow: { id: 'f', entry: 'a', nodes: [{ id: 'a', type: 'agent', agent: 'bot' }] },
  ...more,
});
export const steps = (count: number, result: (n: number) => unknown) =>
  Array.from({ length: count }, (_, n) => result(n + 1));
export const staged = {
  agents: [{ id: 'boss' }, { id: 'bot' }],
  staged: { id: 'desk', plan: { agent: 'boss' }, workers: { agent: 'bot' } },
};
export const tasks = (...briefs: readonly string[]) =>
  JSON.stringify({ tasks: briefs.map((brief, n) => ({ id: `t${n}`, brief })) });
/** Two agents hand a case to each other. */
export const stuck = {
  agents: [{ id: 'clerk' }, { id: 'expert' }],
  protections: { deadlock: { on_trip: 'end' } },
  flow: {
    id: 'desk',
    max_iterations: 50,
    entry: 'clerk',
    nodes: [
      { id: 'clerk', type: 'agent', agent: 'clerk', routes: [{ to: 'expert' }] },
      {
        id: 'expert',
        type: 'agent',
        agent: 'expert',
        routes: [{ when: "expert.output.contains('DONE')", to: 'end' }, { to: 'clerk' }],
      },
    ],
  },
};
export const trusted = (...allow: readonly string[]) => ({ boundary: { tools: { allow }, untrusted: 'off' } });
