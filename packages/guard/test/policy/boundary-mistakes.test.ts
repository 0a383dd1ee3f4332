/** Mistakes in a boundary: each gets one diagnostic at its place. */
import { describe, expect, test } from 'vitest';
import { compile as compileSource } from '@sluice-internal/notations/driver';
import { compile } from '../../../library/src/compile.ts';
import { document } from './bot.ts';
import { play } from './play.ts';

describe('mistakes', () => {
  test.each([
    [{ tools: { deny: ['mail.sned'] } }, 'unknown-tool', 'Did you mean `mail.send`?'],
    [{ tools: { deny: ['mial.*'] } }, 'unknown-tool', 'Did you mean `mail.*`?'],
    [{ state_writes: ['memroy.*'] }, 'unknown-tool', 'Did you mean `memory.*`?'],
    [{ state_writes: ['memory.wirte'] }, 'unknown-tool', 'Did you mean `memory.write`?'],
    [{ fail_closed: [{ what: 'x', when: 'amount > 3' }] }, 'unknown-name', undefined],
    [{ fail_closed: [{ what: 'x', when: 'args.amount >' }] }, 'bad-expression', undefined],
    [{ escalation: { denied: 'shrug' } }, 'bad-value', undefined],
    [{ decisions: ['everything'] }, 'bad-value', undefined],
  ])('%j is a %s', (boundary, code, help) => {
    expect(
      compile(document(boundary)).diagnostics.map((each) => [
        each.code,
        each.help?.startsWith('Did you mean') === true ? each.help : undefined,
      ]),
    ).toEqual([[code, help]]);
  });

  test('a pattern that no tool fits is a warning, unless a server may offer such a tool', () => {
    const found = (pattern: string, more: object = {}) =>
      compile(document({ tools: { deny: [pattern] } }, {}, more))
        .diagnostics.filter(({ code }) => code === 'unknown-tool')
        .map(({ severity, message }) => `${severity}: ${message}`);
    const at = 'boundary.tools.deny[0]: no tool fits';
    expect(found('billing.*')).toEqual([`warning: ${at} \`billing.*\` in a boundary`]);
    const mcp = { mcp: { desk: { command: 'desk-server' } } };
    for (const pattern of ['desk.*', '*.delete', 'de*', 'desk.drop_*']) expect(found(pattern, mcp)).toEqual([]);
    expect(found('dsek.*', mcp)).toEqual([`error: ${at} \`dsek.*\` in a boundary`]);
  });

  test.each([
    // A defensive rule, although the name of another group is similar.
    ['html.*', 'warning', 'http.*'],
    ['mail.*', 'warning', 'gmail.*'],
    ['sms.*', 'warning', 'sns.*'],
    ['main.*', 'warning', 'maid.*'],
    // A slip of the hand.
    ['gmial.*', 'error', 'gmail.*'],
    ['file.*', 'error', 'files.*'],
    ['Gmail_*', 'error', 'gmail.*'],
    ['serveces.*', 'error', 'services.*'],
  ])('the pattern %s is a similar %s to %s', (pattern, severity, near) => {
    const names = ['gmail.send', 'sns.publish', 'maid.clean', 'files.drop', 'services.stop'];
    const tools = Object.fromEntries(names.map((name) => [name, { effect: 'write' }]));
    for (const row of ['deny', 'approve', 'allow'])
      expect(
        compile(document({ tools: { [row]: [pattern] } }, { tools: names }, { tools })).diagnostics.filter(
          ({ code }) => code === 'unknown-tool',
        ),
      ).toMatchObject([{ severity, help: expect.stringContaining(`\`${near}\``) as string }]);
  });

  describe('a tool of a server has several names', () => {
    const tools = ['peek_mail', 'send_mail'];
    const member = (boundary: object, server: object, plugins: readonly string[], options: object = {}) => {
      const team = {
        McpServers: [{ Name: 'desk', Command: 'desk-server', ...server }],
        Agents: [{ Name: 'Bot', Plugins: plugins }],
        Selection: { Type: 'sequential' },
      };
      const { flow, diagnostics } = compile({ boundary, Orchestration: team }, options);
      const unknown = diagnostics.filter(({ code }) => code === 'unknown-tool');
      return { rows: flow?.boundaries?.['Bot']?.tools, unknown: unknown.map(({ severity }) => severity) };
    };
    const lock = {
      mcpLock: {
        version: 1,
        servers: { desk: tools.map((name) => ({ name, description: '', input: {}, output: null, annotations: {} })) },
      },
    };

    test.each(['peek_*', 'peek_mail', 'desk.peek_*', 'desk.peek_mail'])(
      '`%s` denies it under every name',
      (pattern) => {
        const boundary = { tools: { deny: [pattern] } };
        for (const plugin of ['desk', 'desk.peek_mail', 'peek_mail']) {
          const { rows, unknown } = member(boundary, { Tools: tools }, [plugin]);
          expect([rows?.deny, unknown]).toEqual([[plugin === 'peek_mail' ? 'peek_mail' : 'desk.peek_mail'], []]);
        }
        const { rows, unknown } = member(boundary, {}, ['desk'], lock);
        expect([rows?.deny, unknown]).toEqual([['desk.peek_mail'], []]);
      },
    );

    test('a rule that asks covers every name; a rule that allows covers the bare name only if the document lists it', () => {
      expect(member({ tools: { approve: ['send_*'] } }, {}, ['desk'], lock).rows?.approve).toEqual(['desk.send_mail']);
      const strict = { approve_effects: ['write'], tools: { allow: ['peek_*'] } };
      expect(member(strict, {}, ['desk'], lock)).toMatchObject({
        rows: { allow: [], approve: ['desk.peek_mail', 'desk.send_mail'] },
        unknown: ['warning'],
      });
      expect(member(strict, { Tools: tools }, ['desk']).rows?.allow).toEqual(['desk.peek_mail']);
    });

    test('a declared tool is denied by its own name and as a tool of its server, not by the bare name there', () => {
      const denied = (pattern: string) =>
        compile({
          ...document({ tools: { deny: [pattern] } }, { tools: ['saver'] }),
          mcp: { desk: { command: 'desk-server' } },
          tools: { saver: { mcp: 'desk/write_mail', effect: 'write' } },
        }).flow?.boundaries?.['bot']?.tools.deny;
      expect(['desk.*', 'desk.write_mail', 'saver', 'write_*'].map(denied)).toEqual([
        ['saver'],
        ['saver'],
        ['saver'],
        [],
      ]);
    });

    test('a bare name may fit a server whose tools are not known yet', () => {
      expect(member({ tools: { deny: ['drop_*'] } }, {}, ['desk']).unknown).toEqual([]);
      expect(member({ tools: { deny: ['drop_*'] } }, { Tools: tools }, ['desk']).unknown).toEqual(['warning']);
    });
  });

  test('a tool that a server lists under its bare name, and the servers of a team, can be named', () => {
    const unknown = (written: object) => compile(written).diagnostics.filter(({ code }) => code === 'unknown-tool');
    const boundary = { tools: { deny: ['http_*'], approve: ['http_fetch', 'desk.*', 'desk.drop'] } };
    const tools = ['http_fetch'];
    expect(unknown(document(boundary, { tools }, { mcp: { desk: { command: 'desk-server', tools } } }))).toEqual([]);
    const server = { Name: 'desk', Command: 'desk-server', Tools: tools };
    const team = { McpServers: [server], Agents: [{ Name: 'Bot', Plugins: tools }] };
    expect(unknown({ boundary, Orchestration: team })).toEqual([]);
    expect(unknown({ boundary, ...team })).toEqual([]);
  });

  test('the tools of a sub-flow can be named, because a sub-flow has no boundary of its own', () => {
    const main = (pattern: string) => ({
      boundary: { tools: { deny: [pattern] } },
      tools: { 'mall.read': { effect: 'read' } },
      flow: { id: 'main', entry: 'a', nodes: [{ id: 'a', type: 'flow', flow: './inner.flow.yaml' }] },
    });
    const deny = (pattern: string) => {
      const { flow, diagnostics } = compileSource(main(pattern), {
        hash: () => 'h',
        readText: (file) => (file === 'inner.flow.yaml' ? JSON.stringify(document(undefined)) : null),
      });
      const unknown = diagnostics.filter(({ code }) => code === 'unknown-tool');
      return [flow?.boundaries?.['bot']?.tools.deny, unknown.map(({ message }) => message)];
    };
    expect(deny('mail.*')).toEqual([['mail.send'], []]);
    expect(deny('mail.send')).toEqual([['mail.send'], []]);
    expect(deny('mial.*')).toEqual([undefined, ['boundary.tools.deny[0]: no tool fits `mial.*` in a boundary']]);
  });

  test('a condition that cannot be evaluated closes as well', async () => {
    const boundary = { fail_closed: [{ what: 'too much', when: 'int(args.amount) > 3' }] };
    const { report } = await play(document(boundary), {
      agents: { bot: [{ text: '', tools: [{ name: 'wiki.read', args: { amount: 'many' } }] }] },
    });
    expect(report).toMatchObject({ state: 'failed', code: 'UNSAFE_DETECTION' });
  });
});
