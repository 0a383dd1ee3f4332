/**
 * `sluice trace`: the public events of a run, one line each. `--events` and `--json` give the
 * journal's own events; `--prompts` adds the messages that each model received. `--format art` prints the Agent Run Trace,
 * `--format otel` OpenTelemetry spans; both are JSON.
 */
import { present } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { ChainedEvent } from '@sluice-internal/engine/ports';
import { readRun, streamRun } from '@sluice-internal/engine/journal';
import { authoredIn, createNarrator } from '@sluice-internal/engine/report';
import type { Authored } from '@sluice-internal/engine/report';
import type { StoryEvent } from '@sluice-internal/wire';
import { agentRunTrace, otelTrace, recordOf } from '@sluice-internal/evals/journal';
import { framed, iso, oneLine, readWhole } from '@sluice-internal/library/documents';
import type { Cli } from '@sluice-internal/library/documents';
import { evolve, inputOf } from '@sluice-internal/kernel/core';
import type { Program } from '@sluice-internal/kernel/core';
import type { RunState } from '@sluice-internal/kernel/ir';
import type { FileOptions, SentMessage } from '@sluice-internal/models';
import { closing, dataOf, fileAt, isErased, promptOf, storedFiles } from '@sluice-internal/library/host';
import type { Options } from '../table/command-table.ts';
import { detailOf } from '../view/notices.ts';
import { readOptions, withRun } from '../session/store.ts';

export async function traceCommand(cli: Cli, given: string, options: Options<'trace'>): Promise<void> {
  const after = readWhole('--after', options.after) ?? 0;
  return withRun(cli, given, async (store, run) => {
    const { journal, shared } = store;
    const reading = readOptions(cli, options);
    if (options.format === 'art' || options.format === 'otel') {
      const record = recordOf(await readRun(journal, run, reading));
      return cli.printJson(options.format === 'art' ? agentRunTrace(record) : otelTrace(record));
    }
    const { program, events } = await streamRun(journal, run, reading);
    // Find an unreadable event before anything is printed: the output is one JSON document.
    if (cli.json) for (const _ of (await streamRun(journal, run, reading)).events);
    await closing(dataOf(store, fileAt(cli.db)), async ({ attachments }) => {
      const stored: FileOptions['stored'] = options.prompts === true ? await storedFiles(attachments, run) : new Map();
      const files = { stored, erased: await isErased(shared, run) };
      const promptOfEvent = options.prompts === true ? createPrompter(program, files) : () => undefined;
      const format = { after, promptOfEvent, authoredOf: authoredIn(program.flow) };
      if (cli.json) await printAll(cli, jsonLines(events, format));
      else if (options.events === true || options.prompts === true) await printAll(cli, eventLines(events, format));
      else await printAll(cli, storyLines(program, events, after));
    });
  });
}

/** Lets standard output take what was printed from time to time, so that a long run needs little memory. */
async function printAll(cli: Cli, lines: Iterable<string>): Promise<void> {
  let printed = 0;
  for (const line of lines) {
    if (cli.json) cli.screen.printData(line);
    else cli.screen.print(line);
    printed += 1;
    if (printed % 100 === 0) await cli.screen.delivered();
  }
}

interface Format {
  readonly after: number;
  readonly promptOfEvent: Prompter;
  readonly authoredOf: (event: ChainedEvent) => Authored;
}

function* eventLines(events: Iterable<ChainedEvent>, { after, promptOfEvent }: Format): Generator<string> {
  for (const event of events) {
    const prompted = promptOfEvent(event);
    if (event.seq > after) yield lineOf(event, prompted);
  }
}

function* storyLines(program: Program, events: Iterable<ChainedEvent>, after: number): Generator<string> {
  const narrate = createNarrator(program);
  for (const event of events)
    for (const each of narrate(event))
      // The next line says where the route led.
      if (event.seq > after && each.type !== 'route.taken') yield storyLine(each);
}

function jsonOf({ seq, at, type, prev, hash, ...data }: ChainedEvent, added: object): object {
  return { seq, at: iso(at), type, ...data, ...added, prev, hash };
}

function lineOf({ seq, at, type, prev: _prev, hash, ...data }: ChainedEvent, prompted: Prompted | undefined): string {
  const line = `${headOf({ seq, at, type })}  ${hash.slice(0, 8)}  ${oneLine(JSON.stringify(data), 400)}`;
  if (prompted === undefined) return line;
  return [line, ...prompted.prompt.map((message) => indent(messageLines(message)))].join('\n');
}

/** The text of a message, then the calls that it proposes and the files beside it. */
function messageLines({ role, content, toolCalls = [], files = [] }: SentMessage): string {
  return [
    `${role}: ${framed(content)}`,
    ...toolCalls.map(({ name, args }) => `call ${oneLine(name)} ${oneLine(JSON.stringify(args), 400)}`),
    ...files.map(({ attachment, state, name = '', mediaType = '', bytes = 0 }) =>
      state === 'stored'
        ? `file ${oneLine(name)} (${mediaType}, ${bytes} bytes, ${attachment})`
        : `file ${attachment} (${state})`,
    ),
  ].join('\n');
}

/** `   12  10:22:31.123  tool.finished      pay  payments.refund …` */
function storyLine(event: StoryEvent): string {
  const node = event.node === undefined ? '' : `${oneLine(event.node)}  `;
  return `${headOf(event)}  ${node}${oneLine(detailOf(event), 300)}`.trimEnd();
}

function headOf({ seq, at, type }: Pick<ChainedEvent, 'seq' | 'at'> & { readonly type: string }): string {
  return `${String(seq).padStart(5)}  ${iso(at).slice(11, 23)}  ${type.padEnd(17)}`;
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '         | ');
}

interface Prompted {
  /** The agent's id. */
  readonly agent: string;
  readonly prompt: readonly SentMessage[];
  /** The source that the notation recorded for the call. */
  readonly source?: Json;
}

type Prompter = (event: ChainedEvent) => Prompted | undefined;

/** Must be called with every event in order. */
function createPrompter(program: Program, files: Pick<FileOptions, 'stored' | 'erased'>): Prompter {
  let state: RunState | null = null;
  return (event) => {
    state = evolve(state, event);
    const pending =
      event.type === 'effect.requested' && event.kind === 'model' ? state.pending.get(event.key) : undefined;
    if (pending === undefined || event.type !== 'effect.requested') return undefined;
    const { source } = inputOf(program, state, pending);
    const prompt = promptOf(program, state, pending, files);
    return { agent: event.name, prompt, ...present({ source }) };
  };
}

/** The lines of `JSON.stringify` of the list, one entry at a time. */
function* jsonLines(events: Iterable<ChainedEvent>, { after, promptOfEvent, authoredOf }: Format): Generator<string> {
  let previous: string | null = null;
  for (const event of events) {
    const prompted = promptOfEvent(event);
    if (event.seq <= after) continue;
    yield previous === null ? '[' : `${previous},`;
    previous = JSON.stringify(jsonOf(event, { ...authoredOf(event), ...prompted }), null, 2).replaceAll(/^/gm, '  ');
  }
  yield previous === null ? '[]' : `${previous}\n]`;
}
