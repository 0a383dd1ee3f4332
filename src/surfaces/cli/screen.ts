/**
 * The two streams. Standard output carries results only; everything else, and every colour, goes to standard error. What
 * becomes of either never decides what becomes of the command: nobody has to read progress, a reader that goes away
 * (`| head`) has had enough, and a result that could not be written is told at the end.
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
  /** Resolves when standard output has taken what was printed, with what kept it from that. */
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
    columns: () => (process.stderr as Partial<WriteStream>).columns ?? 80,
    print: (text) => result.write(`${text}\n`),
    note: (text) => aside.write(`${text}\n`),
    draw: (text) => aside.write(text),
    delivered: async () => {
      const failure = await result.settled();
      return failure?.code === 'EPIPE' ? null : failure;
    },
  };
}

function wantsColor(live: boolean): boolean {
  const { NO_COLOR, FORCE_COLOR } = process.env;
  if (NO_COLOR !== undefined && NO_COLOR !== '') return false;
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== '0';
  return live;
}

interface Outlet {
  write(text: string): void;
  /** Resolves when all of it is written, with the first error. */
  settled(): Promise<NodeJS.ErrnoException | null>;
}

/** After the first error nothing more is written: what comes later would have a gap in front of it. */
function outlet(stream: NodeJS.WriteStream): Outlet {
  let failure: NodeJS.ErrnoException | null = null;
  let last: Promise<void> = Promise.resolve();
  // As it is now: what others write to the stream is diverted later on.
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
    settled: async () => {
      await last;
      return failure;
    },
  };
}
