/** A document with one agent that has tools of three effects, for tests of boundaries. */
export const TOOLS = {
  'wiki.read': { effect: 'read' },
  'crm.read': { effect: 'read' },
  'memory.write': { effect: 'write' },
  'mail.send': { effect: 'communication' },
};
export const document = (boundary: unknown, agent: object = {}, more: object = {}) => ({
  tools: TOOLS,
  agents: [{ id: 'bot', tools: Object.keys(TOOLS), ...agent }],
  ...(boundary === undefined ? {} : { boundary }),
  ...more,
  flow: { id: 'demo', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'bot' }] },
});
