/**
 * The step notation as authors write it: the enum spelling (`{"Loop": {"until": "DONE"}}`, `{"ByName": "writer"}`) and the
 * flat one (`mode: loop`, `until: DONE`, `agent_name: writer`), in one definition that also serves editors.
 */
import * as z from 'zod';
import { fault, int, json, list, name, oneOf, record, ruled, text } from '../../document/shape/fields.ts';

export const MODES = ['Sequential', 'FanOut', 'Collect', 'Conditional', 'Loop'] as const;
export type Mode = (typeof MODES)[number];
export const ERROR_MODES = ['Fail', 'Skip', 'Retry'] as const;
export type ErrorMode = (typeof ERROR_MODES)[number];

export const DEFAULTS = { timeoutSecs: 120, retries: 3, iterations: 5, prompt: '{{input}}' } as const;

const retries = () =>
  int({ min: 0 }).describe(`How often a failed attempt is repeated, at once. Default: ${DEFAULTS.retries}.`);
const iterations = () => int({ min: 1 }).describe(`How often the step runs at most. Default: ${DEFAULTS.iterations}.`);
const until = () => text().describe('The loop ends when the output contains this text. Case does not matter.');
const condition = () =>
  text().describe('The step runs only if the output before it contains this text. Case does not matter.');

const agent = () =>
  z
    .union([
      name(),
      oneKey('an agent', {
        ByName: name().optional().describe('The first agent of that name.'),
        ById: name().optional().describe('The agent with that id.'),
        name: name().optional(),
        id: name().optional(),
      }),
    ])
    .describe('The agent of the step.');

const mode = () => {
  const conditional = record(() => ({ condition: condition().optional() })).optional();
  const loop = record(() => ({ max_iterations: iterations().optional(), until: until().optional() })).optional();
  return z.union([
    oneOf(['sequential', 'fan_out', 'collect', 'conditional', 'loop', 'fanout', ...MODES]),
    oneKey('a mode', { Conditional: conditional, Loop: loop, conditional, loop }),
  ]);
};

const errorMode = () => {
  const retry = record(() => ({ max_retries: retries().optional() })).optional();
  return z.union([oneOf(['fail', 'skip', 'retry', ...ERROR_MODES]), oneKey('an error mode', { Retry: retry, retry })]);
};

const step = record(() => ({
  name: name().optional().describe('The name of the step in `path` and `results`.'),
  agent: agent().optional(),
  agent_name: name().optional().describe('The first agent of that name.'),
  agent_id: name().optional().describe('The agent with that id.'),
  prompt: text().optional().describe('The prompt of the agent; `{{input}}` and `{{variable}}` are filled in.'),
  prompt_template: text().optional().describe('Another name of `prompt`.'),
  mode: mode().optional().describe('How the step runs. Default: sequential.'),
  condition: condition().optional(),
  max_iterations: iterations().optional(),
  until: until().optional(),
  timeout_secs: int({ min: 1, max: 3600 })
    .optional()
    .describe(`Seconds that one attempt may take. Default: ${DEFAULTS.timeoutSecs}.`),
  error_mode: errorMode().optional().describe('What happens after a failure or a timeout. Default: the run fails.'),
  max_retries: retries().optional(),
  output_var: name().nullable().optional().describe('The variable that keeps the output for later prompts.'),
}));
export const stepKeys = (): readonly string[] => Object.keys(step.shape);

export const workflowSchema = record(() => ({
  id: name().optional(),
  name: name().optional(),
  description: text().nullable().optional(),
  created_at: json().optional().describe('Kept by systems that store workflows; it has no effect.'),
  steps: list(step, { min: 1, few: fault('bad-value', 'a workflow needs at least one step') }),
}));

export type RawWorkflow = z.output<typeof workflowSchema>;
export type RawStep = RawWorkflow['steps'][number];

/** A map that holds exactly one of its keys, as an enum variant with data is written. */
function oneKey<Shape extends z.ZodRawShape>(what: string, shape: Shape) {
  return ruled(record(shape), (value, context) => {
    const given = Object.keys(value);
    if (given.length === 1) return;
    const keys = Object.keys(shape)
      .map((key) => `\`${key}\``)
      .join(', ');
    const message =
      given.length === 0
        ? `${what} is one of ${keys}, but none is given`
        : `${what} is only one of ${keys}, but ${given.length} are given`;
    context.addIssue({ code: 'custom', message: fault('bad-value', message) });
  });
}
