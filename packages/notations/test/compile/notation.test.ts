import { describe, expect, test } from 'vitest';
import { plain } from '../../../compile/src/source/located.ts';
import { NOTATIONS } from '../../src/driver/registry.ts';
import { detectNotation } from '../../../compile/src/document/notation.ts';
import { parseSource } from '@sluice-internal/compile/source';

function detect(yaml: string) {
  const { doc, report } = parseSource(yaml, 'a.yaml');
  const detected = detectNotation(doc!, NOTATIONS, report);
  return {
    detected,
    said: report.list().map((each) => `${each.code} ${each.line}:${each.column}`),
    list: report.list(),
  };
}

describe('detectNotation', () => {
  test.each([
    ['flow: { id: x }', 'flow', false, { id: 'x' }],
    ['agents: []\nworkflow: { steps: [] }', 'workflow', false, { steps: [] }],
    ['name: n\nagents: []\nsteps: []', 'workflow', true, { name: 'n', steps: [] }],
    ['Orchestration: { Agents: [] }', 'orchestration', false, { Agents: [] }],
    ['Agents: []\nSelection: { Type: llm }', 'orchestration', true, { Agents: [], Selection: { Type: 'llm' } }],
    ['staged: {}', 'staged', false, {}],
    ['loop: {}', 'loop', false, {}],
    ['runtime: { flow: { id: x } }', 'flow', false, { id: 'x' }],
  ])('%j is %s', (yaml, notation, bare, body) => {
    const { detected, said } = detect(yaml);
    expect(said).toEqual([]);
    expect(detected).toMatchObject({ notation, bare });
    expect(detected && plain(detected.body)).toEqual(body);
  });

  test.each([
    ['agents: []\n', 'no-notation 1:1'],
    ['agents: []\nflwo: {}\n', 'unknown-notation 2:1'],
    ['orchestration: {}\n', 'unknown-notation 1:1'],
    ['flow: {}\nloop: {}\n', 'several-notations 2:1'],
    ['workflow: {}\nsteps: []\n', 'several-notations 2:1'],
    ['- flow\n', 'wrong-type 1:1'],
    ['flow\n', 'wrong-type 1:1'],
    ['{}\n', 'no-notation 1:1'],
  ])('%j is refused: %s', (yaml, expected) => {
    const { detected, said } = detect(yaml);
    expect(detected).toBeNull();
    expect(said).toEqual([expected]);
  });

  test('says both keys and where the first one is', () => {
    expect(detect('flow: {}\nsteps: []\n').list[0]).toMatchObject({
      message: 'a document holds one notation, but this one holds `flow` and `steps`',
      related: [{ line: 1, column: 1 }],
    });
  });
});
