import { expect, test } from 'vitest';
import { isDiagnosticCode } from '../../src/source/codes.ts';
import { NOTATIONS } from '@sluice-internal/notations/driver';
import { readDocument } from '@sluice-internal/compile/document';
import { locate, parseSource } from '@sluice-internal/compile/source';
import { plain } from '../../src/source/located.ts';
import picocolors from 'picocolors';
import { renderDiagnostic } from '../../../library/src/documents/diagnostics.ts';

const DOCUMENTS = 1_000;
const SAMPLES = [
  `sluice: 1
models: { fast: { provider: openai, model: gpt, price: { input: 1, output: 2 } } }
agents:
  - &base { id: triage, model: fast, instructions: "Sort: {{input}}", tools: [http.get], output: { type: object, properties: { a: { type: string } } } }
  - { <<: *base, id: other }
tools:
  http.get: { effect: read, http: { method: GET, url: "https://x" }, timeout: 30 }
  db.wipe: { shell: rm, compensate: http.get }
budgets: { steps: 10, cost_usd: 0.5 }
flow:
  id: demo
  entry: a
  nodes:
    - { id: a, type: agent, agent: triage, routes: [{ when: "x == 'y'", to: end }] }
`,
  `{"name": "pipeline", "steps": [{"name": "one", "agent": {"ByName": "w"}, "mode": {"Loop": {"max_iterations": 5, "until": "DONE"}}, "prompt_template": "{{input}}"}]}`,
  `Agents:
  - Name: Planner
    Instructions: |
      Plan it.
        Then hand over.
Selection: { Type: keyword, Routes: [ { Keyword: "GO", Agent: Planner } ] }
mcp: { files: { command: x, args: [a, "b"] } }
policies: { p: "permit (principal, action, resource);" }
boundary: { profile: research, tools: { allow: ["*"] } }
`,
];
const PIECES = [
  '{',
  '}',
  '[',
  ']',
  ':',
  '- ',
  '\n',
  '\t',
  '"',
  "'",
  '&a ',
  '*a',
  '<<: ',
  '|',
  '>',
  '#',
  '!x ',
  '? ',
  '\u0000',
  '\uFEFF',
  '😀',
  '~',
  '.nan',
  '1e999',
  '__proto__: 1',
  '---',
  '%YAML 1.1\n---\n',
  '  ',
  '{{',
  '}}',
  'flow: ',
  'steps: ',
  'null',
];
const VALUES: readonly unknown[] = [
  null,
  true,
  -1,
  1.5,
  '',
  'x',
  [],
  {},
  [[]],
  { $ref: '#' },
  { type: 'objct' },
  'research',
  { id: 7 },
  { constructor: 1 },
];

/** Small, seeded and good enough to pick mutations. */
function dice(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function mutateText(text: string, roll: (below: number) => number): string {
  let mutated = text;
  for (let count = 1 + roll(6); count > 0; count--) {
    const at = roll(mutated.length + 1);
    const to = Math.min(mutated.length, at + roll(12));
    const kind = roll(5);
    if (kind === 0) mutated = mutated.slice(0, at) + mutated.slice(to);
    else if (kind === 1) mutated = mutated.slice(0, at) + PIECES[roll(PIECES.length)] + mutated.slice(at);
    else if (kind === 2) mutated = mutated.slice(0, at) + String.fromCharCode(roll(256)) + mutated.slice(at + 1);
    else if (kind === 3) mutated = mutated.slice(0, to) + mutated.slice(at);
    else mutated = mutated.slice(0, at);
  }
  return mutated;
}

function mutateData(value: unknown, roll: (below: number) => number): unknown {
  if (roll(12) === 0) return VALUES[roll(VALUES.length)];
  if (Array.isArray(value))
    return value.flatMap((item) => Array(roll(10) === 0 ? 2 * roll(2) : 1).fill(mutateData(item, roll)));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      roll(15) === 0 ? mutateText(key, roll) : key,
      mutateData(inner, roll),
    ]),
  );
}

function check(text: string | null, parsed: ReturnType<typeof parseSource>, label: string) {
  if (parsed.doc !== null) readDocument(parsed.doc, NOTATIONS, parsed.report);
  const found = parsed.report.list();
  if (parsed.doc === null && found.length === 0) throw new Error(`${label}: refused without a reason`);
  for (const each of found) {
    expect(isDiagnosticCode(each.code) && each.line >= 1 && each.column >= 1 && each.message !== '', label).toBe(true);
    renderDiagnostic(each, text ?? undefined, picocolors.createColors(false));
  }
}

test(`${DOCUMENTS} mutated documents give diagnostics or a document, and never throw`, () => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 2 ** 31);
  console.log(`front fuzz: SEED=${seed}`);
  const bases = SAMPLES.map((sample) => plain(parseSource(sample, 'sample.yaml').doc!));
  for (let index = 0; index < DOCUMENTS; index++) {
    const label = `SEED=${seed} document ${index}`;
    const roll = dice(seed + index * 7919);
    roll(2);
    const sample = roll(SAMPLES.length);
    try {
      if (index % 2 === 0) {
        const text = mutateText(SAMPLES[sample]!, roll);
        check(text, parseSource(text, 'fuzz.yaml'), label);
      } else {
        const data = mutateData(bases[sample], roll);
        const text = JSON.stringify(data) ?? '';
        check(text, parseSource(text, 'fuzz.json'), label);
        check(null, locate(data), label);
      }
    } catch (error) {
      throw new Error(label, { cause: error });
    }
  }
}, 60_000);
