/** A server on loopback that keeps what it was asked. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';

interface Served {
  readonly port: number;
  /** Refuses all later connections, and cuts the open ones. */
  readonly stop: () => void;
  readonly seen: {
    readonly method: string;
    readonly url: string;
    readonly headers: IncomingMessage['headers'];
    readonly body: string;
  }[];
}

export async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<Served> {
  const seen: Served['seen'] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      seen.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body });
      answer(request, response);
    });
  }).listen(0, '127.0.0.1');
  const stop = (): void => {
    server.closeAllConnections();
    server.close();
  };
  onTestFinished(stop);
  await new Promise((resolve) => server.once('listening', resolve));
  return { port: (server.address() as { port: number }).port, seen, stop };
}

export const json = (response: ServerResponse, value: unknown): void =>
  void response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
