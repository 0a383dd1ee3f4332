/** `sluice trace`: every event of a run, with its place in the chain; with `--prompts`, what each model was sent. */
import type { ChainedEvent } from '../../../runtime/engine/types.ts';
import type { Store } from '../../../runtime/ports.ts';
import { readRun } from '../../../runtime/journal/read.ts';
import type { Cli } from '../context.ts';
import { OK, type ExitStatus } from '../exit-status.ts';
import { readWhole } from '../option-values.ts';
import { promptsOf, type Prompted } from '../prompts.ts';
import { findRun, withStore } from '../store.ts';
import { harmless, oneLine } from '../text.ts';

export interface TraceOptions {
  readonly prompts?: boolean;
  readonly after?: string;
}

export async function traceCommand(cli: Cli, given: string, options: TraceOptions): Promise<ExitStatus> {
  const after = readWhole('--after', options.after) ?? 0;
  return withStore(cli, async (store): Promise<ExitStatus> => {
    const run = await findRun(store, given, cli.db);
    const { program, events } = await readRun((store as Store).journal, run);
    const prompts = options.prompts === true ? promptsOf(program, events) : new Map<number, Prompted>();
    const wanted = events.filter(({ seq }) => seq > after);
    if (cli.json) cli.printJson(wanted.map((event) => jsonOf(event, prompts.get(event.seq))));
    else for (const event of wanted) cli.screen.print(lineOf(event, prompts.get(event.seq)));
    return OK;
  });
}

function jsonOf({ seq, at, type, prev, hash, ...data }: ChainedEvent, prompted: Prompted | undefined): object {
  return { seq, at: new Date(at).toISOString(), type, ...data, ...prompted, prev, hash };
}

function lineOf({ seq, at, type, prev: _prev, hash, ...data }: ChainedEvent, prompted: Prompted | undefined): string {
  const time = new Date(at).toISOString().slice(11, 23);
  const line = `${String(seq).padStart(5)}  ${time}  ${type.padEnd(17)}  ${hash.slice(0, 8)}  ${oneLine(JSON.stringify(data), 400)}`;
  if (prompted === undefined) return line;
  return [line, ...prompted.prompt.map(({ role, content }) => indent(`${role}: ${harmless(content)}`))].join('\n');
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '         | ');
}
