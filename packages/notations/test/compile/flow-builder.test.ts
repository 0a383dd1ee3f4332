import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { flow } from '../../src/flow/builder.ts';
import { compile } from '../../src/driver/compile.ts';

const sha256 = (text: string): string => hash('sha256', text, 'hex');
const codesOf = (document: object): readonly string[] =>
  compile(document, { hash: sha256 }).diagnostics.map(({ code }) => code);

describe('flow()', () => {
  test('gives the flow that the same YAML gives, in any order of keys', () => {
    const built = flow(
      {
        id: 'demo',
        entry: 'triage',
        max_iterations: 10,
        nodes: [
          {
            id: 'triage',
            type: 'agent',
            agent: 'bot',
            input: { task: '{{event.payload.message}}' },
            routes: [{ when: "kind == 'a'", to: 'gate' }, { to: 'end' }],
          },
          {
            id: 'gate',
            type: 'approval',
            message: 'Go on with {{triage.output}}?',
            choices: ['yes', 'no'],
            routes: [{ when: "approvals.gate == 'yes'", to: 'send' }],
          },
          {
            id: 'send',
            type: 'tool',
            tool: 'mail.send',
            params: { body: '{{ triage.output.text }}' },
            on_error: [
              { match: 'Timeout', to: 'triage' },
              { default: true, to: 'end' },
            ],
          },
        ],
      },
      { agents: [{ id: 'bot', instructions: 'Answer.' }], tools: { 'mail.send': { effect: 'communication' } } },
    );
    const written = `
flow:
  nodes:
    - { type: agent, id: triage, agent: bot, input: { task: "{{event.payload.message}}" }, routes: [{ to: gate, when: "kind == 'a'" }, { to: end }] }
    - { id: gate, type: approval, message: "Go on with {{triage.output}}?", choices: ["yes", "no"], routes: [{ when: "approvals.gate == 'yes'", to: send }] }
    - id: send
      type: tool
      tool: mail.send
      params: { body: "{{ triage.output.text }}" }
      on_error: [{ match: Timeout, to: triage }, { default: true, to: end }]
  max_iterations: 10
  entry: triage
  id: demo
tools: { mail.send: { effect: communication } }
agents: [{ instructions: Answer., id: bot }]`;
    const fromObject = compile(built, { hash: sha256 });
    expect(fromObject.diagnostics).toEqual([]);
    expect(fromObject.flow?.hash).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(fromObject.flow?.hash).toBe(compile(written, { hash: sha256 }).flow?.hash);
  });

  test('refuses, while it is written, a route to a node that is not there', () => {
    const document = flow({
      id: 'demo',
      entry: 'one',
      nodes: [
        // @ts-expect-error there is no `tow`
        { id: 'one', type: 'decision', expr: 'event.payload.a', routes: [{ when: 'x', to: 'tow' }] },
        { id: 'two', type: 'terminal' },
      ],
    });
    expect(codesOf(document)).toContain('unknown-target');
  });

  test('refuses, while it is written, an entry, an agent, a tool and a template that name nothing', () => {
    const entry = flow({
      id: 'demo',
      // @ts-expect-error there is no `on`
      entry: 'on',
      nodes: [{ id: 'one', type: 'terminal' }],
    });
    const agent = flow(
      {
        id: 'demo',
        entry: 'one',
        nodes: [
          // @ts-expect-error only `bot` is declared
          { id: 'one', type: 'agent', agent: 'bott' },
        ],
      },
      { agents: [{ id: 'bot' }] },
    );
    const tool = flow(
      {
        id: 'demo',
        entry: 'one',
        nodes: [
          // @ts-expect-error only `web.get` is declared
          { id: 'one', type: 'tool', tool: 'web.got' },
        ],
      },
      { tools: { 'web.get': {} } },
    );
    const template = flow({
      id: 'demo',
      entry: 'one',
      nodes: [
        // @ts-expect-error there is no node `tow`
        { id: 'one', type: 'terminal', output: { all: 'see {{tow.output.x}}' } },
      ],
    });
    expect(codesOf(entry)).toEqual(['unknown-entry']);
    expect(codesOf(agent)).toEqual(['unknown-agent']);
    expect(codesOf(tool)).toEqual(['unknown-tool']);
    expect(codesOf(template)).toEqual(['unknown-name']);
  });
});
