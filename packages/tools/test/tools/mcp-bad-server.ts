/** An MCP server that speaks the protocol by hand, and does with each tool what its name says. */
import { createInterface } from 'node:readline';

const mode = process.argv[2];
const object = { type: 'object' };
const tools = [
  { name: 'ok', inputSchema: object, ...(process.argv[3] === undefined ? {} : { description: process.argv[3] }) },
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
  { name: 'wrong_id', inputSchema: object },
  { name: 'twice', inputSchema: object },
  { name: 'bytes', inputSchema: object },
  { name: 'endless_line', inputSchema: object },
  { name: 'withdrawn', inputSchema: object },
  { name: 'announces', inputSchema: object },
  { name: 'nothing', inputSchema: object },
  { name: 'deep', inputSchema: object },
  { name: 'deep_checked', inputSchema: object, outputSchema: { type: 'object', properties: { v: { type: 'array' } } } },
  { name: 'deep_meta', inputSchema: object },
  { name: 'deep_part', inputSchema: object },
  { name: 'deep_error', inputSchema: object },
  { name: 'pictures', inputSchema: object },
  { name: 'picture_url', inputSchema: object },
  {
    name: 'slow_pattern',
    inputSchema: object,
    outputSchema: { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } },
  },
  {
    name: 'odd_pattern',
    inputSchema: object,
    outputSchema: { type: 'object', properties: { a: { type: 'string', pattern: '(?=a)a', maxLength: 1 } } },
  },
  {
    name: 'round',
    inputSchema: object,
    outputSchema: { type: 'object', $defs: { a: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' },
  },
];
/** How often the list was asked for. In the modes `changes…`, the server has another one after the first time. */
let listed = 0;

if (mode === 'dies-at-once') {
  process.stderr.write('missing configuration\n');
  process.exit(3);
}
if (mode !== 'silent')
  createInterface({ input: process.stdin }).on('line', (line) => handle(JSON.parse(line) as Message));
if (mode === 'silent' || mode === 'stays') setInterval(() => undefined, 60_000);

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
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: 'bad', version: '1' },
    });
  if (method === 'ping') return mode === 'stuck' ? undefined : answer(id, {});
  if (method === 'tools/list') return list(id);
  if (method === 'tools/call') return call(id, params?.name ?? '');
  say({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } });
}

function list(id: number): void {
  listed += 1;
  if (mode === 'pages') return answer(id, { tools, nextCursor: String(listed) });
  if (mode === 'changes-while-listing' && listed === 1)
    say({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
  if (mode?.startsWith('changes') === true && listed > 1)
    return answer(id, { tools: [{ name: 'other', inputSchema: object }] });
  if (mode === 'deep-list') {
    const list = JSON.stringify({ tools: [{ name: 'ok', inputSchema: { type: 'object', default: 'TOWER' } }] });
    return raw(id, `"result":${list.replace('"TOWER"', TOWER)}`);
  }
  if (mode === 'no-list') return answer(id, { tools: 'many' });
  answer(id, { tools });
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
    case 'wrong_id':
      return answer(id + 1_000_000, text('for somebody else'));
    case 'twice':
      answer(id, text('first'));
      return answer(id, text('second'));
    case 'bytes':
      process.stdout.write(Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"`));
      process.stdout.write(Buffer.from([0x61, 0xff, 0xfe, 0xc3, 0x28]));
      return void process.stdout.write('"}]}}\n');
    case 'endless_line':
      return void process.stdout.write('x'.repeat(20_000_000));
    case 'announces':
      say({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
      return answer(id, text('the list has changed'));
    case 'withdrawn':
      say({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
      return say({ jsonrpc: '2.0', id, error: { code: -32602, message: 'Tool withdrawn not found' } });
    case 'nothing':
      return say({ jsonrpc: '2.0', id });
    case 'deep':
    case 'deep_checked':
      return raw(id, `"result":{"content":[],"structuredContent":{"v":${TOWER}}}`);
    case 'deep_meta':
      return raw(id, `"result":{"content":[{"type":"text","text":"beside a tower"}],"_meta":{"v":${TOWER}}}`);
    case 'deep_part':
      return raw(id, `"result":{"content":[{"type":"text","text":"a","_meta":{"v":${TOWER}}}]}`);
    case 'deep_error':
      return raw(id, `"error":{"code":-32000,"message":"a tower","data":${TOWER}}`);
    case 'pictures':
      return answer(id, { content: pictures() });
    case 'picture_url':
      return answer(id, { content: [{ type: 'image', mimeType: 'image/png', data: 'data:image/png;base64,AAAA' }] });
    case 'slow_pattern':
      return answer(id, { ...text('5'), structuredContent: { a: `${'a'.repeat(5_000)}b` } });
    case 'odd_pattern':
      return answer(id, { ...text('5'), structuredContent: { a: 'a' } });
    case 'round':
      return answer(id, { ...text('5'), structuredContent: { a: 1 } });
    default:
      return answer(id, text(`pid ${process.pid}`));
  }
}

const TOWER = '['.repeat(100_000) + ']'.repeat(100_000);

function raw(id: number, rest: string): void {
  process.stdout.write(`{"jsonrpc":"2.0","id":${id},${rest}}\n`);
}

/** A picture, and things that only claim to be one. */
function pictures(): object[] {
  const image = (data: Buffer | string, mimeType = 'image/png'): object => ({
    type: 'image',
    mimeType,
    data: typeof data === 'string' ? data : data.toString('base64'),
  });
  const url = `data:image/png;base64,${png(5, 5, 900).toString('base64')}`;
  return [
    image(png(4, 4)),
    image(Buffer.from('<script>alert(1)</script>')),
    image(png(4, 4), 'image/jpeg'),
    image(png(60_000, 60_000)),
    image(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'image/svg+xml'),
    image(Buffer.alloc(0)),
    { type: 'resource', resource: { uri: 'x://y', mimeType: '../../../etc/passwd', blob: 'AAAA' } },
    { type: 'text', text: `look: ${url} and on` },
  ];
}

function png(width: number, height: number, more = 40): Buffer {
  const data = Buffer.alloc(24 + more, 1);
  data.write('\x89PNG\r\n\x1a\n', 0, 'latin1');
  data.writeUInt32BE(width, 16);
  data.writeUInt32BE(height, 20);
  return data;
}

function answer(id: number, result: object): void {
  say({ jsonrpc: '2.0', id, result });
}

function say(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
