/** What every command is handed: the options that all of them take, and the screen. */
import type { Screen } from './screen.ts';

export interface GlobalOptions {
  readonly json: boolean;
  readonly quiet: boolean;
  readonly debug: boolean;
  readonly db: string;
  /** Whether that database was named, as opposed to the one that is looked for anyway. */
  readonly dbNamed: boolean;
}

export interface Cli extends GlobalOptions {
  readonly screen: Screen;
  /** Progress and hints: on standard error, and not at all with `--quiet` or `--json`. */
  hint(text: string): void;
  /** Exactly one JSON document, and nothing else, on standard output. */
  printJson(value: unknown): void;
}

export const DEFAULT_DB = '.sluice/sluice.db';

export function createCli(options: Partial<GlobalOptions>, screen: Screen): Cli {
  const { json = false, quiet = false, debug = false, db = DEFAULT_DB, dbNamed = false } = options;
  return {
    json,
    quiet,
    debug,
    db,
    dbNamed,
    screen,
    hint: (text) => {
      if (!quiet && !json) screen.note(text);
    },
    printJson: (value) => screen.print(JSON.stringify(value, null, 2)),
  };
}
