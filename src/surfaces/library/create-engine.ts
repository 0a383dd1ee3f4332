/** `createEngine`: an engine with a journal and a world. Every option has a default. */
import { createWorld } from '../../effects/world.ts';
import type { WorldOptions } from '../../effects/world.ts';
import { createRuntime } from '../../runtime/engine/engine.ts';
import type { Engine, EngineOptions } from '../../runtime/engine/types.ts';
import type { Origin, Pins } from '../../ir/events.ts';
import type { Store } from '../../runtime/ports.ts';
import { openStore } from '../../stores/open-store.ts';

export interface CreateEngineOptions extends Omit<EngineOptions, 'store' | 'performer' | 'clock'>, WorldOptions {
  /** Stores the runs: the path of a database file, or an open store. Default: `.sluice/sluice.db`. */
  readonly journal?: string | Store;
}

/**
 * Creates an engine. Call `close` when it is no longer needed.
 * @example
 * const engine = createEngine({ models: { model: 'openai/gpt-5-mini' } });
 * const run = await engine.start(flow, { input: { message: 'My parcel is lost' } });
 * const report = await engine.settled(run);
 */
export function createEngine(options: CreateEngineOptions = {}): Engine {
  const { journal = '.sluice/sluice.db', ...rest } = options;
  const world = createWorld(rest);
  const store = typeof journal === 'string' ? openStore(journal, { onNotice: rest.onNotice }) : journal;
  const engine = createRuntime({ ...rest, store, performer: world.performer, clock: world.clock });
  const close = async (): Promise<void> => {
    await engine.close();
    await world.close();
  };
  return {
    ...engine,
    start: (flow, given = {}) =>
      engine.start(flow, flow === undefined ? given : { ...given, origin: withPins(given.origin, world.pins(flow)) }),
    close,
  };
}

function withPins(origin: Origin = {}, pins: Pins): Origin {
  return { ...origin, pins: { ...pins, ...origin.pins } };
}
