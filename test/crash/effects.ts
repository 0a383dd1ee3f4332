/** What is said between a worker, the server that counts effects, and whoever judges afterwards. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import type { Json } from '@sluice-internal/kernel/expr';
import { program } from '../support/programs.ts';

export interface EffectCall {
  readonly worker: string;
  readonly run: string;
  readonly node: string;
  readonly tool: string;
  readonly key: string;
  readonly attempt: number;
  readonly args: { readonly [field: string]: Json };
}
export type EffectReply = { readonly value: Json } | { readonly error: 'transient' | 'fatal' };
export interface Applied {
  readonly run: string;
  /** Node, tool and arguments: the effect itself, whatever its key. */
  readonly what: string;
}
export interface EffectRecord {
  readonly applied: readonly (readonly [key: string, applied: Applied])[];
  readonly violations: readonly string[];
  readonly calls: number;
  /** Calls for what had been done already, and was not done again. */
  readonly repeats: number;
}

export interface EffectServer {
  /** Where the effects of one campaign, or of its uncrashed twin, are counted. */
  space(name: string): string;
  stop(): Promise<void>;
}

export async function startEffectServer(): Promise<EffectServer> {
  const child = spawn(process.execPath, [program('test/crash/effect-server.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exit = once(child, 'exit');
  const [port] = (await once(child.stdout, 'data')) as [Buffer];
  return {
    space: (name) => `http://127.0.0.1:${port.toString().trim()}/${name}`,
    stop: async () => {
      child.stdin.end();
      await exit;
    },
  };
}

export async function effectsIn(space: string): Promise<EffectRecord> {
  const response = await fetch(space);
  return (await response.json()) as EffectRecord;
}

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

/** Plain `node:http`: a worker that lives a tenth of a second has no time to load more. */
export function callEffect(space: string, call: EffectCall, signal: AbortSignal): Promise<EffectReply> {
  return new Promise((resolve, reject) => {
    const sent = request(space, { method: 'POST', agent, signal }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => resolve(JSON.parse(Buffer.concat(chunks).toString()) as EffectReply));
    });
    sent.on('error', reject);
    sent.end(JSON.stringify(call));
  });
}
