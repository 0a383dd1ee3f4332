/** A loop that looks something up and remembers it, and its script. */
import type { Script } from '../../../library/src/host/scripted/script.ts';

export const DOCUMENT = {
  agents: [{ id: 'clerk', tools: ['find'] }],
  tools: { find: { effect: 'read', trust: 'trusted' } },
  loop: { id: 'orders', agent: 'clerk', memory: true },
};

export const SCRIPT: Script = {
  agents: { clerk: [{ tools: [{ name: 'find', args: { q: 1 } }], text: '' }, 'The order is A-17.'] },
  tools: { find: [{ result: 'order A-17' }] },
};
