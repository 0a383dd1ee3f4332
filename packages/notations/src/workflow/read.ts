/**
 * Reads a workflow, in both spellings, and fills in every default. A faulty step is kept as far as it can be read, so that
 * mistakes that concern several steps are reported at the same time.
 */
import {
  SECTION_NAMES,
  checkVerifier,
  isPoisonedName,
  readShape,
  undeclaredAgent,
} from '@sluice-internal/compile/document';
import type { Places, ReadDocument, Shaped } from '@sluice-internal/compile/document';
import { childOf, didYouMean, itemsOf, nearest } from '@sluice-internal/compile/source';
import type { Located, Path, Report } from '@sluice-internal/compile/source';
import { verifierOf } from '@sluice-internal/compile/lower';
import type { AgentDef } from '@sluice-internal/kernel/ir';
import { INPUT, NOBODY, isVariableName, piecesOf, type Step, type Workflow } from './model.ts';
import { DEFAULTS, ERROR_MODES, MODES, stepKeys, workflowSchema } from './schema.ts';
import type { ErrorMode, Mode, RawStep, RawWorkflow } from './schema.ts';

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
  const registry = createRegistry(document);
  for (const [index, { verifier }] of body.value.steps.entries())
    if (verifier !== undefined)
      checkVerifier(verifier, document.names, (...path) => body.at('steps', index, 'verifier', ...path), report);
  const steps = body.value.steps.map((raw, index) => readStep(index, givenStep(index, raw, body, report), registry));
  // An item that is not a step leaves a gap between its neighbours.
  if (steps.length < itemsOf(childOf(document.body, 'steps')).length) return null;
  const { id, name } = body.value;
  return {
    workflow: { id: id ?? name ?? 'workflow', name: name ?? id ?? 'workflow', steps },
    agents: registry.undeclared,
    body,
  };
}

function givenStep(index: number, raw: RawStep, body: Shaped<RawWorkflow>, report: Report): Given {
  return {
    raw,
    name: raw.name ?? `step-${index + 1}`,
    ...body.under('steps', index),
    report,
    unclear: (field) => raw[field] === undefined && wasTried(body.located('steps', index), [field]),
  };
}

function readStep(index: number, given: Given, registry: Registry): Step {
  const { raw, name } = given;
  const mode = modeOf(given);
  const errors = errorModeOf(given);
  const prompt = promptOf(given);
  const unclear = given.unclear('mode');
  const agent = mode.mode === 'Collect' ? '' : agentOf(given, unclear, registry);
  return {
    index,
    name,
    mode: mode.mode,
    unclear,
    // A name that no agent has, because the real one is unknown.
    agent: agent === null || unclear || errors === null || given.unclear('error_mode') ? `${NOBODY}${index}` : agent,
    prompt: piecesOf(prompt ?? ''),
    contains: mode.contains ?? '',
    iterations: mode.iterations,
    timeoutMs: (raw.timeout_secs ?? DEFAULTS.timeoutSecs) * 1000,
    onError: errors?.mode ?? 'Fail',
    retries: errors?.retries ?? 0,
    output: outputOf(given),
    verifier: verifierOf(raw.verifier, null),
  };
}

function agentOf(given: Given, unclear: boolean, registry: Registry): string | null {
  const { raw, name, at, key, located, report } = given;
  const [first, second] = agentRefs(raw);
  if (second !== undefined) {
    report.error('bad-value', key(...second.path), `step \`${name}\` names its agent twice`, {
      help: 'Keep one of them.',
    });
    return null;
  }
  if (first !== undefined) return registry.resolve(first, given);
  // An unclear mode may be Collect, which needs no agent.
  if (unclear || wasTried(located(), ['agent', 'agent_name', 'agent_id'])) return null;
  report.error('missing-agent', at(), `step \`${name}\` names no agent`, {
    help: 'Add `agent_name: …` or `agent_id: …`. Only a Collect step needs no agent.',
  });
  return null;
}

/** Null if there is no variable, or if its name is not valid. */
function outputOf({ raw, at, report }: Given): string | null {
  const output = raw.output_var ?? null;
  if (output === null) return null;
  if (output === INPUT) {
    const message = '`input` cannot be a variable: `{{input}}` is always the input of the step';
    report.error('reserved-id', at('output_var'), message, { help: 'Choose another name.' });
    return null;
  }
  if (isVariableName(output)) return output;
  const message = `\`output_var\` must be a name without braces or outer blanks, but is ${JSON.stringify(output)}`;
  report.error('bad-value', at('output_var'), message, { help: 'Write a name such as `draft`.' });
  return null;
}

interface AgentRef {
  readonly by: 'name' | 'id' | 'either';
  readonly value: string;
  /** The place in the step. */
  readonly path: Path;
}

/** Every way in which the step names an agent; more than one is a mistake. */
function agentRefs(step: RawStep): readonly AgentRef[] {
  const refs: AgentRef[] = [];
  const add = (by: AgentRef['by'], value: string | undefined, ...path: Path): void => {
    if (value !== undefined) refs.push({ by, value, path });
  };
  const { agent } = step;
  if (typeof agent === 'string') add('either', agent, 'agent');
  else for (const [key, by] of AGENT_KEYS) add(by, agent?.[key], 'agent', key);
  add('name', step.agent_name, 'agent_name');
  add('id', step.agent_id, 'agent_id');
  return refs;
}

interface Registry {
  /** The id in the compiled flow; null if no agent or more than one matches, which is then reported. */
  resolve(ref: AgentRef, step: Given): string | null;
  /** Agents that only the steps name. */
  readonly undeclared: ReadonlyMap<string, AgentDef>;
}

function createRegistry({ sections: { value: sections, located }, names }: ReadDocument): Registry {
  const declared = sections.agents?.map(({ id, name }, index) => ({
    id: id ?? name ?? '',
    name: name ?? id ?? '',
    poisoned: isPoisonedName(located('agents', index), 'name'),
  }));
  const undeclared = new Map<string, AgentDef>();
  return {
    undeclared,
    resolve(ref, { name: step, at, report }) {
      if (declared === undefined) {
        if (!undeclared.has(ref.value)) undeclared.set(ref.value, undeclaredAgent(ref.value));
        return ref.value;
      }
      const byName = ref.by === 'id' ? undefined : declared.find((agent) => agent.poisoned || agent.name === ref.value);
      // The agent without a readable name may be the first one of that name.
      if (byName?.poisoned === true) return null;
      const found = byName ?? (ref.by === 'name' ? undefined : declared.find(({ id }) => id === ref.value));
      if (found !== undefined) return found.id;
      if (names.agents.poisoned) return null;
      const message = `unknown agent \`${ref.value}\` on step \`${step}\``;
      report.error('unknown-agent', at(...ref.path), message, { help: helpFor(ref, declared) });
      return null;
    },
  };
}

const AGENT_KEYS = [
  ['ByName', 'name'],
  ['ById', 'id'],
  ['name', 'name'],
  ['id', 'id'],
] as const;

function helpFor(ref: AgentRef, declared: readonly { readonly id: string; readonly name: string }[]): string {
  if (ref.by === 'name' && declared.some(({ id }) => id === ref.value))
    return `An agent has this as its id: write \`agent_id: ${ref.value}\`.`;
  if (ref.by === 'id' && declared.some(({ name }) => name === ref.value))
    return `An agent has this as its name: write \`agent_name: ${ref.value}\`.`;
  const known = { id: ['id'], name: ['name'], either: ['name', 'id'] } as const;
  const words = declared.flatMap((agent) => known[ref.by].map((key) => agent[key]));
  return didYouMean(ref.value, words, 'Declare it under `agents`.');
}

interface Given extends Places {
  readonly raw: RawStep;
  readonly name: string;
  readonly report: Report;
  /** True if the field was written but could not be read, so that nothing can be concluded from it. */
  readonly unclear: (field: 'mode' | 'error_mode') => boolean;
}

interface ReadMode {
  readonly mode: Mode;
  /** Null where it is needed and missing. */
  readonly contains: string | null;
  readonly iterations: number;
}

function modeOf(given: Given): ReadMode {
  const { raw } = given;
  const written = raw.mode ?? 'Sequential';
  const variant =
    typeof written === 'string' ? { key: written, loop: undefined, conditional: undefined } : variantOf(written);
  const mode = sameWord(variant.key, MODES) ?? 'Sequential';
  if (!given.unclear('mode')) warnUnused(given, mode);
  const path = typeof written === 'string' ? [] : ['mode', variant.key];
  switch (mode) {
    case 'Conditional':
      return { mode, contains: needle(given, 'condition', variant.conditional?.condition, path), iterations: 1 };
    case 'Loop': {
      const iterations = only(given, 'max_iterations', raw.max_iterations, variant.loop?.max_iterations, path);
      return {
        mode,
        contains: needle(given, 'until', variant.loop?.until, path),
        iterations: iterations ?? DEFAULTS.iterations,
      };
    }
    default:
      return { mode, contains: '', iterations: 1 };
  }
}

function errorModeOf(given: Given): { readonly mode: ErrorMode; readonly retries: number } | null {
  const { raw } = given;
  const written = raw.error_mode ?? 'Fail';
  if (typeof written === 'string') {
    const mode = sameWord(written, ERROR_MODES) ?? 'Fail';
    if (mode === 'Retry') return { mode, retries: raw.max_retries ?? DEFAULTS.retries };
    if (raw.max_retries !== undefined && !given.unclear('error_mode'))
      unused(given, 'max_retries', 'only `error_mode: retry` repeats a step');
    return { mode, retries: 0 };
  }
  const key = written.Retry === undefined ? 'retry' : 'Retry';
  const retries = only(given, 'max_retries', raw.max_retries, written[key]?.max_retries, ['error_mode', key]);
  return retries === null ? null : { mode: 'Retry', retries: retries ?? DEFAULTS.retries };
}

function promptOf(given: Given): string | null {
  const { raw, report, key, name } = given;
  if (raw.prompt !== undefined && raw.prompt_template !== undefined) {
    report.error('bad-value', key('prompt_template'), `step \`${name}\` has both \`prompt\` and \`prompt_template\``, {
      help: 'Keep one of them.',
    });
    return null;
  }
  return raw.prompt ?? raw.prompt_template ?? DEFAULTS.prompt;
}

/** True if one of the fields is there but faulty or misspelt, which is already reported. */
function wasTried(holder: Located | undefined, fields: readonly string[]): boolean {
  const keys = holder?.kind === 'map' ? [...holder.entries.keys()] : [];
  return keys.some((key) => fields.includes(key) || (!stepKeys().includes(key) && nearest(key, fields) !== undefined));
}

type Variant = Exclude<NonNullable<RawStep['mode']>, string>;

function variantOf(written: Variant) {
  const key = (Object.keys(written)[0] ?? 'Sequential') as keyof Variant;
  return { key, loop: written.Loop ?? written.loop, conditional: written.Conditional ?? written.conditional };
}

/** The text that a condition looks for: one that is empty would be found in everything. */
function needle(given: Given, field: 'condition' | 'until', inner: string | undefined, path: Path): string | null {
  const text = only(given, field, given.raw[field], inner, path);
  if (text === null || (text !== undefined && text !== '')) return text;
  if (text === undefined && wasTried(given.located(...path), [field])) return null;
  const { report, name, at } = given;
  const mode = field === 'until' ? 'Loop' : 'Conditional';
  const [place, message] =
    text === undefined
      ? [at('mode'), `the ${mode} step \`${name}\` needs \`${field}\``]
      : [
          at(...(inner === undefined ? [] : path), field),
          `\`${field}\` of step \`${name}\` is empty, so every output would match`,
        ];
  const example = field === 'until' ? 'DONE' : 'needs_review';
  const help = `Give the text that the output must contain, such as \`${field}: ${example}\`.`;
  report.error('empty-condition', place, message, { help });
  return null;
}

/** The one of two spellings that is used; null where both are. */
function only<Value>(
  { report, key, name }: Given,
  field: string,
  flat: Value | undefined,
  inner: Value | undefined,
  path: Path,
): Value | undefined | null {
  if (flat === undefined || inner === undefined) return flat ?? inner;
  const message = `step \`${name}\` gives \`${field}\` twice: here and in \`${path.join('.')}\``;
  report.error('bad-value', key(field), message, { help: 'Keep one of them.' });
  return null;
}

/** The fields of one mode only. */
const FIELD_MODES = [
  ['condition', 'Conditional'],
  ['until', 'Loop'],
  ['max_iterations', 'Loop'],
] as const;
const CALL_FIELDS = [
  'agent',
  'agent_name',
  'agent_id',
  'prompt',
  'prompt_template',
  'timeout_secs',
  'error_mode',
  'verifier',
] as const;

function warnUnused(given: Given, mode: Mode): void {
  const { raw } = given;
  for (const [field, only] of FIELD_MODES)
    if (mode !== only && raw[field] !== undefined)
      unused(given, field, `only ${only} steps have one, and this one is ${mode}`);
  if (mode !== 'Collect') return;
  for (const field of CALL_FIELDS)
    if (raw[field] !== undefined && !(field === 'agent' && isStoredCollect(raw)))
      unused(given, field, 'Collect joins outputs and calls no agent');
}

/** The source system stores a Collect step with an agent, since its steps must have one. A prompt of its own is a mistake. */
function isStoredCollect({ agent, prompt, prompt_template }: RawStep): boolean {
  const stored = typeof agent === 'object' && ('ByName' in agent || 'ById' in agent);
  return stored && isDefault('prompt', prompt ?? prompt_template ?? '');
}

/** The source system writes out all fields of a step. A field with its default value is ignored. */
const WRITTEN_OUT: Partial<Record<keyof RawStep, readonly unknown[]>> = {
  condition: [''],
  until: [''],
  max_iterations: [DEFAULTS.iterations],
  max_retries: [DEFAULTS.retries],
  timeout_secs: [DEFAULTS.timeoutSecs],
  error_mode: ['fail', 'Fail'],
  prompt: ['', '{{input}}'],
  prompt_template: ['', '{{input}}'],
};

function isDefault(field: keyof RawStep, value: unknown): boolean {
  return WRITTEN_OUT[field]?.includes(value) === true;
}

function unused({ raw, report, key, name }: Given, field: keyof RawStep, why: string): void {
  const message = `\`${field}\` of step \`${name}\` has no effect: ${why}`;
  if (!isDefault(field, raw[field])) report.warning('unused-field', key(field), message, { help: 'Leave it out.' });
}

function sameWord<Word extends string>(written: string, words: readonly Word[]): Word | undefined {
  const fold = (word: string): string => word.replaceAll('_', '').toLowerCase();
  return words.find((word) => fold(word) === fold(written));
}
