/** The engine as a program makes it: a journal, and who performs what. Everything else has a default. */
import { functionPerformer } from '../../effects/functions/performer.ts';
import type { ModelFunction, ToolFunction } from '../../effects/functions/performer.ts';
import { modelPerformer } from '../../effects/models/performer.ts';
import type { ModelPerformerOptions } from '../../effects/models/performer.ts';
import { priceOf } from '../../effects/models/prices.ts';
import { isPolicyCheck, policyPerformer } from '../../effects/policy/performer.ts';
import { scriptedPerformer } from '../../effects/scripted/performer.ts';
import type { Script } from '../../effects/scripted/script.ts';
import { openStore } from '../../stores/open-store.ts';
import { withPii } from '../../effects/pii/pipeline.ts';
import type { PiiPipelines } from '../../effects/pii/pipeline.ts';
import { createVirtualClock, realClock } from '../../runtime/engine/clock.ts';
import type { Engine, EngineOptions } from '../../runtime/engine/types.ts';
import { createRuntime } from '../../runtime/engine/engine.ts';
import type { Clock, Performer, Store } from '../../runtime/ports.ts';
import { toolResult } from '../../runtime/engine/plain-json.ts';
import { createHands } from '../../effects/world.ts';
import type { HandsOptions } from '../../effects/world.ts';

export interface CreateEngineOptions extends Omit<EngineOptions, 'store' | 'performer' | 'clock'> {
  /** Where runs are kept: the path of a database file, or an open store. Default `.sluice/sluice.db`. */
  readonly journal?: string | Store;
  /** How providers are called: what agents run on that name no model, and who hears replies as they come. */
  readonly models?: ModelPerformerOptions;
  /** Answers for every agent, instead of any provider. */
  readonly model?: ModelFunction;
  /** Tools by the name that flows call them by. */
  readonly tools?: { readonly [name: string]: ToolFunction };
  /** How the built-in tools and those that a document implements itself are run: where, and what they may reach. */
  readonly hands?: HandsOptions;
  /** Stands in for models, tools and people; tools that it does not name are the ones above. */
  readonly script?: Script;
  /** Performs commands itself, instead of `model`, `tools` and `script`. */
  readonly performer?: Performer;
  readonly clock?: Clock;
  /** The PII pipeline of each agent, run over the input of its model calls. Default: none. */
  readonly pii?: PiiPipelines;
}

export function createEngine(options: CreateEngineOptions = {}): Engine {
  const {
    journal = '.sluice/sluice.db',
    models,
    model,
    tools,
    hands: means = {},
    script,
    performer,
    clock,
    pii,
    ...rest
  } = options;
  const functions = functionPerformer({ model, tools, resultMax: means.resultMax });
  const hands = createHands(means, functions);
  const own: Performer = {
    perform: (call) =>
      (call.command.kind === 'model' || Object.hasOwn(tools ?? {}, call.command.name) ? functions : hands).perform(
        call,
      ),
  };
  const world = model === undefined ? modelPerformer({ priceOf, ...models }, own) : own;
  const engine = createRuntime({
    ...rest,
    store: typeof journal === 'string' ? openStore(journal) : journal,
    performer: withPii(
      (performer && withChecks(performer)) ?? (script === undefined ? world : scriptedPerformer(script, world)),
      pii,
    ),
    clock: clock ?? (script === undefined || script.clock === 'real' ? realClock : createVirtualClock()),
  });
  const close = async (): Promise<void> => {
    await engine.close();
    await hands.close();
  };
  return { ...engine, close };
}

/** Whoever performs commands itself is not asked to judge what is proposed: that is never left out. */
function withChecks(performer: Performer): Performer {
  const policy = policyPerformer();
  const perform: Performer['perform'] = async (call) => {
    if (isPolicyCheck(call.command)) return policy.perform(call);
    const result = await performer.perform(call);
    // Nor is it trusted to give what a journal can hold.
    return result.ok ? { ...result, value: toolResult(call.command.name, result.value) } : result;
  };
  return { ...performer, perform };
}
