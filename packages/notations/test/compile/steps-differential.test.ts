/** Random workflows, run by the compiled flow and by the direct interpreter: the same path, calls, output and code. */
import { expect, test } from 'vitest';
import { compileSteps, driveFlow } from './steps-drive.ts';
import { interpret } from '../../../compile/test/compile/steps-reference.ts';
import type { PlainStep, Say } from '../../../compile/test/compile/steps-reference.ts';

type Pick = <Value>(values: readonly Value[]) => Value;

function pickFrom(seed: number): Pick {
  let state = seed >>> 0;
  return (values) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return values[Math.floor((state / 2 ** 32) * values.length)] as (typeof values)[number];
  };
}

function randomSteps(pick: Pick): PlainStep[] {
  const steps: PlainStep[] = [];
  const count = pick([1, 2, 3, 4, 5, 6, 7]);
  for (let index = 0; index < count; index++) {
    const previous = steps.at(-1)?.mode;
    const mode =
      previous === 'fan_out'
        ? pick(['fan_out', 'fan_out', 'collect', 'sequential'] as const)
        : pick(['sequential', 'sequential', 'fan_out', 'fan_out', 'conditional', 'loop'] as const);
    const prompt = pick([
      '{{input}}',
      'p {{ input }} {{v0}}',
      '{{v1}}-{{ v2 }}',
      'plain',
      '{{input}}{{input}}',
      '{{nope}} {{v0}}',
    ]);
    steps.push({
      name: `s${index}`,
      ...(mode === 'collect' ? {} : { agent_name: pick(['a', 'b', 'c', 'd', 'e']) }),
      prompt,
      mode,
      error_mode: pick(['fail', 'skip', 'skip', 'retry'] as const),
      max_retries: pick([0, 1, 2]),
      ...(mode === 'conditional' ? { condition: pick(['A', 'yes', 'in']) } : {}),
      ...(mode === 'loop' ? { until: pick(['yes', 'A', 'zzz']), max_iterations: pick([1, 2, 3]) } : {}),
      ...(pick([true, false]) ? { output_var: mode === 'fan_out' ? `w${index}` : pick(['v0', 'v1', 'v2']) } : {}),
    });
  }
  return steps;
}

/** The same words for the same call, whoever asks. */
const sayFrom =
  (seed: number): Say =>
  (agent, prompt, attempt) => {
    const pick = pickFrom(
      [...`${seed}${agent}${prompt}${attempt}`].reduce((sum, char) => Math.imul(sum, 31) + char.charCodeAt(0), 7),
    );
    pick([0]);
    return pick([
      null,
      null,
      `${agent} says yes`,
      `${agent.toUpperCase()}[${prompt.length}]`,
      `${agent}{{v0}}`,
      `in ${agent}`,
      '',
      prompt,
    ]);
  };

test('600 random workflows agree with the rules', () => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
  const codes: { [code: string]: number } = {};
  for (let n = 0; n < 600; n++) {
    const pick = pickFrom(seed + n);
    const steps = randomSteps(pick);
    const { flow } = compileSteps({ steps });
    if (flow === null) continue;
    const say = sayFrom(seed + n);
    const agents = Object.fromEntries(
      ['a', 'b', 'c', 'd', 'e'].map((agent) => [
        agent,
        (prompt: string, { attempt }: { attempt: number }) =>
          say(agent, prompt, attempt) ?? ({ error: 'transient' } as const),
      ]),
    );
    const run = driveFlow(flow, agents, 'in', (open) => pick(open));
    const came = interpret(steps, 'in', say);
    codes[came.code] = (codes[came.code] ?? 0) + 1;
    const calls = run.commands.map(({ name, input }) => `${name}: ${String(input['prompt'])}`);
    expect(
      { code: run.outcome.code, output: run.outcome.output, path: run.path, calls: calls.sort() },
      `seed ${seed + n}: ${JSON.stringify(steps)}`,
    ).toEqual({ ...came, calls: [...came.calls].sort() });
  }
  console.log(`seed ${seed}: ${JSON.stringify(codes)}`);
  expect(Object.keys(codes).length).toBe(5);
});
