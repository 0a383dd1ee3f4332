/** An MCP server that repeats the key that it was given: in progress, as bytes of a picture and of a file, and in a name. */
import { createInterface } from 'node:readline';

const key = process.env['TOLD_KEY'] ?? '';
const object = { type: 'object' };
const odd = process.argv[2] ?? 'plain';

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: {
    readonly protocolVersion?: string;
    readonly _meta?: { readonly progressToken?: string | number };
  };
}

createInterface({ input: process.stdin }).on('line', (line) => handle(JSON.parse(line) as Message));

function handle({ id, method, params }: Message): void {
  if (id === undefined) return;
  if (id === PING) return finish();
  if (method === 'initialize')
    return answer(id, {
      protocolVersion: params?.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'telling', version: '1' },
    });
  if (method === 'tools/list')
    return answer(id, {
      tools: [
        { name: 'tell', inputSchema: object },
        { name: odd, inputSchema: object },
      ],
    });
  if (method === 'tools/call') return tell(id, params?._meta?.progressToken);
  answer(id, {});
}

const PING = 'ping-1';
let called: number | string = '';

/** The result follows when the client has read the progress: it answers requests in order. */
function tell(id: number | string, progressToken: string | number | undefined): void {
  for (const part of [key, Buffer.from(key).toString('base64')])
    say({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken, progress: 1, total: 2, message: `with ${part}` },
    });
  called = id;
  say({ jsonrpc: '2.0', id: PING, method: 'ping' });
}

function finish(): void {
  const blob = Buffer.from(`zip ${Buffer.from(key).toString('hex')}`).toString('base64');
  answer(called, {
    content: [
      { type: 'image', mimeType: 'image/png', data: png(`tEXt${key}`).toString('base64') },
      { type: 'image', mimeType: 'image/png', data: png('tEXtnothing').toString('base64') },
      { type: 'resource', resource: { uri: 'x://y', mimeType: 'application/zip', blob } },
    ],
  });
}

function png(more: string): Buffer {
  const data = Buffer.alloc(64, 1);
  data.write('\x89PNG\r\n\x1a\n', 0, 'latin1');
  data.writeUInt32BE(4, 16);
  data.writeUInt32BE(4, 20);
  return Buffer.concat([data, Buffer.from(more)]);
}

function answer(id: number | string, result: object): void {
  say({ jsonrpc: '2.0', id, result });
}

function say(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
