/** A flow that reads pages, asks a person and pays, and a signing engine for it: the subject of tests of tampering. */
import { generateKeyPairSync } from 'node:crypto';
import { compile, createEngine } from '@sluice-internal/library';
import type { CompiledFlow, Engine } from '@sluice-internal/library';

const { flow } = compile({
  tools: { 'read.page': { effect: 'read' }, 'pay.out': { effect: 'financial' } },
  flow: {
    id: 'demo',
    entry: 'page',
    max_iterations: 50,
    nodes: [
      {
        id: 'page',
        type: 'tool',
        tool: 'read.page',
        routes: [
          { when: 'page.result.number < 20', to: 'page' },
          { when: 'true', to: 'ask' },
        ],
      },
      {
        id: 'ask',
        type: 'approval',
        message: 'Pay?',
        choices: ['approve', 'reject'],
        routes: [{ when: "approvals.ask == 'approve'", to: 'pay' }],
      },
      { id: 'pay', type: 'tool', tool: 'pay.out', params: { to: '{{page.result.payee}}' } },
    ],
  },
});

export const PAYMENTS = flow as CompiledFlow;

export const SIGNING_KEY = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;

/** `paid` receives the arguments and the idempotency key of each payment. */
export function openPayments(journal: string, paid: unknown[]): Engine {
  let number = 0;
  return createEngine({
    journal,
    snapshotEvery: 10,
    pickUp: false,
    retain: { workflow: 1 },
    signingKey: SIGNING_KEY,
    onNotice: () => undefined,
    model: () => 'x',
    tools: {
      // The first page is large enough to be stored apart from its event.
      'read.page': () => ({ number: (number += 1), payee: 'ann', text: 'x'.repeat(number === 1 ? 5000 : 3000) }),
      'pay.out': (args, { idempotencyKey }) => {
        paid.push([args, idempotencyKey]);
        return 'paid';
      },
    },
  });
}
