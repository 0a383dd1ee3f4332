import { describe, expect, test } from 'vitest';
import { compileSteps } from './steps-drive.ts';

const drawn = (source: string) => {
  const { picture } = compileSteps(source);
  const label = new Map(picture?.nodes.map(({ id, label }) => [id, label]));
  return {
    nodes: picture?.nodes.map(({ kind, label, detail }) => `${kind} ${label}${detail === null ? '' : ` (${detail})`}`),
    edges: picture?.edges.map(
      ({ from, to, kind, label: said, back }) =>
        `${label.get(from)} -${kind}${said === null ? '' : ` ${said}`}${back ? ' back' : ''}> ${label.get(to)}`,
    ),
    cycles: picture?.cycles,
  };
};

describe('the picture of a workflow', () => {
  test('shows conditions that can be passed by, and steps that may be skipped', () => {
    const { nodes, edges } = drawn(`
steps:
  - { name: one, agent_name: a, error_mode: skip }
  - { name: two, agent_name: b, mode: conditional, condition: bad, error_mode: retry, max_retries: 1 }
  - { name: three, agent_name: c }`);
    expect(nodes).toEqual([
      'start start',
      'agent one (a)',
      'decision contains "bad"',
      'agent two (b, 1 retry)',
      'agent three (c)',
      'end end',
    ]);
    expect(edges).toEqual([
      'start -route> one',
      'one -route> contains "bad"',
      'one -error skip> contains "bad"',
      'contains "bad" -route yes> two',
      'two -route> three',
      'contains "bad" -route no> three',
      'three -route> end',
    ]);
  });

  test('shows batches side by side', () => {
    const { nodes, edges } = drawn(
      'steps: [{ name: x, agent_name: a, mode: fan_out }, { name: y, agent_name: b, mode: fan_out, error_mode: skip }, { name: g, mode: collect }]',
    );
    expect(nodes).toEqual([
      'start start',
      'parallel fan out',
      'agent x (a)',
      'agent y (b)',
      'join g (all; outputs are joined)',
      'end end',
    ]);
    expect(edges).toEqual([
      'start -route> fan out',
      'fan out -branch> x',
      'fan out -branch> y',
      'x -join> g',
      'y -join> g',
      'y -error skip> g',
      'g -route> end',
    ]);
    expect(drawn('steps: [{ name: x, agent_name: a, mode: fan_out }]').nodes).toContain(
      'join join (all; the last output goes on)',
    );
  });

  test('shows what bounds a loop', () => {
    const { edges, cycles } = drawn('steps: [{ name: r, agent_name: a, mode: loop, until: OK, max_iterations: 3 }]');
    expect(edges).toEqual([
      'start -route> r',
      'r -route again back> r',
      'r -route contains "OK"> end',
      'r -over cap reached> end',
    ]);
    expect(cycles).toEqual([{ nodes: ['step-0'], bound: 'max_iterations: 3' }]);
  });

  test('is there even where a check across steps failed', () => {
    expect(compileSteps('steps: [{ name: x, agent_name: a }, { name: y, agent_name: a }]')).toMatchObject({
      flow: null,
      picture: { notation: 'workflow' },
    });
  });
});
