/**
 * The tools that every run can be granted, as data: what each takes and gives, what it does to the world, how long it may
 * take. The compiler reads the names from this table, and the performers read the schemas. The table does not say how a tool
 * works.
 */
import { WORK_DIR } from '../ir/effect-classes.ts';
import type { ToolDef } from '../ir/nodes.ts';
import type { Json } from '../expr/json.ts';

/** The kinds of tools. The defaults of approval and verification depend on the kind. */
export const TOOL_CATEGORIES = [
  'lookup',
  'retrieval',
  'live_api',
  'sandbox',
  'file_system',
  'database',
  'messages',
  'payment',
  'infrastructure',
  'review',
] as const;
type ToolCategory = (typeof TOOL_CATEGORIES)[number];

export interface BuiltinTool {
  readonly description: string;
  readonly input: Json;
  readonly output: Json;
  readonly effect: ToolDef['effect'];
  readonly timeoutMs: number;
  /** A call may be repeated under its key without a second effect. */
  readonly idempotent: boolean;
  readonly category: ToolCategory;
  /** Calls of one reply that use the same resource run one after another; reads of it run at once. */
  readonly resource?: string;
}

const text = (description: string): Json => ({ type: 'string', description });
const record = (properties: { [name: string]: Json }, required: string[] = Object.keys(properties)): Json => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
/** A result has at least these fields. */
const result = (properties: { [name: string]: Json }): Json => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
});

const PATH = text('A path relative to the work directory.');
const STRING: Json = { type: 'string' };
const WHOLE: Json = { type: 'integer', minimum: 0 };
const FLAG: Json = { type: 'boolean' };
const HEADERS: Json = { type: 'object', additionalProperties: STRING };
const CHANGE: Json = result({
  path: STRING,
  bytes: WHOLE,
  sha256: STRING,
  created: FLAG,
  added: WHOLE,
  removed: WHOLE,
  diff: STRING,
});
const RESPONSE: Json = result({ status: WHOLE, url: STRING, headers: HEADERS, body: true, truncated: FLAG });

const SECOND = 1_000;
function file(effect: 'read' | 'write', description: string, input: Json, output: Json): BuiltinTool {
  const fixed = { timeoutMs: 10 * SECOND, idempotent: true, category: 'file_system', resource: WORK_DIR } as const;
  return { description, input, output, effect, ...fixed };
}

/** Tools that compute their result from their arguments. */
function pure(description: string, input: Json, output: Json): BuiltinTool {
  return { description, input, output, effect: 'read', timeoutMs: SECOND, idempotent: true, category: 'lookup' };
}

const REVISION: Json = {
  type: 'string',
  pattern: '^[A-Za-z0-9_][A-Za-z0-9_./~^-]*$',
  description: 'A commit or a branch.',
};

/** Git commands run in the sandbox; a failed one has an exit code that is not 0. */
function git(description: string, properties: { [name: string]: Json }, required: string[], effect: 'read' | 'write') {
  return {
    description,
    input: record(properties, required),
    output: result({ exitCode: { type: 'integer' }, stdout: STRING, stderr: STRING }),
    effect,
    timeoutMs: 60 * SECOND,
    idempotent: effect === 'read',
    category: 'file_system',
    resource: WORK_DIR,
  } as const;
}

const sending = (description: string, idempotent: boolean, method: { [name: string]: Json } = {}): BuiltinTool => ({
  description,
  input: record({ ...method, url: text('An http or https address.'), headers: HEADERS, body: true }, [
    ...Object.keys(method),
    'url',
  ]),
  output: RESPONSE,
  effect: 'communication',
  timeoutMs: 30 * SECOND,
  idempotent,
  category: 'live_api',
});

export const BUILTIN_TOOLS = {
  read_file: file(
    'read',
    'Reads a text file of the work directory.',
    record({ path: PATH }),
    result({ path: STRING, content: STRING, bytes: WHOLE, sha256: STRING, truncated: FLAG, lossy: FLAG }),
  ),
  write_file: file(
    'write',
    'Writes a text file in the work directory, whole; folders are made as needed.',
    record({ path: PATH, content: text('The whole content.') }),
    CHANGE,
  ),
  patch_file: file(
    'write',
    'Replaces one passage of a text file. The passage must occur exactly once.',
    record({
      path: PATH,
      find: { type: 'string', minLength: 1, description: 'The passage as it is in the file.' },
      replace: text('What takes its place.'),
    }),
    CHANGE,
  ),
  delete_file: file(
    'write',
    'Deletes a file of the work directory.',
    record({ path: PATH }),
    result({ path: STRING, deleted: FLAG }),
  ),
  list_directory: file(
    'read',
    'Lists a folder of the work directory.',
    record({ path: PATH }, []),
    result({
      path: STRING,
      entries: { type: 'array', items: result({ name: STRING, type: STRING }) },
      truncated: FLAG,
    }),
  ),
  shell_run: {
    description: 'Runs a shell command in the work directory, without network. The exit code is part of the result.',
    input: record({ command: { type: 'string', minLength: 1, description: 'One command line.' } }),
    output: result({ exitCode: { type: 'integer' }, stdout: STRING, stderr: STRING, truncated: FLAG }),
    effect: 'write',
    timeoutMs: 120 * SECOND,
    idempotent: false,
    category: 'sandbox',
    resource: WORK_DIR,
  },
  search_content: file(
    'read',
    'Finds lines of text files that match a regular expression.',
    record({ pattern: { type: 'string', minLength: 1, maxLength: 1_000 }, path: PATH }, ['pattern']),
    result({ matches: { type: 'array' }, truncated: FLAG }),
  ),
  search_files: file(
    'read',
    'Finds files by a part of their path.',
    record({ pattern: { type: 'string', minLength: 1, maxLength: 1_000 }, path: PATH }, ['pattern']),
    result({ files: { type: 'array', items: STRING }, truncated: FLAG }),
  ),
  git_status: git('Shows the changed files of the repository in the work directory.', {}, [], 'read'),
  git_diff: git('Shows changes as a diff.', { staged: FLAG, path: PATH }, [], 'read'),
  git_log: git('Shows the latest commits.', { count: { type: 'integer', minimum: 1, maximum: 100 } }, [], 'read'),
  git_show: git('Shows a commit.', { commit: REVISION }, ['commit'], 'read'),
  git_add: git('Stages files.', { path: PATH }, ['path'], 'write'),
  git_commit: git('Commits the staged files.', { message: { type: 'string', minLength: 1 } }, ['message'], 'write'),
  json_get: pure(
    'Reads a value of a JSON text by its path, such as `items.0.name`.',
    record({ json: text('The JSON text.'), path: text('Keys and indexes, separated by dots.') }),
    result({ found: FLAG, value: true }),
  ),
  json_keys: pure(
    'Lists the keys of a JSON object.',
    record({ json: text('The JSON text.') }),
    result({ keys: { type: 'array', items: STRING } }),
  ),
  json_merge: pure(
    'Merges two JSON objects; the second wins.',
    record({ first: text('A JSON object.'), second: text('A JSON object.') }),
    result({ value: true }),
  ),
  json_validate: pure(
    'Says whether a text is valid JSON.',
    record({ json: text('The text.') }),
    result({ valid: FLAG, reason: STRING }),
  ),
  scratchpad_write: file(
    'write',
    'Keeps a note under a key, for this and later turns.',
    record({ key: { type: 'string', minLength: 1, maxLength: 200 }, value: text('The note.') }),
    result({ bytes: WHOLE }),
  ),
  scratchpad_read: file(
    'read',
    'Reads the note under a key, or all notes.',
    record({ key: text('The key of one note.') }, []),
    result({ notes: { type: 'object' } }),
  ),
  chatroom_send: file(
    'write',
    'Adds a message to the chat room of the session.',
    record({ message: { type: 'string', minLength: 1, maxLength: 20_000 } }),
    result({ count: WHOLE }),
  ),
  chatroom_read: file(
    'read',
    'Reads the latest messages of the chat room.',
    record({}),
    result({ messages: { type: 'array' } }),
  ),
  handoff: {
    description: 'Ends the turn and says where the work goes next.',
    // Models may add fields, such as a reason.
    input: {
      type: 'object',
      properties: {
        route_keyword: { type: 'string', minLength: 1, description: 'One of the keywords that you were given.' },
        goal: text('The goal of the next agent, if it does not see the conversation.'),
        background: text('What the next agent has to know.'),
        constraints: text('What the next agent must not do.'),
      },
      required: ['route_keyword'],
    },
    output: STRING,
    effect: 'read',
    timeoutMs: SECOND,
    idempotent: true,
    category: 'review',
  },
  session_context_write: file(
    'write',
    'Leaves a summary for the next agent; it replaces the one before.',
    record({ content: text('The summary.') }),
    result({ bytes: WHOLE }),
  ),
  session_context_read: file('read', 'Reads the summary that was left last.', record({}), result({ content: STRING })),
  changes: file(
    'read',
    'Lists what tools have changed so far: files written and deleted, commands run, commits made.',
    record(
      {
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: 100,
          description: 'How many of the latest entries; default 10.',
        },
      },
      [],
    ),
    result({ entries: { type: 'array' } }),
  ),
  'http.get': {
    description: 'Fetches an address of an allowed host.',
    input: record({ url: text('An http or https address.'), headers: HEADERS }, ['url']),
    output: RESPONSE,
    effect: 'egress',
    timeoutMs: 30 * SECOND,
    idempotent: true,
    category: 'live_api',
  },
  'http.post': sending('Sends data to an address of an allowed host with POST.', false),
  'http.put': sending('Replaces data at an address of an allowed host with PUT.', true),
  'http.request': sending('Sends a request to an allowed host.', false, {
    method: { enum: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] },
  }),
  code_run: {
    description:
      'Runs JavaScript that can reach neither files nor network; the value of its last expression is the result.',
    input: record({ code: text('The source text.'), input: true }, ['code']),
    output: result({ value: true, logs: { type: 'array', items: STRING } }),
    effect: 'read',
    timeoutMs: 10 * SECOND,
    idempotent: true,
    category: 'sandbox',
  },
  calculator: {
    description: 'Evaluates arithmetic: + - * / % ^, parentheses, and functions such as sqrt, round, min, max, log.',
    input: record({ expression: { type: 'string', minLength: 1, maxLength: 2_000 } }),
    output: result({ value: { type: 'number' } }),
    effect: 'read',
    timeoutMs: SECOND,
    idempotent: true,
    category: 'sandbox',
  },
  review_request: {
    description: 'Puts something before people for review, and goes on.',
    input: record(
      {
        queue: text('Which queue; default `review`.'),
        reason: { type: 'string', minLength: 1 },
        severity: { enum: ['low', 'medium', 'high', 'critical'] },
        evidence: { type: 'array', items: STRING, description: 'Ids of observations.' },
      },
      ['reason'],
    ),
    output: result({ id: STRING, queue: STRING, state: STRING }),
    effect: 'write',
    timeoutMs: 10 * SECOND,
    idempotent: true,
    category: 'review',
  },
} as const satisfies { readonly [name: string]: BuiltinTool };

export type BuiltinToolName = keyof typeof BUILTIN_TOOLS;

export function isBuiltinTool(name: string): name is BuiltinToolName {
  return Object.hasOwn(BUILTIN_TOOLS, name);
}

export const BUILTIN_TOOL_NAMES: ReadonlySet<string> = new Set(Object.keys(BUILTIN_TOOLS));

/** A plugin grants all of its tools, and no others. */
export const PLUGINS: { readonly [plugin: string]: readonly BuiltinToolName[] } = {
  FileSystem: ['read_file', 'write_file', 'patch_file', 'delete_file', 'list_directory'],
  Shell: ['shell_run'],
  Handoff: ['handoff'],
  SessionContext: ['session_context_write', 'session_context_read'],
  Changes: ['changes'],
  Http: ['http.get', 'http.request'],
  Code: ['code_run', 'calculator'],
  Review: ['review_request'],
  Search: ['search_content', 'search_files'],
  Git: ['git_status', 'git_diff', 'git_log', 'git_show', 'git_add', 'git_commit'],
  Json: ['json_get', 'json_keys', 'json_merge', 'json_validate'],
  Scratchpad: ['scratchpad_write', 'scratchpad_read'],
  Chatroom: ['chatroom_send', 'chatroom_read'],
  // The agent explores by itself, with tools that only read.
  SubAgent: ['search_content', 'search_files', 'read_file', 'list_directory'],
  CodeExecution: ['code_run'],
  Probe: ['code_run'],
};

export function builtinTool(name: string): ToolDef | undefined {
  if (!isBuiltinTool(name)) return undefined;
  const { description, input, effect, timeoutMs, idempotent, category, resource }: BuiltinTool = BUILTIN_TOOLS[name];
  // The result is not checked: a script may replace the tool and return less.
  return {
    description,
    input,
    output: true,
    effect,
    implementation: { builtin: name },
    timeoutMs,
    permission: name,
    idempotent,
    compensate: null,
    category,
    ...(resource === undefined ? {} : { resource }),
    ...(NEUTRAL.has(name) ? { trust: 'neutral' } : {}),
  };
}

/** Tools whose results follow from their arguments alone. */
const NEUTRAL: ReadonlySet<string> = new Set([
  ...['calculator', 'code_run', 'handoff', 'review_request'],
  ...(PLUGINS['Json'] ?? []),
]);
