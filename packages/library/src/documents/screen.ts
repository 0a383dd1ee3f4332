/**
 * The two output streams. Results go to standard output; progress and colours go to standard error. A closed reader (`|
 * head`) is not an error. A result that could not be written is reported at the end.
 */
import type { WriteStream } from 'node:tty';
import picocolors from 'picocolors';
import { wrapSentences } from './text.ts';

export type Colors = ReturnType<typeof picocolors.createColors>;

export interface Screen {
  /** Colours for standard error. Off if it is not a terminal or NO_COLOR is set. */
  readonly colors: Colors;
  /** True if progress can be drawn in place. */
  readonly live: boolean;
  /** True if a person can be asked. */
  readonly interactive: boolean;
  readonly columns: () => number;
  /** Columns of standard output. Infinity if it is not a terminal. */
  readonly width: () => number;
  /** Prints result lines on standard output. A terminal gets them broken between words. */
  print(text: string): void;
  /** Prints text on standard output as it is: JSON, documents, and what is copied to other files. */
  printData(text: string): void;
  /** Prints lines on standard error. A terminal gets them broken between words. */
  note(text: string): void;
  /** Writes raw text to standard error, for drawing in place. */
  draw(text: string): void;
  /** True if standard output takes no more, for example because its reader has gone. */
  isClosed(): boolean;
  /** Resolves when standard output has taken everything, with the error if it failed. */
  delivered(): Promise<Error | null>;
}

export function createScreen(): Screen {
  const result = outlet(process.stdout);
  const aside = outlet(process.stderr);
  const live = process.stderr.isTTY === true && process.env['TERM'] !== 'dumb';
  return {
    colors: picocolors.createColors(wantsColor(live)),
    live,
    interactive: live && process.stdin.isTTY === true,
    columns: () => columnsOf(process.stderr),
    width: widthOfOutput,
    print: (text) => result.write(`${wrapSentences(text, widthOfOutput())}\n`),
    printData: (text) => result.write(`${text}\n`),
    note: (text) => aside.write(`${live ? wrapSentences(text, columnsOf(process.stderr)) : text}\n`),
    draw: (text) => aside.write(text),
    isClosed: () => result.hasFailed(),
    delivered: async () => {
      const failure = await result.written();
      return failure?.code === 'EPIPE' ? null : failure;
    },
  };
}

function widthOfOutput(): number {
  return process.stdout.isTTY ? columnsOf(process.stdout) : Infinity;
}

/** A terminal whose size is not known reports 0 columns. */
function columnsOf({ columns }: Partial<Pick<WriteStream, 'columns'>>): number {
  return columns === undefined || columns === 0 ? 80 : columns;
}

function wantsColor(live: boolean): boolean {
  const { NO_COLOR, FORCE_COLOR } = process.env;
  if (NO_COLOR !== undefined && NO_COLOR !== '') return false;
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== '0';
  return live;
}

interface Outlet {
  write(text: string): void;
  hasFailed(): boolean;
  /** Resolves when everything is written, with the first error. */
  written(): Promise<NodeJS.ErrnoException | null>;
}

/** Stops writing after the first error, so that output has no gaps. */
function outlet(stream: NodeJS.WriteStream): Outlet {
  let failure: NodeJS.ErrnoException | null = null;
  let last: Promise<void> = Promise.resolve();
  // Keep the original function: `process.stdout.write` is replaced later.
  const write = stream.write.bind(stream);
  stream.on('error', (error) => (failure ??= error));
  return {
    write: (text) => {
      if (failure !== null) return;
      last = new Promise((resolve) => {
        write(text, (error) => {
          failure ??= error ?? null;
          resolve();
        });
      });
    },
    hasFailed: () => failure !== null,
    written: async () => {
      await last;
      return failure;
    },
  };
}
