/** A provider on loopback: answers as it is told, and keeps what it was asked. */
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Json } from '@sluice-internal/kernel/expr';

export interface Asked {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: { readonly [field: string]: Json };
}
export type Answer = (response: ServerResponse, asked: Asked) => void | Promise<void>;

export interface Served extends AsyncDisposable {
  readonly url: string;
  readonly asked: readonly Asked[];
  /** What the next requests are answered with. */
  answer: Answer;
}

export async function serve(answer: Answer = text(404, '')): Promise<Served> {
  const asked: Asked[] = [];
  const served = { answer };
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      asked.push({
        path: request.url ?? '',
        headers: request.headers,
        body: (body === '' ? {} : JSON.parse(body)) as Asked['body'],
      });
      void served.answer(response, asked.at(-1) as Asked);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    get answer() {
      return served.answer;
    },
    set answer(next) {
      served.answer = next;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function text(
  status: number,
  body: string,
  headers: { readonly [name: string]: string } = { 'content-type': 'application/json' },
): Answer {
  return (response) => void response.writeHead(status, { ...headers }).end(body);
}

export function json(status: number, body: unknown, headers: { readonly [name: string]: string } = {}): Answer {
  return text(status, JSON.stringify(body), { 'content-type': 'application/json', ...headers });
}

export function sse(body: string): Answer {
  return text(200, body, { 'content-type': 'text/event-stream' });
}

/** Sends this much of a body, and then closes the connection on the reader. */
export function dropped(type: string, start: string): Answer {
  return async (response) => {
    response.writeHead(200, { 'content-type': type });
    response.write(start);
    await new Promise((resolve) => setTimeout(resolve, 20));
    response.destroy();
  };
}
