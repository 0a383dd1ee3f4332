/**
 * The step notation as authors write it: the enum spelling (`{"Loop": {"until": "DONE"}}`, `{"ByName": "writer"}`) and the
 * flat one (`mode: loop`, `until: DONE`, `agent_name: writer`), in one definition that also serves editors.
 */
import * as z from 'zod';
import { quoted } from '@sluice-internal/compile/source';
import {
  fault,
  int,
  json,
  list,
  name,
  oneOf,
  oneOfKeys,
  record,
  ruled,
  text,
  verifierField,
} from '@sluice-internal/compile/document';

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
        name: name().optional().describe('The first agent of that name.'),
        id: name().optional().describe('The agent with that id.'),
      }),
    ])
    .describe('The agent of the step.');

const mode = () => {
  const conditional = record(() => ({ condition: condition().optional() }))
    .optional()
    .describe('The step runs only if the output before it contains a text.');
  const loop = record(() => ({ max_iterations: iterations().optional(), until: until().optional() }))
    .optional()
    .describe('The step repeats until its output contains a text.');
  return z.union([
    oneOf(['sequential', 'fan_out', 'collect', 'conditional', 'loop', 'fanout', ...MODES]),
    oneKey('a mode', { Conditional: conditional, Loop: loop, conditional, loop }),
  ]);
};

const errorMode = () => {
  const retry = record(() => ({ max_retries: retries().optional() }))
    .optional()
    .describe('A failed step is tried again.');
  return z.union([oneOf(['fail', 'skip', 'retry', ...ERROR_MODES]), oneKey('an error mode', { Retry: retry, retry })]);
};

const step = record(() => ({
  name: name().optional().describe('The name of the step in `path` and `results`. Default: `step-N`.'),
  agent: agent().optional(),
  agent_name: name().optional().describe('The first agent of that name.'),
  agent_id: name().optional().describe('The agent with that id.'),
  prompt: text()
    .optional()
    .describe('The prompt of the agent; `{{input}}` and `{{variable}}` are filled in. Default: `{{input}}`.'),
  prompt_template: text().optional().describe('Another name of `prompt`.'),
  mode: mode().optional().describe('How the step runs. Default: sequential.'),
  condition: condition().optional(),
  max_iterations: iterations().optional(),
  until: until().optional(),
  timeout_secs: int({ min: 1, max: 3600 })
    .optional()
    .describe(`Seconds that one attempt may take. Default: ${DEFAULTS.timeoutSecs}.`),
  error_mode: errorMode()
    .optional()
    .describe('After a failure or a timeout: `fail` the run, `skip` the step, or `retry` it. Default: fail.'),
  max_retries: retries().optional(),
  verifier: verifierField().describe('The model that judges the reply of the step and sees its calls. Default: none.'),
  output_var: name().nullable().optional().describe('The variable that keeps the output for later prompts.'),
}));
export const stepKeys = (): readonly string[] => Object.keys(step.shape);

export const workflowSchema = record(() => ({
  id: name().optional().describe('The name of the workflow in reports. Default: `name`, otherwise `workflow`.'),
  name: name().optional().describe('A name for people.'),
  description: text().nullable().optional().describe('A note for readers.'),
  created_at: json().optional().describe('It has no effect. Systems that store workflows write it.'),
  steps: list(step, {
    min: 1,
    few: fault('bad-value', 'a workflow needs at least one step', 'Add a step to `steps`.'),
  }).describe('The steps, in order. At least one.'),
})).describe('Steps that run one after the other.');

export type RawWorkflow = z.output<typeof workflowSchema>;
export type RawStep = RawWorkflow['steps'][number];

/** A map that holds exactly one of its keys, as an enum variant with data is written. */
function oneKey<Shape extends z.ZodRawShape>(what: string, shape: Shape) {
  return ruled(record(shape), (value) => oneOfKeys(value, what, quoted(Object.keys(shape))));
}
