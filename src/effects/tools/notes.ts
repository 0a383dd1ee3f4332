/** What agents leave for one another and for people: the session's summary, and requests for review. */
import type { Json } from '../../expr/json.ts';
import type { ToolCall, ToolWork } from './tool.ts';
import { fail } from './tool.ts';
import { changeState, readState } from './state.ts';

const CONTENT_MAX = 64 * 1024;
const CONTEXT = 'session-context.json';
const REVIEWS = 'reviews.json';

export const sessionContextWrite: ToolWork = async ({ args, workDir }) => {
  const content = args['content'] as string;
  const bytes = Buffer.byteLength(content);
  if (bytes > CONTENT_MAX)
    throw fail('semantic', 'TooLargeError', `a session's summary has at most ${CONTENT_MAX} bytes, not ${bytes}`);
  await changeState(workDir, CONTEXT, { content: '' }, () => ({ content }));
  return { bytes };
};

export const sessionContextRead: ToolWork = async ({ workDir }) => ({
  content: (await readState(workDir, CONTEXT, { content: '' })).content,
});

/** Says the keyword back as it came: whoever runs the turn decides what it means. */
export const handoff: ToolWork = ({ args }) => Promise.resolve(args['route_keyword'] ?? null);

export const reviewRequest: ToolWork = async ({ args, workDir, call }) => {
  const { queue = 'review', reason, severity = 'medium', evidence = [] } = args;
  const id = `q_${call.idempotencyKey.slice(0, 16)}`;
  const entry: Json = {
    id,
    queue,
    reason: reason ?? '',
    severity,
    evidence,
    run: call.command.run,
    at: new Date(call.clock.now()).toISOString(),
    state: 'queued',
  };
  await changeState<{ entries: { [field: string]: Json }[] }>(workDir, REVIEWS, { entries: [] }, ({ entries }) => ({
    entries: entries.some((each) => each['id'] === id) ? entries : [...entries, entry],
  }));
  return { id, queue, state: 'queued' };
};

type Entry = {
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
type Changes = { ActiveSessionId: string; Entries: Entry[] };

const FILE = 'changes.json';
const KEPT_MAX = 500;
const RECENT = 10;

/** Remembers a call that has come back, once. Calls that change nothing leave no trace. */
export async function logChange({ name, args, workDir, call }: ToolCall, result: Json): Promise<void> {
  const change = changeOf(name, args, result);
  if (change === null) return;
  const { run, input } = call.command;
  const key = call.idempotencyKey;
  const entry: Entry = {
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
  await changeState<Changes>(workDir, FILE, { ActiveSessionId: run, Entries: [] }, (state) => ({
    ActiveSessionId: run,
    Entries: [...state.Entries.filter(({ Key }) => Key !== key), entry].slice(-KEPT_MAX),
  }));
}

/** The tool that reads it. */
export const changes: ToolWork = async ({ args, workDir, call }) => {
  const { Entries } = await readState<Changes>(workDir, FILE, { ActiveSessionId: call.command.run, Entries: [] });
  return { entries: Entries.slice(-((args['limit'] as number | undefined) ?? RECENT)) };
};

function changeOf(name: string, args: ToolCall['args'], result: Json): Partial<Entry> | null {
  switch (name) {
    case 'write_file':
    case 'patch_file':
      return { FilesWritten: [String(args['path'])] };
    case 'delete_file':
      return { FilesDeleted: [String(args['path'])] };
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
