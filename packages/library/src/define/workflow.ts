/** `workflow`: steps one after another as a value. Every step is text in, text out. */
import { present } from '@sluice-internal/kernel/expr';
import { SluiceError } from '@sluice-internal/engine/ports';
import type { Agent } from './agent.ts';
import { Parts, sectionsOf, withoutSettings, type Definition, type FreeName, type Settings } from './definition.ts';
import { reference, textParts, type Expression } from './expression.ts';

/** The output of the step before, and the outputs of all earlier steps by name. */
type Outputs<Names extends string> = { readonly [Name in Names | 'input']: Expression<string> };
type Prompt<Names extends string> = (outputs: Outputs<Names>) => Expression<string> | string;

interface StepOptions<Name extends string> {
  /** The name of the step. Default: the id of the agent. */
  readonly as?: Name | undefined;
  /** Seconds for one attempt of the step. Default 120. */
  readonly timeout?: number | undefined;
  /** Default `fail`. */
  readonly onError?: 'fail' | 'skip' | { readonly retries: number } | undefined;
}

/**
 * A workflow that further steps can be added to. It can be run as it is.
 * @example
 * const letters = workflow('letters').step(agent('writer', { instructions: 'Write.' }));
 * console.log(letters.document);
 */
export interface Workflow<Names extends string> extends Definition<
  string,
  string,
  { readonly [node: string]: string }
> {
  /** @example workflow('page').step(writer, ({ input }) => text`Write about: ${input}`) */
  step<Member extends Agent, const Name extends string = Member['id']>(
    this: FreeName<Name, Names | 'input'>,
    agent: Member,
    prompt?: Prompt<Names>,
    options?: StepOptions<Name>,
  ): Workflow<Names | Name>;
  /** Runs only if the last output contains a text. */
  when<Member extends Agent, const Name extends string = Member['id']>(
    this: FreeName<Name, Names | 'input'>,
    contains: string,
    agent: Member,
    prompt?: Prompt<Names>,
    options?: StepOptions<Name>,
  ): Workflow<Names | Name>;
  /** Runs again and again until the output contains a text, at most `max` times. */
  repeat<Member extends Agent, const Name extends string = Member['id']>(
    this: FreeName<Name, Names | 'input'>,
    agent: Member,
    options: StepOptions<Name> & {
      readonly until: string;
      readonly max?: number | undefined;
      readonly prompt?: Prompt<Names> | undefined;
    },
  ): Workflow<Names | Name>;
  /** Runs agents at the same time and joins their outputs. */
  gather<const Members extends readonly Agent[]>(
    this: FreeName<Members[number]['id'], Names | 'input'>,
    agents: Members,
    prompt?: Prompt<Names>,
  ): Workflow<Names | Members[number]['id']>;
}

/**
 * Begins a workflow.
 * @example
 * const page = workflow('page').step(writer, ({ input }) => text`Write about: ${input}`).step(editor);
 */
export function beginWorkflow(id: string, settings: Settings = {}): Workflow<never> {
  return new Builder(id, settings, []);
}

interface Draft {
  readonly agent: Agent | null;
  readonly name: string;
  readonly reads: readonly string[];
  readonly fields: { readonly [field: string]: unknown };
}
type AnyPrompt = Prompt<string>;

class Builder {
  readonly id: string;
  readonly input = undefined;
  readonly #settings: Settings;
  readonly #drafts: readonly Draft[];

  constructor(id: string, settings: Settings, drafts: readonly Draft[]) {
    this.id = id;
    this.#settings = settings;
    this.#drafts = drafts;
  }

  get tools() {
    return this.#parts().implementations();
  }

  get document(): { readonly [key: string]: unknown } {
    const { description } = this.#settings;
    const read = new Set(this.#drafts.flatMap(({ reads }) => reads));
    const steps = this.#drafts.map(({ agent, name, fields }) => ({
      name,
      ...(agent === null ? {} : { agent: { id: agent.id } }),
      ...fields,
      ...(read.has(name) ? { output_var: name } : {}),
    }));
    return {
      ...this.#parts().sections(),
      ...sectionsOf(this.#settings),
      workflow: present({ id: this.id, description, steps, ...withoutSettings(this.#settings) }),
    };
  }

  step(agent: Agent, prompt?: AnyPrompt, options: StepOptions<string> = {}): Builder {
    return this.#add(agent, prompt, options, {});
  }

  when(contains: string, agent: Agent, prompt?: AnyPrompt, options: StepOptions<string> = {}): Builder {
    return this.#add(agent, prompt, options, { mode: 'conditional', condition: contains });
  }

  repeat(
    agent: Agent,
    { until, max, prompt, ...options }: StepOptions<string> & { until: string; max?: number; prompt?: AnyPrompt },
  ): Builder {
    return this.#add(agent, prompt, options, { mode: 'loop', until, max_iterations: max });
  }

  gather(agents: readonly Agent[], prompt?: AnyPrompt): Builder {
    const known = this.#drafts;
    const branches = agents.reduce<Builder>(
      (before, agent) => before.#add(agent, prompt, {}, { mode: 'fan_out' }, known),
      this,
    );
    const collect = { agent: null, name: `collect_${known.length}`, reads: [], fields: { mode: 'collect' } };
    return new Builder(this.id, this.#settings, [...branches.#drafts, collect]);
  }

  #add(
    agent: Agent,
    prompt: AnyPrompt | undefined,
    { as: name = agent.id, timeout, onError, ...rest }: StepOptions<string>,
    mode: { readonly [field: string]: unknown },
    known: readonly Draft[] = this.#drafts,
  ): Builder {
    if (this.#drafts.some((draft) => draft.name === name) || name === 'input')
      throw new SluiceError('bad-definition', `there is already a step \`${name}\``, 'Name the step with `{ as: … }`.');
    const { text, reads } = prompt === undefined ? { text: undefined, reads: [] } : written(prompt, known, name);
    const fields = present({
      prompt: text,
      ...mode,
      timeout_secs: timeout,
      ...(onError && errorFields(onError)),
      ...rest,
    });
    return new Builder(this.id, this.#settings, [...this.#drafts, { agent, name, reads, fields }]);
  }

  #parts(): Parts {
    const parts = new Parts();
    for (const { agent } of this.#drafts) if (agent !== null) parts.addAgent(agent);
    return parts;
  }
}

function errorFields(onError: NonNullable<StepOptions<string>['onError']>): { readonly [field: string]: unknown } {
  return typeof onError === 'string' ? { error_mode: onError } : { error_mode: 'retry', max_retries: onError.retries };
}

/** A prompt as a template, and the names that it reads. Only names can stand in it. */
function written(
  prompt: AnyPrompt,
  known: readonly Draft[],
  about: string,
): { readonly text: string; readonly reads: readonly string[] } {
  const names = new Set(['input', ...known.map(({ name }) => name)]);
  const scope = Object.fromEntries([...names].map((name) => [name, reference<string>(name)]));
  const parts = textParts(prompt(scope), `the step \`${about}\``);
  refuseBraces(parts, names);
  const reads: string[] = [];
  const texts = parts.map((part) => {
    if (typeof part === 'string') return part;
    if (!names.has(part.expr))
      throw new SluiceError(
        'not-recorded',
        `a prompt of a workflow cannot compute \`${part.expr}\``,
        'Use a `flow`, or the text as it is.',
      );
    if (part.expr !== 'input') reads.push(part.expr);
    return `{{${part.expr}}}`;
  });
  return { text: texts.join(''), reads };
}

/** A name in braces that is only text would be replaced, and a workflow has no other way to write it. */
function refuseBraces(parts: ReturnType<typeof textParts>, names: ReadonlySet<string>): void {
  const plain = parts.map((part) => (typeof part === 'string' ? part : ' ')).join('');
  for (const [written, name = ''] of plain.matchAll(/\{\{([^{}]*)\}\}/g))
    if (names.has(name.trim()))
      throw new SluiceError(
        'not-recorded',
        `a prompt of a workflow cannot have \`${written}\` as text`,
        'Use a `flow`, or write the braces in another way.',
      );
}
