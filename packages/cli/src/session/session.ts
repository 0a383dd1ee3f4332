/** An engine on the user's database with the models and tools that the options name. */
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { callsOf, retentionOptions, signingFor, worstCases } from '@sluice-internal/library/host';
import { createRuntime } from '@sluice-internal/engine/worker';
import type { Engine, NoticeKind, Store } from '@sluice-internal/engine/ports';
import { framed } from '@sluice-internal/library/documents';
import type { Cli } from '@sluice-internal/library/documents';
import { openFor } from './store.ts';
import { createWorld, type World, type WorldOptions } from './world.ts';

export interface Session {
  readonly engine: Engine;
  readonly store: Store;
  readonly world: World;
  readonly interrupt: Interrupt;
}

/** Waits of other runs end in time, but their calls are not made here: they may need other options. */
export async function withSession<Result>(
  cli: Cli,
  options: WorldOptions,
  flow: CompiledFlow | undefined,
  use: (session: Session) => Promise<Result>,
): Promise<Result> {
  const world = createWorld(cli, options, flow);
  if (flow !== undefined) world.require(flow, callsOf(flow));
  const store = openFor(cli);
  const engine = createRuntime({
    store,
    performer: world.performer,
    clock: world.clock,
    // The time of a script passes at once, and is not the time of other runs.
    pickUp: (options.script ?? false) === false ? 'timers' : false,
    ...retentionOptions(store, cli.db, (message) => cli.hint(message)),
    ...signingFor(cli.db),
    worstCase: worstCases(),
    onNotice: (message, kind) => notice(cli, message, kind),
  });
  const interrupt = onInterrupt();
  try {
    return await use({ engine, store, world, interrupt });
  } finally {
    await engine.close();
    await world.close();
    interrupt.dispose();
  }
}

/** Standard error shows a refused attack in every mode, also with `--quiet` and `--json`. */
function notice({ screen, hint }: Cli, message: string, kind: NoticeKind | undefined): void {
  if (kind === 'attack') screen.note(`${screen.colors.yellow('warning')}: ${framed(message)}`);
  else hint(framed(message));
}

const SAME_WITHIN_MS = 250;
/** After a signal the process ends within this time, even if calls are open. */
const GRACE_MS = 5000;

interface Interrupt {
  /** Resolves with the name of the first signal. */
  readonly requested: Promise<NodeJS.Signals>;
  dispose(): void;
}

/** Takes signals over until `dispose`. */
export function onInterrupt(): Interrupt {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let firstAt: number | null = null;
  const listener = (signal: NodeJS.Signals): void => {
    const status = signal === 'SIGINT' ? 130 : 143;
    const now = performance.now();
    if (firstAt === null) {
      firstAt = now;
      // A module may hold a timer or a socket that keeps the process alive after the command is done.
      setTimeout(() => process.exit(status), GRACE_MS).unref();
      resolve(signal);
    } else if (now - firstAt > SAME_WITHIN_MS) process.exit(status);
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, listener);
  return {
    requested: promise,
    dispose: () => {
      for (const signal of signals) process.removeListener(signal, listener);
    },
  };
}
