/** `flow`: a graph of steps as a value. It becomes the document that YAML would have, with the same hash. */
import { didYouMean } from '@sluice-internal/compile/source';
import { present } from '@sluice-internal/kernel/expr';
import { SluiceError } from '@sluice-internal/engine/ports';
import type { Agent } from './agent.ts';
import { Parts, sectionsOf, withoutSettings, type Settings } from './definition.ts';
import { conditionOf, isExpression, recording, reference, templateOf } from './expression.ts';
import type { ApproveOptions, Flow, MapOptions, NodeOptions, ParallelOptions } from './flow-types.ts';
import { EMPTY, addNode, canSplit, connect, errorSlots, freeName, nodesOf, split, withFields } from './graph.ts';
import type { Graph, ReservedName } from './graph.ts';
import type { InputOf, OutputOf, StandardSchema } from './schema.ts';
import type { AnyTool } from './tool.ts';

export interface FlowOptions<Input> extends Settings {
  /** The schema of the input. */
  readonly input?: Input | undefined;
  /** The most node visits of one run. */
  readonly maxIterations?: number | undefined;
}

/** The input types of a schema; any object without one. */
export interface IoOf<Schema> {
  readonly given: Schema extends StandardSchema ? InputOf<Schema> : { readonly [field: string]: unknown };
  readonly payload: Schema extends StandardSchema ? OutputOf<Schema> : { readonly [field: string]: unknown };
}

/**
 * Begins a flow.
 * @example
 * const refunds = flow('refunds', { input: z.object({ message: z.string() }), budgets: { modelCalls: 5 } })
 *   .step(triage, ({ input }) => input.message)
 *   .when(({ triage }) => triage.kind.eq('refund'), (f) => f
 *     .approve('gate', ({ triage }) => text`Refund ${triage.amount}?`)
 *     .step(refund, ({ triage }) => ({ order: triage.order, amount: triage.amount })));
 */
export function beginFlow<Input extends StandardSchema | undefined = undefined>(
  id: string,
  options: FlowOptions<Input> = {},
): Flow<IoOf<Input>, {}, {}, IoOf<Input>['payload'], never, ReservedName> {
  const builder = new Builder({ id, options, graph: EMPTY, used: [] });
  return builder as unknown as Flow<IoOf<Input>, {}, {}, IoOf<Input>['payload'], never, ReservedName>;
}

interface Written {
  readonly id: string;
  readonly options: FlowOptions<StandardSchema | undefined>;
  readonly graph: Graph;
  readonly used: readonly (Agent | AnyTool)[];
}
type Build = (builder: Builder, ...more: unknown[]) => Builder;
type FromScope = (scope: object) => unknown;
type Fields = { readonly [field: string]: unknown };

interface StepSettings extends NodeOptions {
  readonly as?: string | undefined;
  readonly onError?: Build | undefined;
}

/** The types are in `Flow`. Here every argument is checked again, because callers may write JavaScript. */
class Builder {
  readonly #written: Written;
  #document: { readonly [key: string]: unknown } | null = null;

  constructor(written: Written) {
    this.#written = written;
  }

  get id(): string {
    return this.#written.id;
  }
  get input(): StandardSchema | undefined {
    return this.#written.options.input;
  }
  get tools() {
    return this.#parts().implementations();
  }
  get document(): { readonly [key: string]: unknown } {
    const { id, options, graph } = this.#written;
    // A name that is not an option is not in the schema of a flow either, so the compiler reports it.
    const { input: _, maxIterations, ...others } = withoutSettings(options);
    return (this.#document ??= {
      ...this.#parts().sections(),
      ...sectionsOf(options),
      flow: present({
        id,
        entry: graph.entry ?? '',
        description: options.description,
        max_iterations: maxIterations,
        nodes: nodesOf(graph),
        ...others,
      }),
    });
  }

  step(step: Agent | AnyTool, argument?: FromScope, { as, onError, ...options }: StepSettings = {}): Builder {
    const id = as ?? (step.kind === 'agent' ? step.id : (step.name.split('.').at(-1) ?? step.name));
    const given = argument === undefined ? undefined : this.#record(argument, `the step \`${id}\``);
    if (step.kind === 'tool' && given?.isText === true)
      throw new SluiceError(
        'bad-definition',
        `the arguments of \`${id}\` must be an object`,
        'Write `({ input }) => ({ name: input.name })`.',
      );
    const fields =
      step.kind === 'agent'
        ? { type: 'agent', agent: step.id, ...(given === undefined ? {} : { input: promptOf(given) }) }
        : { type: 'tool', tool: step.name, ...(given === undefined ? {} : { params: given.value }) };
    const path = step.kind === 'agent' ? `${id}.output` : `${id}.result`;
    const added = this.#with(
      addNode(this.#written.graph, {
        id,
        fields: { ...fields, ...commonFields(options) },
        path,
        catches: onError !== undefined,
      }),
      step,
    );
    if (onError === undefined) return added;
    const { graph } = added.#written;
    const handled = call(onError, added.#at(errorSlots(graph, id)), reference('error'));
    return handled.#at([...graph.open, ...handled.#written.graph.open]);
  }

  when(condition: FromScope, then: Build, otherwise?: Build): Builder {
    const text = this.#condition(condition, 'a condition');
    const ready = canSplit(this.#written.graph) ? this : this.#decide(text);
    const { graph, met, unmet } = ready === this ? split(this.#written.graph, text) : halves(ready.#written.graph);
    const first = call(then, ready.#with(graph).#at(met));
    const second = otherwise === undefined ? first.#at(unmet) : call(otherwise, first.#at(unmet));
    return second.#at([...first.#written.graph.open, ...second.#written.graph.open]);
  }

  approve(name: string, message: FromScope, options: ApproveOptions<readonly string[]> = {}): Builder {
    const { onTimeout, choices, ...rest } = options;
    const given = this.#record(message, `the question \`${name}\``).value;
    const text = typeof given === 'string' ? given : JSON.stringify(given);
    const fields = present({ type: 'approval', message: text, choices, ...rest, on_timeout: onTimeout });
    const approved = [{ when: `approvals.${name} == 'approve'` }, { ends: true }];
    const routes = choices === undefined ? { routes: approved } : {};
    return this.#with(addNode(this.#written.graph, { id: name, fields, path: `approvals.${name}`, ...routes }));
  }

  set(name: string, values: FromScope): Builder {
    const given = this.#record(values, `\`${name}\``).value;
    return this.#with(addNode(this.#written.graph, { id: name, fields: { type: 'set', values: given }, path: name }));
  }

  map(
    name: string,
    over: FromScope,
    each: Build,
    { onItemError, maxItems, as = 'item', ...rest }: MapOptions = {},
  ): Builder {
    const list = this.#record(over, `\`${name}\``).value;
    const fields = present({
      type: 'map',
      over: list,
      as: as === 'item' ? undefined : as,
      max_items: maxItems,
      on_item_error: onItemError,
      ...rest,
    });
    const added = this.#with(addNode(this.#written.graph, { id: name, fields, path: `${name}.results` }));
    const [head, body] = added.#seeing(this).#apart(name, each, reference(as), reference(`${as}_index`));
    const { open, entry, paths } = added.#written.graph;
    return body.#with({ ...withFields(body.#written.graph, name, { do: head }), open, entry, paths });
  }

  parallel(name: string, branches: readonly Build[], { join, timeout, ...rest }: ParallelOptions = {}): Builder {
    const kind = typeof join === 'number' ? { type: 'count', count: join } : { type: join };
    const joined = present({ ...kind, timeout });
    const fields = { type: 'parallel', ...(Object.keys(joined).length === 0 ? {} : { join: joined }), ...rest };
    const added = this.#with(addNode(this.#written.graph, { id: name, fields }));
    const { open, entry } = added.#written.graph;
    const heads: { readonly to: string }[] = [];
    const paths = new Map(this.#written.graph.paths);
    let all: Builder = added;
    for (const branch of branches) {
      // A branch sees nothing of the other branches.
      const [head, built] = all.#seeing(this).#apart(name, branch);
      heads.push({ to: head });
      for (const [step, path] of built.#written.graph.paths) paths.set(step, path);
      all = built;
    }
    return all.#with({ ...withFields(all.#written.graph, name, { branches: heads }), open, entry, paths });
  }

  repeat(body: Build, { until, max }: { readonly until: FromScope; readonly max: number }): Builder {
    const before = this.#written.graph;
    const [head, built] = this.#apart('repeat', body);
    const condition = built.#condition(until, '`until`');
    const { graph, met, unmet } = split(withFields(built.#written.graph, head, { max_visits: max }), condition);
    const looped = connect(connect(graph, unmet, head), before.open, head);
    return built.#with({ ...looped, entry: before.entry ?? head, open: met });
  }

  output(value: FromScope, { as = freeName(this.#written.graph, 'output') }: { readonly as?: string } = {}): Builder {
    const output = this.#record(value, '`output`').value;
    return this.#with(addNode(this.#written.graph, { id: as, fields: { type: 'terminal', output }, routes: [] }));
  }

  fail(
    code: string,
    message: string | FromScope,
    { as = freeName(this.#written.graph, 'fail') }: { readonly as?: string } = {},
  ): Builder {
    const given = typeof message === 'string' ? templateOf(message, '`fail`') : this.#record(message, '`fail`').value;
    return this.#with(
      addNode(this.#written.graph, { id: as, fields: { type: 'fail', code, message: given }, routes: [] }),
    );
  }

  /** A decision to begin with: there is no step yet whose routes could have the condition. */
  #decide(condition: string): Builder {
    const id = freeName(this.#written.graph, 'when');
    const fields = { type: 'decision', expr: condition };
    return this.#with(addNode(this.#written.graph, { id, fields, routes: [{ when: true }, {}] }));
  }

  /** Builds steps that begin on their own. Returns their first node. */
  #apart(name: string, build: Build, ...more: readonly unknown[]): readonly [string, Builder] {
    const built = call(build, this.#with({ ...this.#written.graph, entry: null, open: [] }), ...more);
    const { entry } = built.#written.graph;
    if (entry === null)
      throw new SluiceError('not-recorded', `\`${name}\` has a part without steps`, 'Add a step to it.');
    return [entry, built];
  }

  #record(argument: FromScope, about: string): Recorded {
    if (typeof argument !== 'function')
      throw new SluiceError(
        'not-recorded',
        `${about} needs a function of the results so far`,
        'Write `({ input }) => …`.',
      );
    return recording(about, () => {
      const given = argument(this.#scope());
      return { isText: isExpression(given) || typeof given === 'string', value: templateOf(given, about) };
    });
  }

  #condition(condition: FromScope, about: string): string {
    return recording(about, () => conditionOf(condition(this.#scope()), about));
  }

  /** References to the input and to every result so far. Another name throws. */
  #scope(): object {
    const { paths } = this.#written.graph;
    const names = ['input', ...paths.keys()];
    return new Proxy(Object.freeze({}), {
      get: (_, name) => {
        if (typeof name === 'symbol') return undefined;
        if (name === 'input') return reference('event.payload');
        const path = paths.get(name);
        if (path !== undefined) return reference(path);
        const help = didYouMean(name, names, `There are ${names.join(', ')}.`);
        throw new SluiceError('not-recorded', `no earlier step is called \`${name}\``, help);
      },
    });
  }

  #with(graph: Graph, ...used: readonly (Agent | AnyTool)[]): Builder {
    return new Builder({ ...this.#written, graph, used: [...this.#written.used, ...used] });
  }

  /** The same graph with the results that another builder can read. */
  #seeing(other: Builder): Builder {
    return this.#with({ ...this.#written.graph, paths: other.#written.graph.paths });
  }

  #at(open: readonly number[]): Builder {
    return this.#with({ ...this.#written.graph, open: [...new Set(open)] });
  }

  #parts(): Parts {
    const parts = new Parts();
    for (const used of this.#written.used) parts.add(used);
    return parts;
  }
}

interface Recorded {
  readonly isText: boolean;
  readonly value: unknown;
}

/** A text is the task of the agent. An object is passed as it is. */
function promptOf({ isText, value }: Recorded): unknown {
  return isText ? { task: value } : value;
}

function commonFields({ retry, ...rest }: NodeOptions): Fields {
  if (retry === undefined) return rest;
  const { maxAttempts, backoffMs, maxBackoffMs, ...same } = retry;
  return {
    ...rest,
    retry: present({ max_attempts: maxAttempts, backoff_ms: backoffMs, max_backoff_ms: maxBackoffMs, ...same }),
  };
}

/** The two routes of a decision. */
function halves(graph: Graph): {
  readonly graph: Graph;
  readonly met: readonly number[];
  readonly unmet: readonly number[];
} {
  const [met, unmet] = graph.open;
  return { graph, met: met === undefined ? [] : [met], unmet: unmet === undefined ? [] : [unmet] };
}

function call(build: Build, builder: Builder, ...more: readonly unknown[]): Builder {
  const built = build(builder, ...more);
  if (built instanceof Builder) return built;
  throw new SluiceError(
    'not-recorded',
    'a part of a flow must return the flow that it was given',
    'Write `(f) => f.step(…)`.',
  );
}
