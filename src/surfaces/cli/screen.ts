/**
 * The two streams. Standard output carries results only; everything else, and every colour, goes to standard error. A reader
 * that goes away (`| head`) ends the command quietly instead of with an error.
 */
import type { WriteStream } from 'node:tty';
import picocolors from 'picocolors';

export type Colors = ReturnType<typeof picocolors.createColors>;

export interface Screen {
  /** Colours for standard error; without effect where it is no terminal or NO_COLOR is set. */
  readonly colors: Colors;
  /** Whether progress may be drawn in place. */
  readonly live: boolean;
  /** Whether somebody is there who can be asked. */
  readonly interactive: boolean;
  readonly columns: () => number;
  /** A line or more of the result, on standard output. */
  print(text: string): void;
  /** Anything else, on standard error. */
  note(text: string): void;
  /** As it is, to standard error: for drawing in place. */
  draw(text: string): void;
}

export function createScreen(): Screen {
  quietOnClosedPipe();
  const live = process.stderr.isTTY === true && process.env['TERM'] !== 'dumb';
  return {
    colors: picocolors.createColors(wantsColor(live)),
    live,
    interactive: live && process.stdin.isTTY === true,
    columns: () => (process.stderr as Partial<WriteStream>).columns ?? 80,
    print: (text) => void process.stdout.write(`${text}\n`),
    note: (text) => void process.stderr.write(`${text}\n`),
    draw: (text) => void process.stderr.write(text),
  };
}

function wantsColor(live: boolean): boolean {
  const { NO_COLOR, FORCE_COLOR } = process.env;
  if (NO_COLOR !== undefined && NO_COLOR !== '') return false;
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== '0';
  return live;
}

function quietOnClosedPipe(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      process.exit(process.exitCode ?? 0);
    });
  }
}
