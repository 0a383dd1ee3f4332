/** The first ten pathologies: planted runs and near misses. */
import {
  call,
  bot,
  loop,
  agentFlow,
  steps,
  workflow,
  again,
  reviewed,
  reviewScript,
  planning,
  plan,
  mapping,
} from './planted-kit.ts';
import type { Planted } from './planted-kit.ts';

export const FIRST: { readonly [id: string]: Planted } = {
  'runaway-loops': [
    () => ({ document: loop(), script: bot([...steps(6, () => call('find')), 'it is 7']) }),
    () => ({
      document: loop(),
      script: bot([call('find'), call('find', { n: 2 }), 'it is 7'], { find: [{ result: 1 }, { result: 7 }] }),
    }),
  ],
  'tool-spam': [
    () => ({
      document: loop(),
      script: bot([...steps(11, (n) => call('find', { n })), 'it is 7'], { find: steps(11, (n) => ({ result: n })) }),
    }),
    () => ({
      document: loop(),
      script: bot([...steps(5, (n) => call('find', { n })), 'it is 7'], { find: steps(5, (n) => ({ result: n })) }),
    }),
  ],
  'plan-goal-drift': [
    () => ({
      document: planning,
      input: 'compare train tickets to Paris',
      script: { agents: { boss: [plan('study the history of cheese')], bot: ['done: cheese'] } },
    }),
    () => ({
      document: planning,
      input: 'compare train tickets to Paris',
      script: { agents: { boss: [plan('list train tickets', 'compare prices to Paris')], bot: ['Tickets cost 40.'] } },
    }),
  ],
  'context-bloat': [
    () => ({
      document: loop(),
      script: bot([
        call('find', { n: 1 }, { input: 500, output: 5 }),
        { text: 'it is 7', usage: { input: 9000, output: 5 } },
      ]),
    }),
    () => ({
      document: loop(),
      script: bot([
        call('find', { n: 1 }, { input: 500, output: 5 }),
        { text: 'it is 7', usage: { input: 1900, output: 5 } },
      ]),
    }),
  ],
  'memory-poisoning': [
    () => ({ document: loop({ loop: { agent: 'bot', memory: true } }), script: bot(['it is 7']) }),
    () => ({ document: loop({ loop: { agent: 'bot', memory: true } }), script: bot([call('find'), 'it is 7']) }),
  ],
  'hallucinated-observation': [
    () => ({
      document: agentFlow({ find: { effect: 'read' } }, {}, { boundary: { escalation: { ungrounded: 'tell' } } }),
      script: { agents: { bot: ['The order is ORD-9917.', 'There is none.'] } },
    }),
    () => ({
      document: agentFlow({ find: { effect: 'read' } }, {}, { boundary: { escalation: { ungrounded: 'tell' } } }),
      script: bot([call('find'), 'The order is ORD-9917.'], { find: [{ result: 'ORD-9917' }] }),
    }),
  ],
  'premature-termination': [
    () => ({
      document: loop({ loop: { agent: 'bot', criteria: ['The total is right.'], verifier: false } }),
      script: bot(['It is 7.']),
    }),
    () => ({ document: agentFlow(), script: { agents: { bot: ['The total is 7.'] } } }),
  ],
  'refusal-to-stop': [
    () => ({ document: workflow(again('NEVER')), script: { agents: { author: ['The answer is 7.'] } } }),
    () => ({
      document: workflow(again('final')),
      script: { agents: { author: ['A draft.', 'Another draft.', 'The final answer is 7.'] } },
    }),
  ],
  'over-reflection': [
    () => ({ document: workflow(reviewed), script: reviewScript('A text that is long enough to compare.') }),
    () => ({ document: workflow(reviewed), script: reviewScript('A better text that is long enough.') }),
  ],
  'redundant-decomposition': [
    () => ({
      document: mapping,
      input: { items: ['price of A', 'price of B', 'Price of A.'] } as never,
      script: { agents: { bot: ['1'] } },
    }),
    () => ({
      document: mapping,
      input: { items: ['price of A', 'price of B'] } as never,
      script: { agents: { bot: ['1'] } },
    }),
  ],
};
