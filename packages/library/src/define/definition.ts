/** A definition of a run: a document with the functions that implement its tools, and with the types of input and output. */
import { present } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Written, WrittenSections } from '@sluice-internal/compile/document';
import { SluiceError } from '@sluice-internal/engine/ports';
import type { ToolFunction } from '@sluice-internal/tools/calls';
import type { Agent } from './agent.ts';
import { budgetsOf, type Budgets } from './budgets.ts';
import { validate, type StandardSchema } from './schema.ts';
import type { AnyTool } from './tool.ts';

declare const TYPES: unique symbol;

/** The names of the questions of a flow, with the choices of each. */
export type Questions = { readonly [node: string]: string };

/**
 * Something that `engine.run` can run. `flow`, `team`, `loop` and `workflow` give one.
 * @example
 * const { flow: compiled, diagnostics } = compile(refunds.document);
 */
export interface Definition<Input = never, Output = unknown, Asked extends Questions = Questions> {
  readonly id: string;
  /** The document that the same definition in YAML has. */
  readonly document: { readonly [key: string]: unknown };
  /** The implementations of the tools, by name. */
  readonly tools: { readonly [name: string]: ToolFunction };
  /** The schema of the input. */
  readonly input: StandardSchema | undefined;
  /** Exists in types only. */
  readonly [TYPES]?: { readonly input: (input: Input) => void; readonly output: Output; readonly questions: Asked };
}
export type AnyDefinition = Definition;

export function isDefinition(given: unknown): given is AnyDefinition {
  return typeof given === 'object' && given !== null && 'document' in given && 'tools' in given;
}

/**
 * The type of the input that a definition takes.
 * @example
 * const input: InputFor<typeof refunds> = { message: 'money back' };
 */
export type InputFor<Defined> = Defined extends Definition<infer Input, infer _Output, infer _Asked> ? Input : never;
/**
 * The type of the output of a definition.
 * @example
 * type Paid = OutputFor<typeof refunds>;
 */
export type OutputFor<Defined> = Defined extends { readonly [TYPES]?: { readonly output: infer Output } }
  ? Output
  : unknown;
/**
 * The questions of a definition.
 * @example
 * type Choice = QuestionsFor<typeof refunds>['gate'];
 */
export type QuestionsFor<Defined> = Defined extends { readonly [TYPES]?: { readonly questions: infer Asked } }
  ? Asked
  : Questions;

/** A step needs a name of its own: give it one with `{ as: … }`. */
interface NameTaken<Name extends string> {
  readonly 'the name is taken: give the step another one with { as: … }': Name;
}
/** The type of `this` of a method that adds steps. A name that is taken makes the call a type error. */
export type UnlessTaken<Taken extends string> = [Taken] extends [never] ? unknown : NameTaken<Taken>;
export type FreeName<Name extends string, Names extends string> = UnlessTaken<InBoth<Name, Names>>;
/** Names that are not known when the types are checked are left to the check at run time. */
export type InBoth<Name extends string, Names extends string> = string extends Names ? never : Extract<Name, Names>;

/** The input after validation. */
export async function checkedInput({ id, input }: AnyDefinition, given: unknown): Promise<Json> {
  if (input === undefined) return given as Json;
  const result = await validate(input, given);
  if (result.problem === undefined) return result.value as Json;
  throw new SluiceError(
    'bad-start',
    `the input of \`${id}\` does not fit its schema: ${result.problem}`,
    'Pass an input that fits the schema.',
  );
}

/**
 * Sections of a document that every definition can have.
 * @example
 * const settings: Settings = { budgets: { modelCalls: 5 }, pii: { mode: 'tokenize' } };
 */
export interface Settings extends Pick<Written<WrittenSections>, (typeof SECTIONS)[number]> {
  readonly description?: string | undefined;
  readonly budgets?: Budgets | undefined;
}

/** The sections of a document that settings of every notation have. */
const SECTIONS = [
  'models',
  'boundary',
  'policies',
  'protections',
  'pii',
  'retain',
  'people',
  'notify',
  'review_queue',
  'mcp',
] as const;

/** The options of a definition that are not settings. */
export function withoutSettings<Options extends Settings>(options: Options): Omit<Options, keyof Settings> {
  const entries = Object.entries(options).filter(([name]) => !SETTINGS.has(name));
  return Object.fromEntries(entries) as Omit<Options, keyof Settings>;
}
const SETTINGS: ReadonlySet<string> = new Set(['description', 'budgets', ...SECTIONS]);

/** The sections that settings become. */
export function sectionsOf(settings: Settings): { readonly [key: string]: unknown } {
  const { budgets } = settings;
  const sections = Object.fromEntries(SECTIONS.map((name) => [name, settings[name]]));
  return present({ ...sections, budgets: budgets && budgetsOf(budgets) });
}

/** Collects the agents and tools that a definition uses, each once. */
export class Parts {
  readonly #agents = new Map<string, Agent>();
  readonly #tools = new Map<string, AnyTool>();

  add(part: Agent | AnyTool): void {
    if (part.kind === 'agent') this.addAgent(part);
    else this.addTool(part);
  }

  addAgent(agent: Agent): void {
    const known = this.#agents.get(agent.id);
    if (known === agent) return;
    if (known !== undefined) throw duplicate('agents', agent.id);
    this.#agents.set(agent.id, agent);
    for (const tool of agent.tools) this.addTool(tool);
  }

  addTool(tool: AnyTool): void {
    const known = this.#tools.get(tool.name);
    if (known === tool) return;
    if (known !== undefined) throw duplicate('tools', tool.name);
    this.#tools.set(tool.name, tool);
    if (tool.compensate !== undefined) this.addTool(tool.compensate);
  }

  /** The sections `agents` and `tools`. */
  sections(): { readonly [key: string]: unknown } {
    const agents = [...this.#agents.values()].map(({ definition }) => definition);
    return { ...(agents.length === 0 ? {} : { agents }), ...this.toolSection() };
  }

  toolSection(): { readonly [key: string]: unknown } {
    if (this.#tools.size === 0) return {};
    return { tools: Object.fromEntries([...this.#tools].map(([name, { definition }]) => [name, definition])) };
  }

  implementations(): { readonly [name: string]: ToolFunction } {
    const given = [...this.#tools].flatMap(([name, { run }]) => (run === undefined ? [] : [[name, run] as const]));
    return Object.fromEntries(given);
  }
}

function duplicate(kind: string, name: string): SluiceError {
  return new SluiceError(
    'bad-definition',
    `two different ${kind} are called \`${name}\``,
    'Give one of them another name.',
  );
}
