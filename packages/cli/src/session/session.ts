/** An engine on the user's database with the models and tools that the options name. */
import { present } from '@sluice-internal/kernel/expr';
import type { CompiledFlow, RunId } from '@sluice-internal/kernel/ir';
import { callsOf, requireCalls } from '@sluice-internal/library/host';
import { composeEngine } from '@sluice-internal/library/compose';
import type { Composed } from '@sluice-internal/library/compose';
import type { NoticeKind, OpenedRun, SluiceError, Store } from '@sluice-internal/engine/ports';
import { definitionTools, framed } from '@sluice-internal/library/documents';
import type { Cli } from '@sluice-internal/library/documents';
import { openFor } from './store.ts';
import { engineWorld, type WorldOptions } from './world.ts';

export interface Session extends Composed {
  readonly store: Store;
  readonly interrupt: Interrupt;
  /** Resolves when the run needs a model, key or tool that is missing. */
  readonly missing: Promise<SluiceError>;
  /** The options to repeat in a command that continues the run. */
  readonly flags: string;
  /** Reads a run once. As long as the result is referenced, nothing reads the run again. */
  open(run: RunId): Promise<OpenedRun>;
}

/**
 * Closes the store in the end. Waits of other runs end in time, but their calls are not made here: they may need other options.
 */
export async function withSession<Result>(
  cli: Cli,
  options: WorldOptions,
  flow: CompiledFlow | undefined,
  use: (session: Session) => Promise<Result>,
  given?: Store,
): Promise<Result> {
  const { options: world, script, missing, flags } = engineWorld(cli, options, flow);
  if (flow !== undefined) requireCalls({ ...world, ...present({ script }) }, flow, callsOf(flow));
  const store = given ?? openFor(cli);
  await store.ready?.();
  const composed = composeEngine(
    {
      ...world,
      script: script ?? false,
      journal: cli.db,
      // The time of a script passes at once, and is not the time of other runs.
      pickUp: script === undefined ? 'timers' : false,
      onNotice: (message, kind) => notice(cli, message, kind),
    },
    { store, flowTools: definitionTools, checked: true },
  );
  const interrupt = onInterrupt();
  try {
    return await use({ ...composed, store, interrupt, missing, flags, open: composed.runtime.read });
  } finally {
    await composed.engine.close();
    interrupt.dispose();
  }
}

/** Standard error shows a refused attack and a new key in every mode, also with `--quiet` and `--json`. */
function notice({ screen, hint }: Cli, message: string, kind: NoticeKind | undefined): void {
  if (kind === 'key') screen.note(message);
  else if (kind === 'attack') screen.note(`${screen.colors.yellow('warning')}: ${framed(message)}`);
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
