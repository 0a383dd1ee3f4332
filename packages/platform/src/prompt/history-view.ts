/**
 * The view of one agent on the shared history. The history itself never changes. A view leaves out, shortens and labels
 * messages. The same history and view always give the same messages.
 */
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { asData, textOf, turnOf, type Message } from './messages.ts';

export interface Item {
  readonly role: Message['role'];
  readonly author?: string;
  readonly content: Json;
  /** The turn of the message; absent for the input of the run. */
  readonly turn?: number;
  /** The agent that it is addressed to. */
  readonly to?: string;
  /** Goes in front of the content; `{name}` and `{n}` stand for the branch where there are several outputs. */
  readonly label?: string;
  /** The replies and results that led to the content. */
  readonly steps?: Json;
  /** Outcomes of branches, shown one after the other instead of the content. */
  readonly outputs?: readonly { readonly name: string; readonly output: Json }[];
}

export interface View {
  /** Only the input of the run, the messages of the reader, and the messages to the reader. */
  readonly own?: boolean;
  /** With `own`: the number of the reader's latest turns, and of their characters. */
  readonly ownTurns?: number;
  readonly ownChars?: number;
  readonly textOnly?: boolean;
  readonly exclude?: readonly string[];
  /** Authors outside this system. Their messages are marked as data. */
  readonly untrusted?: readonly string[];
  /** Only messages that are at most this many turns old. */
  readonly turnAge?: number;
  /** Only this many of the latest items. */
  readonly tail?: number;
  /** Characters of a tool's result, in general and by tool. */
  readonly toolChars?: number;
  readonly toolCharsBy?: { readonly [tool: string]: number };
  /** The most characters of a file that the reader sees, in this turn too. */
  readonly fileChars?: number;
  /** Characters of a result of an earlier turn. */
  readonly replayChars?: number;
  /** The number of latest turns that stay unchanged once there is a recap. */
  readonly keep?: number;
}

export interface Reader {
  readonly id: string;
  /** The sources that were assembled for the reader. They stand between its own messages and the message to it. */
  readonly context: Json;
  /**
   * Replaces the turns up to `upTo`. Journals of older versions have a text, which replaces all turns that are older than the kept ones.
   */
  readonly recap: Json;
}

const REPLAY_CHARS = 2000;

export function viewHistory(items: readonly Item[], view: View, reader: Reader): Message[] {
  const [given, rest] = [
    items.filter(({ turn }) => turn === undefined),
    items.filter(({ turn }) => turn !== undefined),
  ];
  const render = (item: Item): Message[] => messagesOf(item, view, reader);
  if (view.own === true) return ownView(given, rest, view, reader);
  const recap = recapOf(reader.recap);
  const kept = keptOf(rest, view, reader.recap);
  return [...given.flatMap(render), ...recap, ...windowed(kept, view).flatMap(render), ...contextOf(reader)];
}

function recapOf(recap: Json): Message[] {
  const text = isRecord(recap) ? (recap['text'] ?? null) : recap;
  return text === null ? [] : [{ role: 'user', content: textOf(text) }];
}

function keptOf(items: readonly Item[], { keep }: View, recap: Json): readonly Item[] {
  if (isRecord(recap)) return items.filter((item) => (item.turn ?? 0) > Number(recap['upTo']));
  return recap === null || keep === undefined ? items : recentTurns(items, keep);
}

/** In the order in which the filters are documented: kind and author, then age, then number. */
function windowed(items: readonly Item[], view: View): readonly Item[] {
  const excluded = items.filter(({ author }) => author === undefined || !(view.exclude?.includes(author) ?? false));
  const aged = view.turnAge === undefined ? excluded : recentTurns(excluded, view.turnAge);
  return view.tail === undefined ? aged : aged.slice(-view.tail);
}

function recentTurns(items: readonly Item[], turns: number): readonly Item[] {
  const latest = items.reduce((turn, item) => Math.max(turn, item.turn ?? 0), 0);
  return items.filter((item) => (item.turn ?? 0) > latest - turns);
}

function ownView(given: readonly Item[], rest: readonly Item[], view: View, reader: Reader): Message[] {
  const isOwn = (item: Item): boolean => item.role === 'assistant' && item.author === reader.id;
  const last = rest.findLastIndex(isOwn);
  const pending = rest.slice(last + 1).filter((item) => item.role === 'user' && item.to === reader.id);
  const texts = rest.filter(isOwn).map((item) => textOf(item.content));
  const own = bounded(texts.slice(-(view.ownTurns ?? texts.length)), view.ownChars ?? Infinity);
  return [
    ...given.flatMap((item) => messagesOf(item, view, reader)),
    ...own.map((content): Message => ({ role: 'assistant', content })),
    ...contextOf(reader),
    ...pending.flatMap((item) => messagesOf(item, view, reader)),
  ];
}

/** Keeps the newest messages whole, shortens the next one to fit, and leaves out the older ones. */
function bounded(texts: readonly string[], chars: number): readonly string[] {
  const kept: string[] = [];
  let left = chars;
  for (const text of texts.toReversed()) {
    if (left <= 0) break;
    kept.unshift(shortened(text, left));
    left -= text.length;
  }
  return kept;
}

function contextOf({ context }: Reader): Message[] {
  const content = textOf(context);
  return content === '' ? [] : [{ role: 'user', content }];
}

function messagesOf(item: Item, view: View, reader: Reader): Message[] {
  const content = labelled(item, view, reader);
  if (item.role !== 'assistant') return [{ role: 'user', content }];
  const steps = view.textOnly === true ? [] : turnOf(item.steps);
  if (item.author === reader.id) {
    if (steps.length === 0) return [{ role: 'assistant', content }];
    return steps.map((step) => (step.role === 'tool' ? { ...step, content: replayed(step, view) } : step));
  }
  const calls = new Map(steps.flatMap(({ toolCalls = [] }) => toolCalls.map((call) => [call.id, call.args] as const)));
  const used = steps.flatMap((step) =>
    step.role === 'tool'
      ? [`[${item.author ?? ''} ${callText(step, calls.get(step.toolCallId ?? ''))}] ${replayed(step, view)}`]
      : [],
  );
  return [{ role: 'user', content: [...used, `[${item.author ?? ''}]\n${content}`].join('\n\n') }];
}

const COMMAND_CHARS = 200;

/** Others see the command that was run: its output alone does not say what it shows. */
function callText({ name = 'a tool' }: Message, args: Json | undefined): string {
  const command = isRecord(args) ? args['command'] : undefined;
  return typeof command === 'string' ? `ran ${name} ${cut(JSON.stringify(command), COMMAND_CHARS)}` : `used ${name}`;
}

function labelled(item: Item, { untrusted = [] }: View, reader: Reader): string {
  const { outputs, author = '', to = reader.id } = item;
  const label = item.label ?? (to === reader.id ? '' : `[to ${to}]`);
  const shown = (value: Json, from: string): string =>
    untrusted.includes(from) && from !== reader.id
      ? asData(textOf(value), `${from} (remote agent)`, null)
      : textOf(value);
  const content = shown(item.content, author);
  if (outputs !== undefined)
    return outputs
      .map(
        ({ name, output }, index) =>
          `${label.replaceAll('{name}', () => name).replaceAll('{n}', String(index + 1))}\n${shown(output, name)}`,
      )
      .join('\n\n');
  return label === '' ? content : `${label}\n${content}`;
}

function replayed({ name = '', content }: Message, view: View): string {
  const limit = Math.min(view.toolCharsBy?.[name] ?? view.toolChars ?? Infinity, fileLimit(name, view));
  return shortened(
    content,
    Math.min(limit, view.replayChars === undefined || view.replayChars === 0 ? REPLAY_CHARS : view.replayChars),
  );
}

/** The messages of the current turn. Only the files in them are limited. */
export function viewTurn(messages: readonly Message[], view: View): Message[] {
  return messages.map((message) =>
    message.role === 'tool'
      ? { ...message, content: shortened(message.content, fileLimit(message.name ?? '', view)) }
      : message,
  );
}

function fileLimit(tool: string, { fileChars = Infinity }: View): number {
  return tool === 'read_file' ? fileChars : Infinity;
}

/** The fence of a result stays whole: only the data inside it is shortened. */
function shortened(text: string, limit: number): string {
  const fence = /^(?<open><data\b[^>\n]*>\n)(?<data>[\s\S]*)(?<close>\n<\/data>)$/.exec(text)?.groups;
  if (fence === undefined) return cut(text, limit);
  const { open = '', data = '', close = '' } = fence;
  return `${open}${cut(data, limit)}${close}`;
}

/** The first characters of a longer text, and how many were left out. */
export function cut(text: string, limit: number, hint = ''): string {
  if (text.length <= limit) return text;
  // Half of a character is not valid text, and providers refuse it.
  const end = /[\ud800-\udbff]/.test(text[limit - 1] ?? '') ? limit - 1 : limit;
  return `${text.slice(0, end)}${hint === '' ? '' : '\n'}[...${text.length - end} chars truncated${hint}]`;
}
