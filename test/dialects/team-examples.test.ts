/** Every example of a team runs to a good end with its script, and warns about nothing. */
import { describe, expect, test } from 'vitest';
import { exampleNames } from './team-example-files.ts';
import { compileExample, playExample } from './team-examples.ts';

const STRATEGIES =
  'sequential roundrobin keyword structured statemachine graph scattergather mapreduce llm magentic adversarial';

test('there is one for each strategy', () => {
  expect(exampleNames()).toEqual(expect.arrayContaining(STRATEGIES.split(' ')));
});

test.each(exampleNames())('%s', async (name) => {
  const { flow, diagnostics } = compileExample(name);
  expect(diagnostics).toEqual([]);
  const { report, replayed } = await playExample(name, flow);
  expect(report).toMatchObject({ state: 'completed', code: 'SUCCESS' });
  expect(replayed).toMatchObject({ agrees: true });
});

describe('the development team', () => {
  test('every gate refuses once before it passes', async () => {
    const { flow } = compileExample('dev-team');
    const { refusals } = await playExample('dev-team', flow);
    const gates = new Set(
      Object.values(flow.nodes).flatMap((node) =>
        node.op === 'do' && node.effect.kind === 'check' && node.effect.check.startsWith('validator:')
          ? [node.effect.check]
          : [],
      ),
    );
    expect(new Set(refusals.map(({ check }) => check))).toEqual(gates);
    expect(gates.size).toBe(6);
  });

  test('its tests were really run, and really failed before they passed', async () => {
    const { flow } = compileExample('dev-team');
    const { exits } = await playExample('dev-team', flow);
    expect(exits.filter((code) => code !== 0)).toHaveLength(1);
    expect(exits.length).toBeGreaterThan(5);
  });
});
