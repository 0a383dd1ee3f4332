/** Personal data of a run with tools, memory, a person and a signal: no original value is in any file, in every notation. */
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folder } from '../cli/cli.ts';
import { sluice } from '../cli/in-process.ts';

const VALUES = {
  email: 'zoe.quark@corp.example',
  ssn: '078-05-1123',
  card: '4012 8888 8888 1881',
  phone: '+41 44 668 18 00',
  iban: 'DE89 3704 0044 0532 0130 00',
  ip: '203.0.113.77',
  key: 'sk-proj-Zz9yXx8wVv7uTt6sRr5q',
};
const ORIGINALS = [...Object.values(VALUES), '4012888888881881', 'zoe.quark'];
const TEXT = Object.entries(VALUES)
  .map(([name, value]) => `${name} ${value}`)
  .join(' ');
const CLERK = { id: 'a', tools: ['crm.find', 'mail.send'], memory: { quarantine: 'off' } };
const WRITER = { id: 'b', memory: { quarantine: 'off' } };
const BASE = {
  pii: { trusted: ['mail.send'] },
  tools: {
    'crm.find': { effect: 'read', trust: 'trusted' },
    'mail.send': { effect: 'communication', input: { type: 'object', properties: { to: { type: 'string' } } } },
  },
  boundary: { tools: { allow: ['*'] } },
};
const DOCUMENTS: { readonly [notation: string]: object } = {
  flow: {
    ...BASE,
    agents: [CLERK, WRITER],
    flow: {
      id: 'f',
      entry: 'x',
      nodes: [
        { id: 'x', type: 'agent', agent: 'a', routes: [{ to: 't' }] },
        {
          id: 't',
          type: 'tool',
          tool: 'crm.find',
          params: { q: '{{x.output}}' },
          on_error: [{ default: true, to: 'g' }],
          routes: [{ to: 'g' }],
        },
        { id: 'g', type: 'approval', message: 'ok {{x.output}}?', routes: [{ to: 'w' }] },
        { id: 'w', type: 'wait', signal: 's', routes: [{ to: 'y' }] },
        { id: 'y', type: 'agent', agent: 'b', input: { task: '{{w.data}} {{x.output}}' } },
      ],
    },
  },
  workflow: {
    ...BASE,
    agents: [CLERK, WRITER],
    workflow: {
      id: 'w',
      steps: [
        { name: 's', agent: 'a', prompt: '{{input}}' },
        { name: 'u', agent: 'b', prompt: 'again {{input}}' },
      ],
    },
  },
  team: {
    ...BASE,
    Orchestration: {
      Name: 't',
      Agents: [
        { Name: 'a', Instructions: 'i', Plugins: CLERK.tools, Memory: { Quarantine: 'off' } },
        { Name: 'b', Instructions: 'i', Memory: { Quarantine: 'off' } },
      ],
      Selection: { Type: 'sequential' },
      Termination: { Type: 'maxiterations', MaxIterations: 2 },
    },
  },
  staged: {
    ...BASE,
    agents: [CLERK, WRITER, { id: 'planner' }],
    staged: { id: 'st', plan: { agent: 'planner' }, workers: { agent: 'a' }, finalize: { agent: 'b' } },
  },
  loop: { ...BASE, agents: [CLERK], loop: { id: 'l', agent: 'a' } },
};
const SCRIPT = {
  agents: {
    a: [
      { tools: [{ name: 'crm.find', args: { q: TEXT } }], text: `Found ${TEXT}` },
      { tools: [{ name: 'mail.send', args: { to: VALUES.email } }], text: '' },
      `Found ${TEXT}`,
    ],
    b: [`Found ${TEXT}`],
    planner: [JSON.stringify({ tasks: [{ id: 'k', brief: TEXT }] })],
  },
  tools: {
    'crm.find': [
      { result: { record: TEXT, [VALUES.email]: 'a name of a field', nested: { card: 4_012_888_888_881_881 } } },
      { error: 'fatal', message: `no ${TEXT}` },
    ],
    'mail.send': [{ result: { sent: VALUES.email } }],
  },
  approvals: { g: { choice: 'approve', text: TEXT }, 'mail.send': 'approve' },
  signals: { w: { s: TEXT } },
};

test.each(Object.keys(DOCUMENTS))('%s', async (notation) => {
  const cwd = folder({
    'd.json': JSON.stringify(DOCUMENTS[notation]),
    's.json': JSON.stringify(SCRIPT),
    'input.txt': `Please handle ${TEXT}`,
  });
  const printed: string[] = [];
  for (const command of [
    ['run', 'd.json', '--script', 's.json', '--input', '@input.txt', '--run', 'r_1', '--json'],
    ['run', 'd.json', '--script', 's.json', '--input', '@input.txt', '--run', 'r_2'],
    ['trace', 'r_2', '--json', '--prompts'],
    ['trace', 'r_2', '--format', 'otel'],
    ['explain', 'r_2'],
    ['memory', 'list', '--json'],
    ['audit', 'export', 'r_2', '--out', '.sluice/run.json'],
    ['backup', '.sluice/copy.db'],
  ]) {
    const { status, stdout, stderr } = await sluice(command, { cwd });
    // Diagnostics quote the document and the script, which belong to the author.
    printed.push(stdout, stderr.replace(/^warning\[[\s\S]*?see docs.*$/gm, ''));
    expect([command[0], status]).toEqual([command[0], 0]);
  }
  expect(printed.join('\n')).toContain('m_');
  const files = readdirSync(join(cwd, '.sluice'), { recursive: true, encoding: 'utf8' })
    .map((name) => join(cwd, '.sluice', name))
    .filter((path) => statSync(path).isFile());
  for (const [place, text] of [
    ['output', printed.join('\n')],
    ...files.map((path) => [path, readFileSync(path).toString('latin1')]),
  ])
    expect([place, ORIGINALS.filter((value) => text?.includes(value))]).toEqual([place, []]);
});
