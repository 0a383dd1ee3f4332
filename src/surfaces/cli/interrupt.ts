/**
 * The first signal asks for a clean stop, the second ends the process at once. Launchers pass on a signal that the terminal
 * has already sent to everybody, so the same signal right after the first one counts as one.
 */
const SAME_WITHIN_MS = 250;

export interface Interrupt {
  /** Resolves with the signal's name at the first one. */
  readonly requested: Promise<NodeJS.Signals>;
  dispose(): void;
}

export function onInterrupt(): Interrupt {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let firstAt: number | null = null;
  const listener = (signal: NodeJS.Signals): void => {
    const now = Date.now();
    if (firstAt === null) {
      firstAt = now;
      resolve(signal);
    } else if (now - firstAt > SAME_WITHIN_MS) process.exit(signal === 'SIGINT' ? 130 : 143);
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
