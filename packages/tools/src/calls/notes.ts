/**
 * Tools that keep records in the work directory: the session summary, review requests, and the log of changes. They are
 * there for agents to read. Gates use the observations in the journal, which no agent can write.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import { fail } from '@sluice-internal/engine/ports';
import { changeState, readState } from './state.ts';
import type { ToolCall, ToolKind, ToolWork } from './tool.ts';

type Notes = { [key: string]: string };
type Room = { messages: { key: string; agent: Json; message: Json }[] };
type Review = { [field: string]: Json };
type Change = {
  Key: string;
  Agent: Json;
  TurnIndex: Json;
  Timestamp: string;
  SessionId: string;
  FilesWritten: string[];
  FilesDeleted: string[];
  CommandsRun: { Command: string; Succeeded: boolean }[];
  GitCommits: string[];
};
type ChangeLog = { ActiveSessionId: string; Entries: Change[] };

const SUMMARY_FILE = 'session-context.json';
const TEXT_MAX = 64 * 1024;
const NOTES_FILE = 'scratchpad.json';
const ROOM_FILE = 'chatroom.json';
const REVIEWS_FILE = 'reviews.json';
const CHANGES_FILE = 'changes.json';
const CHANGES_KEPT_MAX = 500;
const CHANGES_SHOWN = 10;

export function noteTools(): ToolKind {
  return {
    builtins: {
      session_context_write: writeSummary,
      session_context_read: readSummary,
      scratchpad_write: writeNote,
      scratchpad_read: readNotes,
      chatroom_send: sendMessage,
      chatroom_read: readMessages,
      review_request: requestReview,
      changes: readChanges,
      // The turn reads the keyword from the result and decides where the work goes.
      handoff: ({ args }) => Promise.resolve(args['route_keyword'] ?? null),
    },
  };
}

/** Adds a completed call to the log of changes, once per call. Calls that change nothing are not logged. */
export async function logChange({ name, args, workDir, call }: ToolCall, result: Json): Promise<void> {
  const change = changeOf(name, args, result);
  if (change === null) return;
  const { run, input } = call.command;
  const key = call.idempotencyKey;
  const entry: Change = {
    Key: key,
    Agent: input['agent'] ?? null,
    TurnIndex: input['turn'] ?? null,
    Timestamp: new Date(call.clock.now()).toISOString(),
    SessionId: run,
    FilesWritten: [],
    FilesDeleted: [],
    CommandsRun: [],
    GitCommits: [],
    ...change,
  };
  await changeState<ChangeLog>(workDir, CHANGES_FILE, { ActiveSessionId: run, Entries: [] }, (log) => ({
    ActiveSessionId: run,
    Entries: [...log.Entries.filter(({ Key }) => Key !== key), entry].slice(-CHANGES_KEPT_MAX),
  }));
}

const writeSummary: ToolWork = async ({ args, workDir }) => {
  const content = args['content'] as string;
  const bytes = sizeOf('session summary', content);
  await changeState(workDir, SUMMARY_FILE, { content: '' }, () => ({ content }));
  return { bytes };
};

function sizeOf(kind: string, text: string): number {
  const bytes = Buffer.byteLength(text);
  if (bytes <= TEXT_MAX) return bytes;
  throw fail('semantic', 'TooLargeError', `a ${kind} has at most ${TEXT_MAX} bytes; this one has ${bytes}`);
}

const readSummary: ToolWork = async ({ workDir }) => ({
  content: (await readState(workDir, SUMMARY_FILE, { content: '' })).content,
});

const writeNote: ToolWork = async ({ args, workDir }) => {
  const [key, value] = [String(args['key']), String(args['value'])];
  const bytes = sizeOf('note', value);
  await changeState<Notes>(workDir, NOTES_FILE, {}, (notes) => ({ ...notes, [key]: value }));
  return { bytes };
};

const readNotes: ToolWork = async ({ args, workDir }) => {
  const notes = await readState<Notes>(workDir, NOTES_FILE, {});
  const key = args['key'];
  if (typeof key !== 'string') return { notes };
  const note = Object.hasOwn(notes, key) ? notes[key] : undefined;
  return { notes: note === undefined ? {} : { [key]: note } };
};

const sendMessage: ToolWork = async ({ args, workDir, call }) => {
  const entry = {
    key: call.idempotencyKey,
    agent: call.command.input['agent'] ?? null,
    message: args['message'] ?? '',
  };
  const room = await changeState<Room>(workDir, ROOM_FILE, { messages: [] }, ({ messages }) => ({
    messages: [...messages.filter(({ key }) => key !== entry.key), entry].slice(-CHANGES_KEPT_MAX),
  }));
  return { count: room.messages.length };
};

const readMessages: ToolWork = async ({ workDir }) => {
  const { messages } = await readState<Room>(workDir, ROOM_FILE, { messages: [] });
  return { messages: messages.slice(-CHANGES_SHOWN).map(({ agent, message }) => ({ agent, message })) };
};

const requestReview: ToolWork = async ({ args, workDir, call }) => {
  const { queue = 'review', reason = '', severity = 'medium', evidence = [] } = args;
  const id = `q_${call.idempotencyKey.slice(0, 16)}`;
  const at = new Date(call.clock.now()).toISOString();
  const entry: Review = { id, queue, reason, severity, evidence, run: call.command.run, at, state: 'queued' };
  await changeState<{ entries: Review[] }>(workDir, REVIEWS_FILE, { entries: [] }, ({ entries }) => ({
    entries: entries.some((each) => each['id'] === id) ? entries : [...entries, entry],
  }));
  return { id, queue, state: 'queued' };
};

const readChanges: ToolWork = async ({ args, workDir, call }) => {
  const empty: ChangeLog = { ActiveSessionId: call.command.run, Entries: [] };
  const { Entries } = await readState<ChangeLog>(workDir, CHANGES_FILE, empty);
  return { entries: Entries.slice(-((args['limit'] as number | undefined) ?? CHANGES_SHOWN)) };
};

function changeOf(name: string, args: ToolCall['args'], result: Json): Partial<Change> | null {
  switch (name) {
    case 'write_file':
    case 'patch_file':
      return { FilesWritten: [String(args['path'])] };
    case 'delete_file':
      return { FilesDeleted: [String(args['path'])] };
    case 'git_commit':
      return (result as { exitCode?: number }).exitCode === 0 ? { GitCommits: [String(args['message'])] } : null;
    case 'shell_run': {
      const Command = String(args['command']);
      const Succeeded = (result as { exitCode?: number }).exitCode === 0;
      return {
        CommandsRun: [{ Command, Succeeded }],
        GitCommits: Succeeded && /\bgit\b.*\bcommit\b/.test(Command) ? [Command] : [],
      };
    }
    default:
      return null;
  }
}
