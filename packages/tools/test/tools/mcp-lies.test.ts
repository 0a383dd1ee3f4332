/** MCP servers that die, hang or lie, as processes of their own, in runs of a real engine: see mcp.test.ts for single calls. */
import { describe, expect, test } from 'vitest';
import { mcpProgram } from './mcp-program.ts';
import { walk } from './walk.ts';

const server = (mode: string) => ({ mcp: { s: mcpProgram('mcp-bad-server.ts', [mode]) } });

/** The agent calls the tool, and then one that works, on the same server. */
function calling(tool: string, mode: string, timeout = 10) {
  const names = [tool, 'ok'];
  const tools = Object.fromEntries(names.map((name) => [`s.${name}`, { effect: 'read', mcp: `s/${name}`, timeout }]));
  return walk({ tools, calls: names.map((name) => ({ name: `s.${name}` })), sections: server(mode) });
}

describe('a server that', () => {
  test.each<[string, string, string, string, number?]>([
    ['dies', 'dies', 'transient', 'McpClosedError'],
    ['hangs', 'hangs', 'timeout', 'TimeoutError', 2],
    ['answers under another id', 'wrong_id', 'timeout', 'TimeoutError', 2],
    ['contradicts its own schema', 'lies', 'semantic', 'McpResultError'],
    ['gives a result that is none', 'malformed', 'semantic', 'McpResultError'],
    ['gives an answer without a result', 'nothing', 'timeout', 'TimeoutError', 2],
    ['gives 50 MB', 'huge', 'semantic', 'TooLargeError', 20],
    ['gives a line without end', 'endless_line', 'semantic', 'TooLargeError', 20],
    ['gives a data URL as the data of an image', 'picture_url', 'semantic', 'McpResultError'],
    ['gives a tower', 'deep', 'semantic', 'ResultError'],
    ['gives a tower that its schema describes', 'deep_checked', 'semantic', 'ResultError'],
    ['gives a tower with an error', 'deep_error', 'semantic', 'McpError'],
    ['takes back a tool that it listed', 'withdrawn', 'semantic', 'McpError'],
    ['refuses', 'refuses', 'semantic', 'McpError'],
  ])('%s: a typed failure, the agent is told, and the next call works', async (_, tool, kind, type, timeout) => {
    const { report, failures, values, told } = await calling(tool, 'serve', timeout);
    expect([report.code, report.usage.toolCalls]).toEqual(['SUCCESS', 2]);
    expect(failures).toMatchObject([{ class: kind, type }]);
    expect(values).toEqual([expect.stringMatching(/^pid \d+$/)]);
    expect(told).toContain('[ERROR]');
  });

  test.each<[string, string, string, string]>([
    ['dies at once', 'dies-at-once', 'transient', 'McpStartError'],
    ['never says a word', 'silent', 'timeout', 'TimeoutError'],
    ['lists what is no list', 'no-list', 'transient', 'McpStartError'],
    ['lists without end', 'pages', 'semantic', 'TooLargeError'],
  ])('%s: each call is a typed failure', async (_, mode, kind, type) => {
    const { report, failures, values } = await calling('noise', mode, 2);
    expect([report.code, report.usage.toolCalls, values]).toEqual(['SUCCESS', 2, []]);
    expect(failures).toMatchObject([
      { class: kind, type },
      { class: kind, type },
    ]);
  });

  test('announces another list of tools during a run: the list is read again before the next call', async () => {
    const { failures, values } = await calling('announces', 'changes');
    expect(values).toEqual(['the list has changed']);
    expect(failures).toMatchObject([{ type: 'UnknownToolError', message: 'the MCP server `s` has no tool `ok`' }]);
  });

  test('announces another list while it sends the first one: the list is read again before the first call', async () => {
    const { failures, values } = await calling('noise', 'changes-while-listing');
    expect(values).toEqual([]);
    expect(failures[0]).toMatchObject({ type: 'UnknownToolError', message: 'the MCP server `s` has no tool `noise`' });
  });

  test('gives pictures that are none: only the real one is an attachment, and nothing is text', async () => {
    const { values, told, report } = await calling('pictures', 'serve');
    expect(report.code).toBe('SUCCESS');
    const { content } = values[0] as { content: { [field: string]: unknown }[] };
    const attached = content.filter(({ attachment }) => attachment !== undefined);
    expect(attached).toMatchObject([{ mimeType: 'image/png', mediaType: 'image/png', bytes: 64 }]);
    expect(content.map(({ problem }) => String(problem ?? ''))).toEqual([
      '',
      expect.stringContaining('by its content'),
      expect.stringContaining('declared as image/jpeg, but its content is image/png'),
      expect.stringContaining('pixels'),
      expect.stringContaining('by its content'),
      expect.stringContaining('empty'),
      '',
      '',
    ]);
    expect(String(content[6]?.['path'])).toMatch(/^attachments\/[0-9a-f]{16}\.\w+$/);
    expect(String(content[7]?.['text'])).toMatch(/^look: \{"attachment":"sha256-.* and on$/);
    expect(told).not.toMatch(/[A-Za-z0-9+/]{200}/);
  });

  test.each(['deep_meta', 'deep_part'])('gives a tower beside its result (%s): the engine goes on', async (tool) => {
    const { report, values, failures } = await calling(tool, 'serve');
    expect([report.code, values.length + failures.length]).toEqual(['SUCCESS', 2]);
    expect(values.at(-1)).toMatch(/^pid \d+$/);
  });

  test('lists a tool whose schema is a tower: each call is a typed failure', async () => {
    const { report, failures, values } = await calling('noise', 'deep-list', 5);
    expect([report.code, values]).toEqual(['SUCCESS', []]);
    expect(failures.map((each) => each.type)).toEqual(['McpStartError', 'McpStartError']);
  });

  test('hangs altogether is started anew', async () => {
    const { failures, values } = await calling('hangs', 'stuck', 2);
    expect(failures).toMatchObject([{ class: 'timeout', type: 'TimeoutError' }]);
    expect(values).toEqual([expect.stringMatching(/^pid \d+$/)]);
  });

  test.each([
    ['answers twice: the first counts, and nothing is taken for another', 'twice', 'first'],
    ['sends bytes that are no text: they are replaced', 'bytes', 'a\ufffd\ufffd\ufffd('],
    ['talks beside the protocol: it is not heard', 'noise', 'after the noise'],
  ])('%s', async (_, tool, value) => {
    const { report, failures, values } = await calling(tool, 'serve');
    expect([report.code, failures]).toEqual(['SUCCESS', []]);
    expect(values).toEqual([value, expect.stringMatching(/^pid \d+$/)]);
  });

  test('has a schema that turns in circles: its results are not believed', async () => {
    const { report, failures, values } = await calling('round', 'serve');
    expect([report.code, failures.length, values.length]).toEqual(['SUCCESS', 1, 1]);
    expect(failures).toMatchObject([{ class: 'semantic' }]);
  });
});
