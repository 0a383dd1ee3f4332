/** An MCP server as one would write it; the tests start it as a process of its own. */
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

/** 900 bytes of every value: 1,200 characters of base64. */
export const DATA = Buffer.from(Array.from({ length: 900 }, (_, index) => index % 256));

export function goodServer(): McpServer {
  const server = new McpServer({ name: 'good', version: '1.0.0' }, { capabilities: { tools: {} } });
  const schema = {
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    outputSchema: z.object({ sum: z.number() }),
  };
  server.registerTool('add', schema, ({ a, b }) => ({
    content: [{ type: 'text', text: String(a + b) }],
    structuredContent: { sum: a + b },
  }));
  server.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, ({ text }) => ({
    content: [{ type: 'text', text }],
  }));
  server.registerTool('fails', { inputSchema: z.object({}) }, () => ({
    isError: true,
    content: [{ type: 'text', text: 'no such order' }],
  }));
  server.registerTool('report', { inputSchema: z.object({}) }, () => ({
    content: [{ type: 'text', text: DATA.toString('base64') }],
    structuredContent: { pages: [{ mimeType: 'application/zip', data: DATA.toString('base64'), title: 'a' }] },
  }));
  server.registerTool('dump', { inputSchema: z.object({}) }, () => ({
    content: [{ type: 'text', text: DATA.toString('base64') }],
  }));
  server.registerTool('picture', { inputSchema: z.object({}) }, () => ({
    content: [
      { type: 'text', text: 'a' },
      { type: 'image', mimeType: 'image/png', data: 'AAAA' },
    ],
  }));
  server.registerTool('env', { inputSchema: z.object({ name: z.string() }) }, ({ name }) => ({
    content: [{ type: 'text', text: process.env[name] ?? 'unset' }],
  }));
  server.registerTool('huge', { inputSchema: z.object({}) }, () => ({
    content: [{ type: 'text', text: 'x'.repeat(50_000_000) }],
  }));
  return server;
}

if (process.argv[2] === 'serve') serveStdio(goodServer);
