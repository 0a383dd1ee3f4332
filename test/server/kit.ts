/** A server on a free port, with a folder of its own, and requests to it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serve, type RequestLine, type ServeOptions, type Serving } from '@sluice-internal/server';

export const REFUNDS = `
budgets: { tool_calls: 4 }
agents:
  - { id: triage, instructions: "Sort the request.", output: { type: object, properties: { amount: { type: number } }, required: [amount] } }
tools:
  payments.refund: { effect: financial, compensate: payments.reverse, input: { type: object } }
  payments.reverse: { effect: financial }
flow:
  id: refunds
  entry: sort
  nodes:
    - { id: sort, type: agent, agent: triage, input: { task: "{{event.payload.message}}" }, routes: [{ to: gate }] }
    - { id: gate, type: approval, message: "Refund {{sort.output.amount}}?", routes: [{ when: "approvals.gate == 'approve'", to: pay }, { to: end }] }
    - { id: pay, type: tool, tool: payments.refund, params: { amount: "{{sort.output.amount}}" } }
`;
const SCRIPT = `
agents:
  triage: ['{"amount": 20}']
tools:
  payments.refund: [{ result: { paid: true } }]
  payments.reverse: [{ result: { reversed: true } }]
`;

export interface Place {
  readonly dir: string;
  readonly serving: Serving;
  readonly token: string;
  readonly notices: string[];
  readonly lines: RequestLine[];
  /** Requests with the token of this machine, unless they name another. */
  ask(method: string, path: string, given?: Asked): Promise<Answered>;
  again(more?: Partial<ServeOptions>): Promise<Place>;
  /** Another server on the same folder and database. */
  beside(more?: Partial<ServeOptions>): Promise<Place>;
  end(): Promise<void>;
}
export interface Asked {
  readonly body?: unknown;
  readonly raw?: string | Uint8Array;
  readonly headers?: { readonly [name: string]: string };
  /** Null: none. */
  readonly token?: string | null;
}
export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: { readonly [field: string]: unknown };
}

export async function place(
  more: Partial<ServeOptions> = {},
  files: { readonly [name: string]: string } = {},
): Promise<Place> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-serve-'));
  const all = { 'refunds.flow.yaml': REFUNDS, 'refunds.script.yaml': SCRIPT, ...files };
  for (const [name, text] of Object.entries(all)) writeFileSync(join(dir, name), text);
  return started(dir, more);
}

async function started(dir: string, more: Partial<ServeOptions>): Promise<Place> {
  const notices: string[] = [];
  const lines: RequestLine[] = [];
  const serving = await serve({
    ...{ folders: [dir], db: join(dir, '.sluice/sluice.db'), port: 0 },
    onNotice: (message) => void notices.push(message),
    onRequest: (line) => void lines.push(line),
    ...more,
  });
  const token = serving.tokenFile === null ? '' : readFileSync(serving.tokenFile, 'utf8').trim();
  const end = (): Promise<void> => serving.close();
  return {
    ...{ dir, serving, token, notices, lines },
    ask: (method, path, given = {}) => asked(serving.url, token, method, path, given),
    beside: (other = {}) => started(dir, { ...more, ...other }),
    again: async (other = {}) => {
      await end();
      return started(dir, { ...more, ...other });
    },
    end: async () => {
      await end();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** `fetch` would set `Host` and `Sec-Fetch-Site` itself, and would tidy the path. */
function asked(url: string, own: string, method: string, path: string, given: Asked): Promise<Answered> {
  const { body, raw, headers = {}, token = own } = given;
  const { hostname, port } = new URL(url);
  const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  return new Promise((resolve, reject) => {
    const call = request(
      {
        ...{ hostname, port, method, path },
        headers: {
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
          ...(sent === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sent) }),
          ...headers,
        },
      },
      (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => void parts.push(part));
        response.on('error', reject);
        response.on('end', () => resolve(answerOf(response, Buffer.concat(parts).toString())));
      },
    );
    // A server that has refused a large body need not read it.
    call.on('error', reject);
    call.end(sent);
  });
}

function answerOf({ statusCode = 0, headers: given }: IncomingMessage, text: string): Answered {
  const headers = new Headers(Object.entries(given).map(([name, value]) => [name, String(value)]));
  const isJson = /json/.test(headers.get('content-type') ?? '');
  return { status: statusCode, headers, body: (isJson ? JSON.parse(text) : { text }) as Answered['body'] };
}

/** Starts the refund of the script, and waits until it asks. */
export async function refund(
  { ask }: Place,
  key?: string,
): Promise<{ readonly run: string; readonly question: string; readonly payload: string }> {
  const headers = { prefer: 'wait=20', ...(key === undefined ? {} : { 'idempotency-key': key }) };
  const started = await ask('POST', '/v1/flows/refunds/runs', {
    body: { input: { message: 'money back' }, script: 'refunds' },
    headers,
  });
  const run = String(started.body['run']);
  const { body } = await ask('GET', '/v1/questions?limit=200');
  const items = body['items'] as readonly { readonly id: string; readonly run: string; readonly payload: string }[];
  const found = items.find((each) => each.run === run);
  if (found === undefined) throw new Error(`${run} asks nothing: ${JSON.stringify(started.body)}`);
  return { run, question: found.id, payload: found.payload };
}
