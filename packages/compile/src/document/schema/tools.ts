/** The sections `tools` and `mcp`. */
import * as z from 'zod';
import { TOOL_CATEGORIES } from '@sluice-internal/kernel/catalog';
import { EFFECT_CLASSES } from '@sluice-internal/kernel/ir';
import {
  bool,
  expects,
  fault,
  int,
  json,
  list,
  headers,
  map,
  name,
  number,
  oneOf,
  record,
  ruled,
  text,
} from '../shape/fields.ts';
import { jsonSchema } from '../shape/schema-check.ts';
import { approvers } from './people.ts';

export const IMPLEMENTATIONS = ['http', 'shell', 'module', 'mcp', 'code'] as const;

const toolName = name().regex(/^[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*)*$/, {
  error: expects('a name such as `module.action`'),
});

const seconds = () => number({ above: 0, max: 86_400 });
const timeout = () => seconds().optional().describe('Seconds that one call may take. Default: 30.');
const timeouts = z.union([
  seconds(),
  record(() => ({
    attempt: seconds().optional().describe('Seconds of one attempt in one process. Default: 30.'),
    queue: seconds().optional().describe('Seconds that an attempt may wait for its rate limit. Default: no limit.'),
    whole: seconds().optional().describe('Seconds of a call with all its attempts. Default: no limit.'),
    heartbeat: seconds()
      .optional()
      .describe('Seconds after which an attempt of a function that calls no `context.heartbeat()` is lost.'),
  })),
]);
const ADDRESS = { error: expects('an address such as `https://api.example.com/items`') };

const http = record(() => ({
  method: oneOf(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD']).default('GET').describe('The HTTP method.'),
  // Checks only the literal part. The values of templates are known when the tool is called.
  url: name()
    .regex(/^(?:\{\{|https?(?:\{\{|:\/\/[^\s/?#]))/, ADDRESS)
    .describe('The address. `{{name}}` is the argument `name`.'),
  headers: headers(text()).optional().describe('Headers of the request. Templates work.'),
  query: map(json())
    .optional()
    .describe('Query parameters. Templates work. Default for GET, HEAD and DELETE: the other arguments.'),
  body: json()
    .optional()
    .describe('The body, sent as JSON. Templates work. Default for POST, PUT and PATCH: all arguments.'),
}));

/** Text that a shell runs. An argument in it would be run too, so templates are an error. */
const command = ruled(name(), (text) =>
  text.includes('{{')
    ? fault(
        'bad-template',
        'a shell command cannot contain `{{`: the value would be run as part of the command',
        'Write `"$ARG_name"` for the argument `name`, or use `argv: [program, "{{name}}"]`.',
      )
    : null,
);

/** Exactly one of two keys must be there. */
function eitherOf(one: unknown, other: unknown, neither: string, both: string): string | null {
  if ((one === undefined) !== (other === undefined)) return null;
  return one === undefined
    ? fault('missing-field', neither, 'Write one of the two.')
    : fault('several-implementations', both, KEEP_ONE);
}

const KEEP_ONE = 'Keep one of them.';

const shell = z.union([
  command.transform((text) => ({ command: text })),
  ruled(
    record(() => ({
      command: command.optional().describe('Text that a shell runs. Arguments are the variables `ARG_name`.'),
      argv: list(text())
        .min(1, { error: expects('a program and its arguments') })
        .optional()
        .describe('A program and its arguments, without a shell. Each entry may contain templates.'),
      cwd: name().optional().describe('The folder in which the command runs.'),
      env: map(text()).optional().describe('Variables of the command. Values may contain templates.'),
    })),
    ({ command, argv }) =>
      eitherOf(
        command,
        argv,
        'this tool needs a `command` for the shell or an `argv` list',
        'this tool has both a `command` and an `argv`',
      ),
  ),
]);

const code = z.union([
  name().transform((source) => ({ language: 'javascript' as const, source })),
  record(() => ({
    language: oneOf(['javascript']).default('javascript').describe('The language of the source.'),
    source: name().describe('The source. It runs in a sandbox and returns the result.'),
  })),
]);

const SILENT = ['http', 'shell', 'mcp', 'code'] as const;

type Times = Exclude<z.output<typeof timeouts>, number>;

/** Times that cannot be enforced, or that no call can use. */
function badTimes({
  timeout: given,
  ...tool
}: {
  readonly timeout?: number | Times | undefined;
  readonly rate_limit?: unknown;
  readonly [key: string]: unknown;
}): readonly { readonly path: keyof Times; readonly message: string }[] {
  if (given === undefined || typeof given === 'number') return [];
  const { attempt, queue, whole, heartbeat } = given;
  const silent = SILENT.find((key) => tool[key] !== undefined);
  const rules: readonly (readonly [boolean, keyof Times, string, string])[] = [
    [
      heartbeat !== undefined && silent !== undefined,
      'heartbeat',
      `a tool with \`${silent}\` gives no sign of life`,
      'Only a module or a function of the program calls `context.heartbeat()`.',
    ],
    [
      heartbeat !== undefined && heartbeat >= (attempt ?? 30),
      'heartbeat',
      'the heartbeat is not shorter than the attempt, so it never ends one',
      'Give `attempt` more seconds, or `heartbeat` fewer.',
    ],
    [
      queue !== undefined && tool.rate_limit === undefined,
      'queue',
      'nothing makes this tool wait, so it has no queue',
      'Add a `rate_limit`, or leave out `queue`.',
    ],
    [
      whole !== undefined && whole < (attempt ?? 30),
      'whole',
      'the whole call has less time than one attempt',
      'Give `whole` at least the seconds of `attempt`.',
    ],
  ];
  return rules.flatMap(([holds, path, message, help]) =>
    holds ? [{ path, message: fault('not-enforced', message, help) }] : [],
  );
}
const stated = (text: string) =>
  name().optional().describe(`${text} An expression over \`args\`. Without a value, a person is asked about the call.`);

export const tools = map(
  record(() => ({
    description: text().optional().describe('The text that a model reads about the tool.'),
    input: jsonSchema().optional().describe('The JSON Schema of the arguments. Default: anything.'),
    output: jsonSchema().optional().describe('The JSON Schema of the result. Default: anything.'),
    effect: oneOf(EFFECT_CLASSES)
      .optional()
      .describe('The effect of a call. Default: that of the built-in tool, otherwise `write`.'),
    http: http.optional().describe('The tool is an HTTP request.'),
    shell: shell.optional().describe('The tool is a command in the sandbox.'),
    module: name()
      .regex(/^[^#]+#[\w$]+$/, { error: expects('a path and an export, such as `./tools.ts#send`') })
      .optional()
      .describe('The tool is an exported function, such as `./tools.ts#send`.'),
    mcp: name()
      .regex(/^[^/]+\/.+$/, { error: expects('a server and a tool, such as `files/read`') })
      .optional()
      .describe('The tool is one of an MCP server, such as `files/read`.'),
    code: code.optional().describe('The tool is JavaScript that runs in a sandbox.'),
    compensate: name().optional().describe('The tool that undoes a call of this one.'),
    timeout: timeouts
      .optional()
      .describe('Seconds that one attempt of a call may take, or the times by name. Default: 30.'),
    approval: oneOf(['never', 'always'])
      .optional()
      .describe(
        '`always`: a person is asked before every call. `never`: the effect of the tool alone is no reason to ask.',
      ),
    repeatable: bool()
      .optional()
      .describe(
        'Whether an agent may make the same call again in a run without a question. Default: false for financial, communication and infrastructure, otherwise true.',
      ),
    amount: stated('The amount of a call, for the person who is asked: `args.price * args.quantity`.'),
    recipients: stated('Everybody whom a call reaches: `[args.to] + args.cc`.'),
    payee: stated('Who gets the money, with the account: `args.iban`.'),
    approvers: approvers.optional().describe('The people who may approve a call. Every call then needs approval.'),
    rate_limit: record({
      calls: int({ min: 1 }).describe('The most calls.'),
      per_seconds: number({ above: 0 }).describe('The seconds in which they count.'),
    })
      .optional()
      .describe('The most calls of this tool in a time. Default: no limit.'),
    cost: number({ min: 0 }).optional().describe('US dollars per call. Default: 0.'),
    permission: name().optional().describe('The name of its group in policies. Default: the name of the tool.'),
    idempotent: bool().optional().describe('True if a call can be repeated under its key without a second effect.'),
    category: oneOf(TOOL_CATEGORIES).optional().describe('The kind of tool, which profiles use.'),
    resource: name()
      .optional()
      .describe('Calls of one reply that use the same resource run one after another; reads of it run at once.'),
    trust: oneOf(['trusted', 'neutral', 'untrusted'])
      .optional()
      .describe(
        '`trusted` if outsiders cannot write any of its result; `neutral` if the result only follows from the arguments. Default: `untrusted`.',
      ),
    trusted_fields: list(name())
      .optional()
      .describe('Fields of the result that outsiders cannot write, such as an id or an amount.'),
    tenure: name()
      .regex(/^(?:run|\d{1,6}[mhd])$/, { error: expects('`run`, or a time such as `12h` or `30d`') })
      .optional()
      .describe(
        'How long a result holds: `run`, or a time such as `12h`. An answer that rests on it is remembered no longer.',
      ),
    confidential: bool().optional().describe('True if its results may leave the machine only with approval.'),
    verify: name()
      .optional()
      .describe(
        'An expression over `result` that must hold before the result is used, or the tool that looks up whether a call happened that did not answer.',
      ),
  })).superRefine((tool, context) => {
    for (const { path, message } of badTimes(tool))
      context.addIssue({ code: 'custom', message, path: ['timeout', path], params: { on: 'key' } });
    const given = IMPLEMENTATIONS.filter((key) => tool[key] !== undefined);
    if (given.length < 2) return;
    const message = fault(
      'several-implementations',
      `this tool has ${given.length} implementations: ${given.map((key) => `\`${key}\``).join(' and ')}`,
      KEEP_ONE,
    );
    context.addIssue({ code: 'custom', message, path: [given[1] ?? ''], params: { on: 'key' } });
  }),
  toolName,
).describe('Tools by full name, `module.action`.');

const oauth = ruled(
  record(() => ({
    client_id: name().optional().describe('The id of the client.'),
    client_secret: name().optional().describe('The secret of the client.'),
    private_key: name().optional().describe('A key in PEM form that signs for the client, instead of a secret.'),
    algorithm: name().optional().describe('The algorithm of the signature. Default `RS256`.'),
    login: bool().optional().describe('A person logs in with `sluice mcp login`.'),
    scope: name().optional().describe('The scopes to ask for, separated by blanks.'),
    issuer: name()
      .optional()
      .describe('The authorization server that gets the credentials. Default: the origin of `url`.'),
  })),
  ({ client_id: id, client_secret: secret, private_key: key, login }) => {
    if (id === undefined && login !== true)
      return fault('missing-field', '`oauth` needs a `client_id`', 'For the login of a person, set `login: true`.');
    return key !== undefined && (secret !== undefined || login === true)
      ? fault('several-implementations', '`private_key` stands beside another way to get a token', KEEP_ONE)
      : null;
  },
).describe('For a server that needs OAuth. Use `{{env.NAME}}` for secrets.');

const server = ruled(
  record(() => ({
    command: name().optional().describe('The program that serves over standard input and output.'),
    args: list(text()).optional().describe('Arguments of the program.'),
    env: map(text()).optional().describe('Environment variables of the program.'),
    cwd: name().optional().describe('The folder in which the program starts.'),
    url: name()
      .regex(/^https?:\/\/[^\s/?#{]/, ADDRESS)
      .optional()
      .describe('The address of a server that speaks HTTP.'),
    headers: headers(text()).optional().describe('Headers of every request.'),
    timeout: timeout(),
    tools: list(name()).optional().describe('The only tools of this server that may be used.'),
    trusted: bool().optional().describe('The effect of an undeclared tool follows from the hints of the server.'),
    oauth: oauth.optional(),
  })),
  ({ command, url }) =>
    eitherOf(
      command,
      url,
      'this server needs a `command` to start or a `url` to call',
      'this server has both a `command` and a `url`',
    ),
);

export const mcp = map(server).describe('MCP servers by name; their tools are `server.tool`.');

type Tools = z.output<typeof tools>;
export type Tool = Tools[string];
export type McpServers = z.output<typeof mcp>;
