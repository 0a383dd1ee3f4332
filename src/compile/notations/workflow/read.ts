/**
 * Reads a workflow: strictly, in both spellings, with every default settled. A step that is faulty is kept as far as it can
 * be read, so that what concerns several steps is told in the same breath.
 */
import type { ReadDocument } from '../../document/document.ts';
import type { Report } from '../../diagnose/diagnostics.ts';
import { childOf, itemsOf } from '../../source/located.ts';
import type { Path } from '../../source/located.ts';
import { SECTION_NAMES } from '../../document/schema/schema.ts';
import { readShape } from '../../document/shape/shape.ts';
import type { Shaped } from '../../document/shape/shape.ts';
import { agentRefs, createRegistry } from './agents.ts';
import type { Registry } from './agents.ts';
import { INPUT, NOBODY } from './model.ts';
import type { Step, Workflow } from './model.ts';
import { errorModeOf, modeOf, promptOf, wasTried } from './fields.ts';
import type { Given } from './fields.ts';
import { DEFAULTS, workflowSchema } from './schema.ts';
import type { RawStep, RawWorkflow } from './schema.ts';
import { isVariableName, piecesOf } from './template.ts';

export interface ReadWorkflow {
  readonly workflow: Workflow;
  readonly agents: Registry['undeclared'];
  readonly body: Shaped<RawWorkflow>;
}

export function readWorkflow(document: ReadDocument, report: Report): ReadWorkflow | null {
  const body = readShape(workflowSchema, document.body, report, {
    what: document.bare ? 'this document' : '`workflow`',
    alsoKnown: document.bare ? SECTION_NAMES : [],
  });
  if (body === null) return null;
  const registry = createRegistry(document, body, report);
  const steps: Step[] = [];
  for (const [index, raw] of body.value.steps.entries()) {
    steps.push(readStep(index, raw, { body, registry, report }));
  }
  // One that is no step at all leaves a gap between its neighbours.
  if (steps.length < itemsOf(childOf(document.body, 'steps')).length) return null;
  const { id, name } = body.value;
  return {
    workflow: { id: id ?? name ?? 'workflow', name: name ?? id ?? 'workflow', steps },
    agents: registry.undeclared,
    body,
  };
}

interface Reading {
  readonly body: Shaped<RawWorkflow>;
  readonly registry: Registry;
  readonly report: Report;
}

function readStep(index: number, raw: RawStep, reading: Reading): Step {
  const name = raw.name ?? `step-${index + 1}`;
  const { body, report } = reading;
  const given: Given = {
    raw,
    name,
    at: (...path: Path) => body.at('steps', index, ...path),
    key: (...path: Path) => body.key('steps', index, ...path),
    located: (...path: Path) => body.located('steps', index, ...path),
    report,
    unclear: (field) => raw[field] === undefined && wasTried(body.located('steps', index), [field]),
  };
  const mode = modeOf(given);
  const errors = errorModeOf(given);
  const prompt = promptOf(given);
  const unclear = given.unclear('mode');
  const agent = mode.mode === 'Collect' ? '' : agentOf(index, raw, name, unclear, reading);
  return {
    index,
    name,
    mode: mode.mode,
    unclear,
    // Nobody is called this: whether it is the agent before or after cannot be told.
    agent: agent === null || unclear || errors === null || given.unclear('error_mode') ? `${NOBODY}${index}` : agent,
    prompt: piecesOf(prompt ?? ''),
    contains: mode.contains ?? '',
    iterations: mode.iterations,
    timeoutMs: (raw.timeout_secs ?? DEFAULTS.timeoutSecs) * 1000,
    onError: errors?.mode ?? 'Fail',
    retries: errors?.retries ?? 0,
    output: outputOf(given),
  };
}

function agentOf(
  index: number,
  raw: RawStep,
  name: string,
  unclear: boolean,
  { body, registry, report }: Reading,
): string | null {
  const [first, second] = agentRefs(raw);
  if (second !== undefined) {
    report.error('bad-value', body.key('steps', index, ...second.path), `step \`${name}\` names its agent twice`, {
      help: 'Keep one of them.',
    });
    return null;
  }
  if (first !== undefined) return registry.resolve(first, { index, name });
  // Where the mode cannot be told, it may be the one that needs nobody.
  if (unclear || wasTried(body.located('steps', index), ['agent', 'agent_name', 'agent_id'])) return null;
  report.error('missing-agent', body.at('steps', index), `step \`${name}\` names no agent`, {
    help: 'Add `agent_name: …` or `agent_id: …`. Only Collect does without.',
  });
  return null;
}

/** Null where there is none, or where its name cannot be used. */
function outputOf({ raw, at, report }: Given): string | null {
  const output = raw.output_var ?? null;
  if (output === null) return null;
  if (output === INPUT) {
    report.error(
      'reserved-id',
      at('output_var'),
      '`input` cannot be a variable: `{{input}}` is always the input of the step',
      { help: 'Choose another name.' },
    );
    return null;
  }
  if (isVariableName(output)) return output;
  report.error(
    'bad-value',
    at('output_var'),
    `\`output_var\` must be a name without braces or outer blanks, but is ${JSON.stringify(output)}`,
  );
  return null;
}
