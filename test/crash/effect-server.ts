/**
 * The outside world of the crash tests, in a process of its own that is never killed. It applies an effect once per
 * idempotency key, remembers who asked for what, and answers a little late, so that a kill often falls between an effect
 * and the record of it. Prints its port.
 */
import { hash } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createChance } from './chance.ts';
import type { Applied, EffectCall, EffectRecord, EffectReply } from './effects.ts';

const LATE_MAX_MS = 12;
const spaces = new Map<string, Space>();
const chance = createChance(7);

class Space {
  readonly applied = new Map<string, Applied>();
  readonly #asked = new Map<string, string>();
  readonly #heard = new Map<string, { readonly worker: string; readonly attempt: number; readonly at: number }[]>();
  readonly violations: string[] = [];
  calls = 0;
  repeats = 0;

  take(call: EffectCall): EffectReply | 'lost' {
    this.calls += 1;
    const { key, run, node, tool, worker, attempt, args } = call;
    const said = JSON.stringify([run, node, tool, args]);
    if ((this.#asked.get(key) ?? said) !== said)
      this.violations.push(`key ${key} of ${run} came with other arguments: ${said}`);
    this.#asked.set(key, said);
    // A worker may repeat what another one did before it lost the run, but never its own call. A process that lost its runs is another worker.
    const before = this.#heard.get(key) ?? [];
    const calls = [...before, { worker, attempt, at: Date.now() }];
    if (before.some((each) => each.worker === worker && each.attempt === attempt))
      this.violations.push(`${worker} made the same call of ${run} at ${node} twice: ${JSON.stringify(calls)}`);
    this.#heard.set(key, calls);
    if (args['fatal'] === true) return { error: 'fatal' };
    if (attempt <= Number(args['fails'] ?? 0)) return { error: 'transient' };
    if (this.applied.has(key)) this.repeats += 1;
    else this.applied.set(key, { run, what: said });
    return attempt <= Number(args['lost'] ?? 0) ? 'lost' : { value: valueOf(args) };
  }
}

const server = createServer((request, response) => {
  void answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
});
// An idle connection stays open: a process that was stopped for long must not find it closed and take that for a lost effect.
server.keepAliveTimeout = 0;
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
// The end of its parent is the end of it.
process.stdin.on('end', () => process.exit(0)).resume();

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const name = request.url ?? '/';
  let space = spaces.get(name);
  if (space === undefined) spaces.set(name, (space = new Space()));
  if (request.method === 'GET') {
    const { applied, violations, calls, repeats } = space;
    return send(response, { applied: [...applied], violations, calls, repeats } satisfies EffectRecord);
  }
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const reply = space.take(JSON.parse(Buffer.concat(chunks).toString()) as EffectCall);
  await new Promise((resolve) => setTimeout(resolve, chance.below(LATE_MAX_MS)));
  // The effect has happened, and nobody is told.
  if (reply === 'lost') return void response.destroy();
  send(response, reply);
}

function send(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function valueOf(args: EffectCall['args']): { readonly acc: string; readonly padding?: string } {
  const acc = hash('sha256', JSON.stringify(args), 'hex').slice(0, 12);
  const bytes = Number(args['bytes'] ?? 0);
  return bytes === 0 ? { acc } : { acc, padding: acc.repeat(Math.ceil(bytes / acc.length)) };
}
