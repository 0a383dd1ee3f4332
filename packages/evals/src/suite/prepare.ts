/** Turns the cases of a suite into runs: every combination of model, prompt, seed, fault plan and repetition. */
import { RISKY } from '@sluice-internal/kernel/ir';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import {
  compileAs,
  compileFile,
  failedCompile,
  flowIn,
  loadScript,
  requireFlow,
  usage,
} from '@sluice-internal/library/documents';
import type { CompiledFile } from '@sluice-internal/library/documents';
import { callsOf, isScripted } from '@sluice-internal/library/host';
import type { Script } from '@sluice-internal/library/host';
import { isRecord, present } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { faultName } from './faults.ts';
import type { PreparedCase, Variant } from './modes.ts';
import type { FaultPlan, Mode, Suite, SuiteCase } from './schema.ts';

export interface PrepareOptions {
  readonly suite: Suite;
  /** The folder of the suite. */
  readonly dir: string;
  /** Only cases with one of these tags; all if empty. */
  readonly tags: readonly string[];
  /** The model of `--model`. */
  readonly model?: string;
}

export async function prepareSuite(options: PrepareOptions) {
  const { suite, dir, tags } = options;
  const file = join(dir, suite.flow);
  const chosen = (suite.cases ?? []).filter(
    (each) => tags.length === 0 || each.tags?.some((tag) => tags.includes(tag)) === true,
  );
  const variants = new Map<string, Variant>();
  const variantOf = async (model: string | undefined, prompts: Prompts | undefined): Promise<Variant> => {
    const key = JSON.stringify([model, prompts]);
    const known = variants.get(key) ?? (await compileVariant(file, model, prompts));
    variants.set(key, known);
    return known;
  };
  const main = await variantOf(options.model, undefined);
  const cases: PreparedCase[] = [];
  for (const given of chosen)
    for (const combination of combinationsOf(suite, given, options.model)) {
      const variant = await variantOf(combination.model, combination.prompts);
      cases.push(...preparedCases(options, given, combination, variant));
    }
  return { flow: main.flow, cases };
}

type Prompts = { readonly [agent: string]: string };
interface Combination {
  readonly label: string;
  readonly model: string | undefined;
  readonly prompts: Prompts | undefined;
  readonly seed: number;
  readonly fault: FaultPlan | undefined;
  /** False for a repetition. */
  readonly first: boolean;
}

function combinationsOf(
  { matrix = {}, repeat = 1 }: Suite,
  given: SuiteCase,
  model: string | undefined,
): readonly Combination[] {
  const models = matrix.models?.map((each) => ({ model: each, label: each })) ?? [
    { model: given.model ?? model, label: '' },
  ];
  const prompts = Object.entries(matrix.prompts ?? {}).map(([label, each]) => ({
    prompts: each as Prompts | undefined,
    label,
  }));
  const seeds = matrix.seeds?.map((seed) => ({ seed, label: `seed ${seed}` })) ?? [
    { seed: given.seed ?? 1, label: '' },
  ];
  const faults = [
    { fault: undefined as FaultPlan | undefined, label: '' },
    ...(matrix.faults ?? []).map((fault) => ({ fault, label: faultName(fault) })),
  ];
  const times = given.repeat ?? repeat;
  return models.flatMap((m) =>
    (prompts.length === 0 ? [{ prompts: undefined, label: '' }] : prompts).flatMap((p) =>
      seeds.flatMap((s) =>
        faults.flatMap((f) =>
          Array.from({ length: times }, (_, index) => {
            const parts = [m.label, p.label, s.label, f.label].filter((label) => label !== '');
            const label = `${parts.length === 0 ? '' : ` [${parts.join(', ')}]`}${times === 1 ? '' : ` (${index + 1} of ${times})`}`;
            return {
              label,
              model: m.model,
              prompts: p.prompts,
              seed: s.seed + index,
              fault: f.fault,
              first: index === 0,
            };
          }),
        ),
      ),
    ),
  );
}

function preparedCases(
  { suite, dir }: PrepareOptions,
  given: SuiteCase,
  combination: Combination,
  variant: Variant,
): readonly PreparedCase[] {
  const { label, seed, fault, model } = combination;
  const script = scriptOf(given.script ?? suite.script, dir, variant.flow);
  const isReal = model !== undefined && !isFullyScripted(script, variant.flow);
  const run = {
    flow: variant.flow,
    input: inputOf(given.input, variant.flow.notation),
    script: script ?? (isReal ? undefined : {}),
    seed,
    documentDir: dirname(join(dir, suite.flow)),
    tools: variant.tools,
    ...(isReal ? { models: { model } } : {}),
    ...(given.recorded === true ? { recorded: true } : {}),
  };
  // The other modes have faults and variations of their own.
  const isPlain = combination.first && fault === undefined;
  const modes = (suite.modes ?? ['golden']).filter((mode) => isPlain || mode === 'golden');
  requireScripted(given.name, modes, variant, script);
  return modes.map((mode: Mode) => ({
    name: `${given.name}${label}`,
    mode,
    tags: given.tags ?? [],
    given,
    run,
    variant,
    ...present({ fault }),
  }));
}

/** True if the script replies for every agent. Otherwise the others run on the model, as with `sluice run --script --model`. */
function isFullyScripted(script: Script | undefined, flow: CompiledFlow): boolean {
  return (
    script !== undefined && [...callsOf(flow)].every((call) => call.kind !== 'model' || isScripted(script, flow, call))
  );
}

/** A mode that repeats a run must not pay, write to people or change machines each time. */
function requireScripted(name: string, modes: readonly Mode[], variant: Variant, script: Script | undefined): void {
  const repeating = modes.find((mode) => mode !== 'golden' && mode !== 'replay');
  if (repeating === undefined) return;
  for (const [tool, { effect, implementation }] of Object.entries(variant.flow.tools)) {
    const isReal = implementation !== null || Object.hasOwn(variant.tools, tool);
    if (!RISKY.has(effect) || !isReal || Object.hasOwn(script?.tools ?? {}, tool)) continue;
    throw usage(
      `the mode \`${repeating}\` would really call \`${tool}\` (${effect}) many times: the script of case \`${name}\` does not name it`,
      `Give its results under \`tools\` of the script, or leave out the mode.`,
    );
  }
}

function inputOf(input: Json | undefined, notation: string): Json {
  if (notation === 'flow') return input === undefined ? {} : typeof input === 'string' ? { message: input } : input;
  return input === undefined ? '' : typeof input === 'string' ? input : JSON.stringify(input);
}

function scriptOf(given: SuiteCase['script'], dir: string, flow: CompiledFlow): Script | undefined {
  return typeof given === 'string' ? loadScript(join(dir, given), flow) : given;
}

async function compileVariant(file: string, model: string | undefined, prompts: Prompts = {}): Promise<Variant> {
  const plain = await compileFile(file, model);
  requireFlow(plain);
  const source = sourceOf(plain);
  const document = source === null ? null : withPrompts(source, prompts);
  const hasPrompts = Object.keys(prompts).length > 0 && document !== null;
  const compiled = hasPrompts ? compileText(file, JSON.stringify(document), model) : plain;
  const flow = requireFlow(compiled);
  const { bounds } = compiled.result;
  if (bounds === undefined) throw failedCompile(compiled);
  for (const [agent, prompt] of Object.entries(prompts))
    if (agent in flow.agents && flow.agents[agent]?.instructions.includes(prompt) !== true)
      throw promptNotUsed(file, agent);
  const known = new Map<string, Budgeted>();
  const withBudget: Variant['withBudget'] = (key, amount) => {
    if (document === null) return { flow: null, codes: ['the module exports no document'] };
    const budgets = isRecord(document['budgets']) ? document['budgets'] : {};
    const changed = JSON.stringify({ ...document, budgets: { ...budgets, [key]: amount } });
    const budgeted = known.get(changed) ?? compileBudgeted(file, changed, model);
    if (changed.length <= KEPT_CHARS_MAX) known.set(changed, budgeted);
    return budgeted;
  };
  return { flow, bounds, tools: plain.definition?.tools ?? {}, withBudget };
}

type Budgeted = ReturnType<Variant['withBudget']>;
/** The cases of a suite use the same budgets. The flows of longer documents are compiled again, since they need much memory. */
const KEPT_CHARS_MAX = 20_000;

function compileBudgeted(file: string, text: string, model: string | undefined): Budgeted {
  const compiled = compileText(file, text, model);
  const errors = compiled.result.diagnostics.filter(({ severity }) => severity === 'error');
  return { flow: flowIn(compiled), codes: errors.map(({ code }) => code) };
}

/** The document as a value; null for a module that exports something else. */
function sourceOf({ text, document }: CompiledFile): Document | null {
  const parsed = text === undefined ? (JSON.parse(JSON.stringify(document ?? null)) as Json) : (parse(text) as Json);
  return isRecord(parsed) ? parsed : null;
}

function promptNotUsed(file: string, agent: string): Error {
  return usage(
    `the instructions of agent \`${agent}\` cannot be replaced in \`${file}\``,
    'Give the agent `instructions` in the list `agents` of the document.',
  );
}

/** A changed document in the place of the file. */
function compileText(file: string, text: string, model: string | undefined): CompiledFile {
  return { file, text, result: compileAs(file, text, model) };
}

type Document = { readonly [key: string]: Json };

/** Replaces the instructions of agents, in the list of the document or of a team. */
function withPrompts(document: Document, prompts: Prompts): Document {
  const replaced = (agent: Json): Json => {
    if (!isRecord(agent)) return agent;
    const lower = prompts[String(agent['id'] ?? agent['name'] ?? '')];
    if (lower !== undefined) return { ...agent, instructions: lower };
    const upper = prompts[String(agent['Name'] ?? '')];
    return upper === undefined ? agent : { ...agent, Instructions: upper };
  };
  const visit = (value: Json, key: string): Json => {
    if (Array.isArray(value)) return key === 'agents' || key === 'Agents' ? value.map(replaced) : value;
    return isRecord(value)
      ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, visit(each, name)]))
      : value;
  };
  return visit(document, '') as Document;
}
