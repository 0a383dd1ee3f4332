/** The kit of every command: the global options, the output, and the error of wrong usage. */
import type { Screen } from './screen.ts';
import { framed, table } from './text.ts';
import { SluiceError } from '@sluice-internal/engine/ports';

export interface GlobalOptions {
  readonly json: boolean;
  readonly quiet: boolean;
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
  /** Prints the JSON document with `--json`, and otherwise the text. */
  show(json: unknown, text: () => string): void;
  /** Prints rows under their heads. Without rows, prints the hint `none`. */
  printTable(heads: readonly string[], rows: readonly (readonly string[])[], none: string): void;
}

export const DEFAULT_DB = '.sluice/sluice.db';

export function createCli(options: Partial<GlobalOptions>, screen: Screen): Cli {
  const { json = false, quiet = false, db = DEFAULT_DB, dbNamed = false, tenant } = options;
  const warned = new Set<string>();
  const hint = (text: string): void => {
    if (!quiet && !json) screen.note(text);
  };
  const printJson = (value: unknown): void => screen.printData(JSON.stringify(value, null, 2));
  return {
    json,
    quiet,
    db,
    dbNamed,
    tenant,
    screen,
    hint,
    warn: (text) => {
      if (!json && !warned.has(text)) screen.note(`${screen.colors.yellow('warning')}: ${framed(text)}`);
      warned.add(text);
    },
    printJson,
    show: (value, text) => (json ? printJson(value) : screen.print(text())),
    printTable: (heads, rows, none) => (rows.length === 0 ? hint(none) : screen.print(table([heads, ...rows]))),
  };
}

export function usage(message: string, help: string): SluiceError {
  return new SluiceError('usage', message, help);
}
