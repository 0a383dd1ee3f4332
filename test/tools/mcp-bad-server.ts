/** An MCP server that speaks the protocol by hand, and does with each tool what its name says. */
import { createInterface } from 'node:readline';

const mode = process.argv[2];
const object = { type: 'object' };
const tools = [
  { name: 'ok', inputSchema: object },
  { name: 'dies', inputSchema: object },
  { name: 'hangs', inputSchema: object, annotations: { readOnlyHint: true } },
  {
    name: 'lies',
    inputSchema: object,
    outputSchema: { type: 'object', properties: { total: { type: 'number' } }, required: ['total'] },
  },
  { name: 'malformed', inputSchema: object },
  { name: 'huge', inputSchema: object },
  { name: 'noise', inputSchema: object },
  { name: 'refuses', inputSchema: object },
];

if (mode === 'dies-at-once') {
  process.stderr.write('missing configuration\n');
  process.exit(3);
}
if (mode !== 'silent')
  createInterface({ input: process.stdin }).on('line', (line) => handle(JSON.parse(line) as Message));
else setInterval(() => undefined, 60_000);

interface Message {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly name?: string; readonly protocolVersion?: string };
}

function handle({ id, method, params }: Message): void {
  if (id === undefined) return;
  if (method === 'initialize')
    return answer(id, {
      protocolVersion: params?.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'bad', version: '1' },
    });
  if (method === 'ping') return mode === 'stuck' ? undefined : answer(id, {});
  if (method === 'tools/list') return answer(id, { tools });
  if (method === 'tools/call') return call(id, params?.name ?? '');
  say({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } });
}

function call(id: number, name: string): void {
  const text = (said: string): object => ({ content: [{ type: 'text', text: said }] });
  switch (name) {
    case 'dies':
      process.stderr.write('out of cheese\n');
      return process.exit(1);
    case 'hangs':
      return;
    case 'lies':
      return answer(id, { ...text('5'), structuredContent: { total: 'five' } });
    case 'malformed':
      return answer(id, { content: 'not a list' });
    case 'huge':
      return answer(id, text('x'.repeat(50_000_000)));
    case 'noise':
      process.stdout.write('this is no JSON\n\n{"jsonrpc":"2.0","id":9999,"result":{}}\n');
      return answer(id, text('after the noise'));
    case 'refuses':
      return say({ jsonrpc: '2.0', id, error: { code: -32602, message: 'bad params' } });
    default:
      return answer(id, text(`pid ${process.pid}`));
  }
}

function answer(id: number, result: object): void {
  say({ jsonrpc: '2.0', id, result });
}

function say(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
