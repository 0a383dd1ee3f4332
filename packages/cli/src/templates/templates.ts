/** The templates of `sluice init`. Each has a document, a script that runs it offline, and a test. */
import { PROJECT_FILES } from './init-files.ts';
import { TYPESCRIPT_FILES } from './typescript.ts';

type Files = { readonly [path: string]: string };
export interface Template {
  readonly files: Files;
  /** Commands to try first. */
  readonly next: readonly string[];
}

interface Written {
  readonly document: string;
  readonly script: string;
  readonly input: string;
  /** A regular expression that the output matches. */
  readonly output: string;
}

export const TEMPLATES: { readonly [name: string]: Template } = {
  support: yaml(
    { document: 'support.flow.yaml', script: 'support.script.yaml', input: '@input.json', output: '250' },
    PROJECT_FILES,
  ),
  research: yaml(
    { document: 'research.loop.yaml', script: 'research.script.yaml', input: 'When was it built?', output: '1779' },
    {
      'research.loop.yaml': `# One agent that looks things up, cites what it found, and changes nothing.
agents:
  - { id: scholar, instructions: "Answer from what you find, and cite it.", tools: [library.search] }
tools:
  library.search:
    description: Searches the library.
    effect: read
    input: { type: object, properties: { query: { type: string } }, required: [query] }
boundary: research
loop:
  id: research
  agent: scholar
  criteria:
    - { when: 're(text(answer), "[0-9]{4}")', reason: The year is missing. }
  grounding: { cite: required }
`,
      'research.script.yaml': `# Replaces the model and the library, so that the loop runs offline.
agents:
  scholar:
    - { tools: [{ name: library.search, args: { query: first bridge } }], text: "" }
    - '{"status": "complete", "answer": "It was built in 1779.", "citations": ["scholar.1.1.0"]}'
tools:
  library.search: [{ result: { title: The Iron Bridge, year: 1779 } }]
`,
    },
  ),
  team: yaml(
    {
      document: 'negotiation.team.yaml',
      script: 'negotiation.script.yaml',
      input: 'A boat is for sale.',
      output: '900',
    },
    {
      'negotiation.team.yaml': `# Two agents make offers until one of them agrees, or for eight turns. An offer is a signal that hands over to the other.
Orchestration:
  Name: negotiation
  Agents:
    - { Name: Buyer, Instructions: "Get the boat for as little as you can. Begin a line with OFFER, or with DEAL when you agree." }
    - { Name: Seller, Instructions: "Sell the boat for at least 900. Begin a line with OFFER, or with DEAL when you agree." }
  Selection:
    Type: statemachine
    StateMachine:
      Initial: Buying
      States:
        Buying: { Agent: Buyer, Transitions: [{ To: Selling, Signal: OFFER }] }
        Selling: { Agent: Seller, Transitions: [{ To: Buying, Signal: OFFER }] }
  Termination:
    Type: composite
    Strategies:
      - { Type: regex, Pattern: '^DEAL\\b' }
      - { Type: maxiterations, MaxIterations: 8 }
`,
      'negotiation.script.yaml': `# Replaces the models, so that the team runs offline.
agents:
  Buyer: ["OFFER: 700.", "OFFER: 850.", "DEAL, 900 it is."]
  Seller: ["It is worth more.\\nOFFER: 1200.", "OFFER: 900."]
`,
    },
  ),
  typescript: { files: TYPESCRIPT_FILES, next: ['npm install', 'npm test'] },
};

/** A document with a package, a page and a test that runs the command. */
function yaml({ document, script, input, output }: Written, files: Files): Template {
  const quoted = input.startsWith('@') ? input : `"${input}"`;
  const run = `npx sluice run ${document} --script ${script} --input ${quoted}`;
  return {
    files: {
      'README.md': `# A Sluice project

    npm install
    npx sluice check ${document}
    ${run}
    npm test
`,
      ...files,
      'package.json': `{
  "name": "my-flow",
  "private": true,
  "type": "module",
  "scripts": { "test": "node --test" },
  "dependencies": { "sluice": "*" }
}
`,
      'flow.test.mjs': `import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';

const command = join(createRequire(import.meta.url).resolve('sluice/package.json'), '../bin/sluice.js');
const sluice = (...args) => {
  const { stdout } = spawnSync(process.execPath, [command, ...args, '--json'], { encoding: 'utf8' });
  return JSON.parse(stdout);
};

test('the document holds', () => {
  assert.equal(sluice('check', '${document}').ok, true);
});

test('a scripted run ends well', () => {
  const world = ['--script', '${script}'];
  let report = sluice('run', '${document}', ...world, '--input', '${input}');
  for (const { id, choices } of report.waiting) report = sluice('answer', id, choices[0], ...world);
  assert.equal(report.code, 'SUCCESS');
  assert.match(JSON.stringify(report.output), /${output}/);
});
`,
      '.gitignore': `.sluice/
node_modules/
`,
    },
    next: ['npm install', 'npm test', run],
  };
}
