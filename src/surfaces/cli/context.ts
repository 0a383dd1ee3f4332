/** The context of a command: the global options and the screen. */
import type { Screen } from './screen.ts';
import { framed, table } from './text.ts';

export interface GlobalOptions {
  readonly json: boolean;
  readonly quiet: boolean;
  readonly debug: boolean;
  readonly db: string;
  /** True if the user named the database with `--db`. */
  readonly dbNamed: boolean;
  /** Only the runs of this tenant exist. Undefined: the operator sees all. */
  readonly tenant: string | undefined;
}

export interface Cli extends GlobalOptions {
  readonly screen: Screen;
  /** Prints progress or a hint on standard error, unless `--quiet` or `--json` is set. */
  hint(text: string): void;
  /** Prints a warning on standard error once, also with `--quiet`, but not with `--json`. */
  warn(text: string): void;
  /** Prints one JSON document on standard output. */
  printJson(value: unknown): void;
  /** Prints rows under their heads, or the hint `none` if there are none. */
  printTable(heads: readonly string[], rows: readonly (readonly string[])[], none: string): void;
}

export const DEFAULT_DB = '.sluice/sluice.db';

export function createCli(options: Partial<GlobalOptions>, screen: Screen): Cli {
  const { json = false, quiet = false, debug = false, db = DEFAULT_DB, dbNamed = false, tenant } = options;
  const warned = new Set<string>();
  const hint = (text: string): void => {
    if (!quiet && !json) screen.note(text);
  };
  return {
    json,
    quiet,
    debug,
    db,
    dbNamed,
    tenant,
    screen,
    hint,
    warn: (text) => {
      if (!json && !warned.has(text)) screen.note(`${screen.colors.yellow('warning')}: ${framed(text)}`);
      warned.add(text);
    },
    printJson: (value) => screen.printData(JSON.stringify(value, null, 2)),
    printTable: (heads, rows, none) => (rows.length === 0 ? hint(none) : screen.print(table([heads, ...rows]))),
  };
}
