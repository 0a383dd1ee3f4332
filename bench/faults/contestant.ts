/** An engine that runs the same agents: a planner, three workers, a critic and a writer. */
import type { Provider } from './provider.ts';

export interface Faulted {
  /** The retry settings, in words. */
  readonly settings: string;
  /** Opens the engine on a database that an earlier process may have left behind. */
  open(file: string, provider: Provider): Promise<Opened>;
}

export interface Opened {
  /** Starts the run, or goes on with it. True if it succeeded. */
  run(id: string): Promise<boolean>;
  close(): Promise<void>;
}
