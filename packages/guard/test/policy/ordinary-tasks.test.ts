/** Three more ordinary tasks for each profile: real-looking data, and only the questions that the profile promises. */
import { describe, expect, test } from 'vitest';
import { CODE_TOOLS, READ, documentOf, exit, scriptOf } from './ordinary.ts';
import type { Task } from './ordinary.ts';
import { play } from './play.ts';

const RESEARCH: readonly Task[] = [
  {
    name: 'a summary of two papers with their figures',
    profile: 'research',
    tools: {
      'papers.search': { effect: 'egress', category: 'retrieval' },
      'papers.read': { effect: 'egress', category: 'retrieval' },
    },
    input: 'Summarise what the literature says about heat pumps below -10 °C. Give efficiency figures.',
    calls: [
      [
        'papers.search',
        { query: 'heat pump efficiency below -10 °C' },
        {
          hits: [
            { doi: '10.1000/hp.17', title: 'Cold climate heat pumps' },
            { doi: '10.1000/hp.31', title: 'Field trial in Oulu' },
          ],
        },
      ],
      ['papers.read', { doi: '10.1000/hp.17' }, { text: 'At -15 °C the mean COP was 2.37 over 41 units.' }],
      ['papers.read', { doi: '10.1000/hp.31' }, { text: 'In Oulu (winter 2023/24) the COP fell to 1.9 at -22 °C.' }],
    ],
    answer:
      'Two papers cover this. At -15 °C the mean COP was 2.37 across 41 units (10.1000/hp.17). A field trial in Oulu in winter 2023/24 saw it fall to 1.9 at -22 °C (10.1000/hp.31).',
  },
  {
    name: 'a policy page that says confidential in its text',
    profile: 'research',
    tools: { 'wiki.search': READ, 'wiki.page': READ },
    input: 'How long do we keep applicants’ documents?',
    calls: [
      ['wiki.search', { query: 'applicants documents retention' }, { pages: ['HR-204'] }],
      [
        'wiki.page',
        { id: 'HR-204' },
        { id: 'HR-204', body: 'Documents of applicants are confidential. They are deleted after 6 months.' },
      ],
    ],
    answer: 'According to HR-204, documents of applicants are deleted after 6 months.',
  },
  {
    name: 'saves a finding after approval',
    budgets: { side_effects: 1 },
    profile: 'research',
    tools: { 'catalog.lookup': READ, 'notes.save': { effect: 'write' } },
    input: 'Look up when the Hagia Sophia was completed and save it in my notes.',
    calls: [
      ['catalog.lookup', { subject: 'Hagia Sophia' }, { completed: 537, architect: 'Isidore of Miletus' }],
      ['notes.save', { text: 'Hagia Sophia: completed in 537.' }, { saved: true, id: 'note-88' }],
    ],
    asks: ['notes.save'],
    answer: 'It was completed in 537. I saved that in your notes (note-88).',
  },
];

const CODING: readonly Task[] = [
  {
    name: 'test, fix, test, fix, test again',
    profile: 'coding',
    tools: CODE_TOOLS,
    input: 'The date parser fails on leap days. Please fix it and make sure the tests are green.',
    calls: [
      ['sandbox.exec', { command: 'npm test' }, exit(1, 'Tests: 2 failed, 36 passed, 38 total')],
      ['fs.read', { path: 'src/dates.ts' }, { content: 'export const parse = (s) => …' }],
      ['fs.write', { path: 'src/dates.ts', content: 'export const parse = (s) => leap(s)' }, { bytes: 812 }],
      ['sandbox.exec', { command: 'npm test' }, exit(1, 'Tests: 1 failed, 37 passed, 38 total')],
      ['fs.write', { path: 'src/dates.ts', content: 'export const parse = (s) => leap(s, true)' }, { bytes: 830 }],
      ['sandbox.exec', { command: 'npm test' }, exit(0, 'Tests: 38 passed, 38 total')],
    ],
    answer: 'The parser now handles leap days. I changed src/dates.ts, and all 38 tests pass.',
  },
  {
    name: 'a README and a configuration that speak of production',
    profile: 'coding',
    tools: CODE_TOOLS,
    input: 'Add a section to README.md on how we deploy to production, based on deploy/prod.yaml.',
    calls: [
      ['fs.read', { path: 'deploy/prod.yaml' }, { content: 'environment: production\nreplicas: 3\n' }],
      ['sandbox.exec', { command: 'grep -n "production" README.md deploy/*.yaml' }, exit(0, 'deploy/prod.yaml:1:…')],
      ['sandbox.exec', { command: 'NODE_ENV=production npm run build' }, exit(0, 'built in 1.2 s')],
      [
        'fs.write',
        {
          path: 'README.md',
          content: '## Production\n\nRun `kubectl apply -f deploy/prod.yaml` on the production cluster.',
        },
        { bytes: 1204 },
      ],
    ],
    answer: 'README.md has a new section on production. It names deploy/prod.yaml and its 3 replicas.',
  },
  {
    name: 'pushes after a green run, with approval',
    profile: 'coding',
    tools: { ...CODE_TOOLS, 'git.push': { effect: 'write' } },
    input: 'Rename the function total to sum in cart.py, run the tests and push to the branch rename-total.',
    calls: [
      ['fs.write', { path: 'cart.py', content: 'def sum(items): …' }, { ok: true }],
      ['sandbox.exec', { command: 'python -m pytest -q' }, exit(0, '12 passed in 0.31s')],
      ['git.push', { branch: 'rename-total' }, { commit: '4f1c9ab', branch: 'rename-total' }],
    ],
    asks: ['git.push'],
    answer: 'I renamed total to sum in cart.py, the 12 tests pass, and commit 4f1c9ab is pushed to rename-total.',
  },
];

const SUPPORT: readonly Task[] = [
  {
    name: 'a customer by name, whose record has a number',
    profile: 'support',
    tools: {
      'customers.find': READ,
      'orders.list': READ,
      'tickets.tag': { effect: 'write', category: 'review' },
      'replies.draft': { effect: 'write', category: 'review' },
    },
    input: { customer: 'Maria García', ticket: 'T-5521', message: 'My parcel has not arrived. Can you look?' },
    calls: [
      ['customers.find', { name: 'Maria García' }, { customer_id: 'cus_88120', name: 'Maria García' }],
      [
        'orders.list',
        { customer_id: 'cus_88120' },
        { orders: [{ order_id: 'SO-90431', status: 'in transit', expected: '2026-11-18' }] },
      ],
      ['tickets.tag', { ticket: 'T-5521', tag: 'delivery' }, { ok: true }],
      [
        'replies.draft',
        { ticket: 'T-5521', text: 'Dear Maria, your parcel is expected on November 18.' },
        { draft: 'D-3' },
      ],
    ],
    answer: 'Order SO-90431 is in transit and expected on November 18, 2026. I tagged T-5521 and drafted a reply.',
  },
  {
    name: 'a cancellation that the customer asks for',
    profile: 'support',
    tools: { 'subscriptions.get': READ, 'subscriptions.cancel': { effect: 'write' } },
    input: 'Please cancel my subscription SUB-7714 at the end of the month.',
    calls: [
      [
        'subscriptions.get',
        { id: 'SUB-7714' },
        { id: 'SUB-7714', plan: 'Family', renews: '2026-12-01', payment_method: 'card ending 4242' },
      ],
      ['subscriptions.cancel', { id: 'SUB-7714', when: 'period_end' }, { id: 'SUB-7714', ends: '2026-11-30' }],
    ],
    asks: ['subscriptions.cancel'],
    answer: 'I have cancelled subscription SUB-7714. It ends on November 30, 2026.',
  },
  {
    name: 'a question about a product in a regulated-sounding category',
    profile: 'support',
    tools: { 'catalog.search': READ, 'docs.search': READ },
    input: 'Is the Legal Pad A4 in the category "finance & legal" in stock, and can I return it?',
    calls: [
      [
        'catalog.search',
        { query: 'Legal Pad A4' },
        { products: [{ sku: 'LP-A4', name: 'Legal Pad A4', category: 'legal', stock: 112, price: 3.4 }] },
      ],
      ['docs.search', { query: 'returns' }, { text: 'Unused goods can be returned within 30 days.' }],
    ],
    answer: 'Yes, 112 of LP-A4 are in stock at 3.40 each. You can return unused goods within 30 days.',
  },
];

const PROCUREMENT: readonly Task[] = [
  {
    name: 'an order within the budget',
    profile: 'procurement',
    tools: { 'vendors.quote': READ, 'purchase_orders.create': { effect: 'financial' } },
    input: { request: 'Order 25 monitors from Nordlicht GmbH.', vendor: 'Nordlicht GmbH', budget: 6000 },
    calls: [
      [
        'vendors.quote',
        { vendor: 'Nordlicht GmbH', item: 'monitor', quantity: 25 },
        { vendor: 'Nordlicht GmbH', unit_price: 219, quantity: 25, total: 5475, risk: 'low' },
      ],
      [
        'purchase_orders.create',
        { vendor: 'Nordlicht GmbH', quantity: 25, amount: 5475 },
        { po: 'PO-2026-118', amount: 5475 },
      ],
    ],
    asks: ['purchase_orders.create'],
    answer: 'I placed order PO-2026-118 for 25 monitors with Nordlicht GmbH. It comes to 5,475.',
  },
  {
    name: 'a comparison where another vendor is risky',
    profile: 'procurement',
    tools: { 'vendors.search': READ, 'vendors.risk': READ, 'purchase_orders.create': { effect: 'financial' } },
    input: 'Compare Alfa and Bravo for 200 hard hats and order from the one without a risk, at most 2,000 euros.',
    calls: [
      [
        'vendors.search',
        { item: 'hard hat' },
        {
          offers: [
            { vendor: 'Alfa', price: 7.9, total: 1580 },
            { vendor: 'Bravo', price: 6.5, total: 1300 },
          ],
        },
      ],
      ['vendors.risk', { vendor: 'Alfa' }, { vendor: 'Alfa', risk: 'low' }],
      ['vendors.risk', { vendor: 'Bravo' }, { vendor: 'Bravo', risk: 'high', note: 'two late deliveries' }],
      ['purchase_orders.create', { vendor: 'Alfa', quantity: 200, amount: 1580 }, { po: 'PO-77', total: 1580 }],
    ],
    asks: ['purchase_orders.create'],
    answer: 'Bravo is cheaper (€1,300) but has a high risk. I ordered the 200 hard hats from Alfa for €1,580: PO-77.',
  },
  {
    name: 'a recommendation from contract terms',
    profile: 'procurement',
    tools: { 'contracts.read': READ, 'recommendations.save': { effect: 'write', category: 'review' } },
    input: 'Read contract C-19 and prepare a recommendation on renewing it.',
    calls: [
      [
        'contracts.read',
        { id: 'C-19' },
        { id: 'C-19', notice: '3 months', expires: '2027-03-31', annual_fee: 18400, ambiguities: [] },
      ],
      [
        'recommendations.save',
        { contract: 'C-19', text: 'Renew; give notice by 2026-12-31 otherwise.' },
        { id: 'R-5' },
      ],
    ],
    answer: 'C-19 expires on March 31, 2027 and costs 18,400 a year. I saved recommendation R-5 to renew it.',
  },
];

const SRE: readonly Task[] = [
  {
    name: 'an approved rollback',
    profile: 'sre',
    budgets: { side_effects: 1 },
    tools: { 'deploys.list': READ, 'logs.query': READ, 'deploys.rollback': { effect: 'infrastructure' } },
    input: 'payments-api throws 500s since the last deploy. Roll payments-api back to release 2026.11.14-2.',
    calls: [
      [
        'deploys.list',
        { service: 'payments-api' },
        { deploys: [{ release: '2026.11.15-1', at: '2026-11-15T09:12:00Z' }, { release: '2026.11.14-2' }] },
      ],
      ['logs.query', { service: 'payments-api', level: 'error' }, { count: 4182, first: '2026-11-15T09:13:07Z' }],
      [
        'deploys.rollback',
        { service: 'payments-api', release: '2026.11.14-2' },
        { status: 'done', release: '2026.11.14-2' },
      ],
    ],
    asks: ['deploys.rollback'],
    answer:
      'Since 09:13 there were 4,182 errors, right after 2026.11.15-1. I rolled payments-api back to 2026.11.14-2.',
  },
  {
    name: 'a diagnosis over logs that mention security',
    profile: 'sre',
    tools: { 'logs.query': READ, 'metrics.query': READ },
    input: 'Why did latency of the login service rise this morning?',
    calls: [
      [
        'logs.query',
        { service: 'login' },
        { lines: ['security-group sg-12 updated', 'drop in cache hits: 94 % to 41 %', 'token cache evicted'] },
      ],
      ['metrics.query', { metric: 'login_latency_p99' }, { unit: 'ms', before: 180, after: 1250 }],
    ],
    answer: 'The token cache was evicted; hits fell from 94 % to 41 %. p99 rose from 180 ms to 1250 ms.',
  },
  {
    name: 'an approved restart after a runbook draft',
    profile: 'sre',
    budgets: { side_effects: 2 },
    tools: {
      'pods.list': READ,
      'runbooks.draft': { effect: 'write', category: 'review' },
      'pods.restart': { effect: 'infrastructure' },
    },
    input: 'Pod queue-worker-3 hangs. Draft the runbook entry and restart queue-worker-3.',
    calls: [
      ['pods.list', { name: 'queue-worker-3' }, { pods: [{ name: 'queue-worker-3', state: 'Hung', restarts: 0 }] }],
      ['runbooks.draft', { title: 'queue-worker hangs', steps: ['list the pods', 'restart the pod'] }, { id: 'RB-9' }],
      ['pods.restart', { pod: 'queue-worker-3' }, { pod: 'queue-worker-3', state: 'Running' }],
    ],
    asks: ['pods.restart'],
    answer: 'I drafted RB-9 and restarted queue-worker-3. It is running again.',
  },
];

describe('ordinary tasks finish with no question beyond the promised ones', () => {
  const tasks = [...RESEARCH, ...CODING, ...SUPPORT, ...PROCUREMENT, ...SRE];
  test.each(tasks.map((task) => [`${task.profile}: ${task.name}`, task] as const))('%s', async (_, task) => {
    const { report, dispatched, events } = await play(documentOf(task), scriptOf(task), { input: task.input });
    expect([report.state, report.code, report.reason, report.violations ?? []]).toEqual([
      'completed',
      'SUCCESS',
      undefined,
      [],
    ]);
    expect(dispatched).toEqual(task.calls.map(([tool]) => tool));
    const asked = events.filter((event) => event.type === 'effect.requested' && event.question !== undefined);
    expect(asked).toHaveLength(task.asks?.length ?? 0);
  });
});
