/** The other pathologies: planted runs and near misses. */
import { call, bot, loop, steps, parallel, asking, trusted, remembered } from './planted-kit.ts';
import type { Planted } from './planted-kit.ts';

export const REST: { readonly [id: string]: Planted } = {
  'duplicate-actions': [
    () => ({ document: loop(trusted('save')), script: bot([call('save'), call('save'), 'saved twice']) }),
    () => ({ document: loop(trusted('save')), script: bot([call('save'), call('save', { n: 2 }), 'saved both']) }),
  ],
  'budget-blowout': [
    () => ({
      document: loop({ budgets: { tool_calls: 1 } }),
      script: bot([call('find'), call('find', { n: 2 }), 'it is 7']),
    }),
    () => ({
      document: loop({ budgets: { tool_calls: 5 } }),
      script: bot([call('find'), call('find', { n: 2 }), 'it is 7']),
    }),
  ],
  'stale-state': [
    () => ({
      document: loop(trusted('save')),
      script: bot([call('find'), call('find'), call('save', { price: 100 }), 'saved'], {
        find: [{ result: { price: 100 } }, { result: { price: 120 } }],
      }),
    }),
    () => ({
      document: loop(trusted('save')),
      script: bot([call('find'), call('find'), call('save', { price: 120 }), 'saved'], {
        find: [{ result: { price: 100 } }, { result: { price: 120 } }],
      }),
    }),
  ],
  'permission-creep': [
    () => ({ document: loop({ boundary: { tools: { deny: ['save'] } } }), script: bot([call('save'), 'not saved']) }),
    () => ({ document: loop({ boundary: { tools: { deny: ['save'] } } }), script: bot([call('find'), 'it is 7']) }),
  ],
  'tool-overreach': [
    () => ({
      document: loop({}, { 'code.exec': { effect: 'read' } }),
      script: bot([call('code.exec', { code: 'print(12 * 7 + 3)' }), 'it is 87'], { 'code.exec': [{ result: 87 }] }),
    }),
    () => ({
      document: loop({}, { 'code.exec': { effect: 'read' } }),
      script: bot([call('code.exec', { code: 'print(open("log").read())' }), 'it is 87'], {
        'code.exec': [{ result: 87 }],
      }),
    }),
  ],
  'coordination-failure': [
    () => ({
      document: parallel({ timeout: 5 }),
      script: { agents: { bot: ['done', { text: 'late', delayMs: 60_000 }] } },
    }),
    () => ({
      document: parallel({ timeout: 5 }),
      script: { agents: { bot: ['done', { text: 'in time', delayMs: 1000 }] } },
    }),
  ],
  'validator-retry-storm': [
    () => ({
      document: loop(
        {},
        { ask: { effect: 'read', input: { type: 'object', properties: { q: { type: 'number' } }, required: ['q'] } } },
      ),
      script: bot([...steps(3, (n) => call('ask', { q: `no ${n}` })), 'it is 7'], { ask: [{ result: 1 }] }),
    }),
    () => ({
      document: loop(
        {},
        { ask: { effect: 'read', input: { type: 'object', properties: { q: { type: 'number' } }, required: ['q'] } } },
      ),
      script: bot([call('ask', { q: 'no' }), call('ask', { q: 1 }), 'it is 7'], { ask: [{ result: 1 }] }),
    }),
  ],
  'human-review-queue-saturation': [
    () => ({ document: asking, script: { approvals: { gate: { expires: true } } } }),
    () => ({ document: asking, script: { approvals: { gate: 'approve' } } }),
  ],
  'memory-write-poisoning': [
    async () => ({
      document: loop({ loop: { agent: 'bot', memory: { quarantine: 'off' } } }),
      memory: await remembered(),
      input: 'the code?',
      script: bot(['the code is X-4711']),
    }),
    async () => ({
      document: loop({ loop: { agent: 'bot', memory: { quarantine: 'off' } } }),
      memory: await remembered(),
      input: 'the code?',
      script: bot([call('find'), 'the code is X-4711'], { find: [{ result: 'X-4711' }] }),
    }),
  ],
  'tool-credential-expiry': [
    () => ({
      document: loop(),
      script: bot([call('find'), call('find', { n: 2 }), 'no access'], {
        find: [{ result: 1 }, { error: 'fatal', message: '401 Unauthorized' }],
      }),
    }),
    () => ({
      document: loop(),
      script: bot([call('find'), call('find', { n: 2 }), 'it is 1'], {
        find: [{ error: 'fatal', message: '401 Unauthorized' }, { result: 1 }],
      }),
    }),
  ],
  'observation-parser-drift': [
    () => ({
      document: loop({}, { total: { effect: 'read', output: { type: 'object', required: ['total'] } } }),
      script: bot([call('total'), 'it failed'], { total: [{ result: { sum: 7 } }] }),
    }),
    () => ({
      document: loop({}, { total: { effect: 'read', output: { type: 'object', required: ['total'] } } }),
      script: bot([call('total'), 'it is 7'], { total: [{ result: { total: 7 } }] }),
    }),
  ],
  'idempotency-failure': [
    () => ({
      document: loop(trusted('save')),
      script: bot([call('save'), call('save'), 'saved'], {
        save: [{ error: 'timeout', message: 'no answer' }, { result: 1 }],
      }),
    }),
    () => ({
      document: {
        ...loop(trusted('save')),
        tools: { find: { effect: 'read' }, save: { effect: 'write', idempotent: true } },
      },
      script: bot([call('save'), call('save'), 'saved'], {
        save: [{ error: 'timeout', message: 'no answer' }, { result: 1 }],
      }),
    }),
  ],
  'escalation-bypass': [
    () => ({
      document: loop(trusted('pay'), { pay: { effect: 'financial' } }),
      script: bot([call('pay'), 'paid'], { pay: [{ result: 1 }] }),
    }),
    () => ({
      document: loop({}, { pay: { effect: 'financial' } }),
      script: bot([call('pay'), 'paid'], { pay: [{ result: 1 }] }, { approvals: { pay: 'approve' } }),
    }),
  ],
};
