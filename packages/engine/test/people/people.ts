/** People with keys, a flow that they approve, and an engine that counts the calls of its tool. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { CompiledFlow, Event } from '@sluice-internal/kernel/ir';
import { SluiceError, publicLine, realClock } from '@sluice-internal/engine/ports';
import type { Clock, Engine, Performer, Store } from '@sluice-internal/engine/ports';
import { createRuntime } from '@sluice-internal/engine/worker';
import { openStore } from '../../../library/src/host/open-store.ts';
import { compiled } from '../../../../test/support/harness.ts';

export interface Signer {
  readonly line: string;
  /** The private key. */
  readonly key: string;
}

export function signer(): Signer {
  const { privateKey } = generateKeyPairSync('ed25519');
  return { line: publicLine(privateKey), key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}

export const anna: Signer = signer();
export const ben: Signer = signer();
export const carl: Signer = signer();

export const PEOPLE: readonly object[] = [
  { id: 'anna', roles: ['manager'], key: anna.line },
  { id: 'ben', roles: ['manager'], key: ben.line },
  { id: 'carl', roles: ['clerk'], key: carl.line },
];

export function gated(approvers: object, more: object = {}): CompiledFlow {
  return compiled({
    people: PEOPLE,
    tools: { 'pay.refund': { effect: 'financial', input: { type: 'object' } } },
    flow: {
      id: 'refund',
      entry: 'gate',
      nodes: [
        {
          id: 'gate',
          type: 'approval',
          message: 'Refund {{event.payload.amount}}?',
          approvers,
          ...more,
          routes: [{ when: "approvals.gate == 'approve'", to: 'pay' }],
        },
        { id: 'pay', type: 'tool', tool: 'pay.refund', params: { amount: '{{event.payload.amount}}' } },
      ],
    },
  });
}

export interface Office {
  readonly engine: Engine;
  readonly store: Store;
  /** The tools that were called. */
  readonly calls: string[];
}

/** A database file of its own, gone after the test. */
export function database(): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-people-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return join(dir, 'sluice.db');
}

export function office(
  journal = ':memory:',
  performer: Partial<Performer> = {},
  calls: string[] = [],
  clock: Clock = realClock,
): Office {
  const store = openStore(journal);
  const engine = createRuntime({
    store,
    clock,
    pickUp: false,
    performer: {
      perform: async ({ command }) => {
        calls.push(command.name);
        return { ok: true, value: { done: true } };
      },
      ...performer,
    },
  });
  onTestFinished(() => engine.close());
  return { engine, store, calls };
}

/** Starts a run that waits at its first question, and returns the question. */
export async function waitingAt({ engine }: Office, flow: CompiledFlow, options: Parameters<Engine['start']>[1] = {}) {
  const run = await engine.start(flow, { input: { amount: 30 }, ...options });
  const [question] = (await engine.settled(run)).waiting;
  if (question === undefined) throw new Error('the run asks nothing');
  return question;
}

/** The code of the error that a promise rejects with. */
export async function refusedWith(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof SluiceError) return error.code;
    throw error;
  }
  throw new Error('the answer was not refused');
}

export async function eventsOf({ engine }: Office, run: string): Promise<readonly Event[]> {
  const events: Event[] = [];
  for await (const event of engine.events(run, { live: false })) events.push(event);
  return events;
}
