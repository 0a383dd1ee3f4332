/**
 * The change log: what tools did to the work directory, for agents to read. It is a copy for convenience; gates look at
 * the observations on the journal, which no agent can write to.
 */
import type { Json } from '../../expr/json.ts';
import type { ToolCall, ToolWork } from './context.ts';
import { changeState, readState } from './state-file.ts';

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
