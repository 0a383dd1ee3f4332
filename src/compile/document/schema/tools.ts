/** The sections that say what can be done: `tools` and `mcp`. */
import * as z from 'zod';
import { TOOL_CATEGORIES } from '../../../catalog/builtin-tools.ts';
import { EFFECT_CLASSES } from '../../../ir/effect-classes.ts';
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

const ADDRESS = { error: expects('an address such as `https://api.example.com/items`') };

const http = record(() => ({
  method: oneOf(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD']).default('GET'),
  // As far as it is written out: what a template makes of the rest is known when it is called.
  url: name().regex(/^(?:\{\{|https?(?:\{\{|:\/\/[^\s/?#]))/, ADDRESS),
  headers: headers(text()).optional(),
  query: map(json()).optional(),
  body: json().optional(),
}));

/** Text that a shell runs. An argument in it would be run too, so templates are an error. */
const command = ruled(name(), (text, context) => {
  if (!text.includes('{{')) return;
  const message = fault(
    'bad-template',
    'a shell command cannot contain `{{`: the value would be run as part of the command',
    'Write `"$ARG_name"` for the argument `name`, or use `argv: [program, "{{name}}"]`.',
  );
  context.addIssue({ code: 'custom', message });
});

const shell = z.union([
  command.transform((text) => ({ command: text })),
  ruled(
    record(() => ({
      command: command.optional().describe('Text that a shell runs. Arguments are the variables `ARG_name`.'),
      argv: list(text())
        .min(1, { error: expects('a program and its arguments') })
        .optional()
        .describe('A program and its arguments, without a shell. Each entry may contain templates.'),
      cwd: name().optional(),
      env: map(text()).optional().describe('Variables of the command. Values may contain templates.'),
    })),
    ({ command, argv }, context) => {
      if ((command === undefined) !== (argv === undefined)) return;
      const neither = command === undefined;
      const message = neither
        ? fault('missing-field', 'this tool needs a `command` for the shell or an `argv` list')
        : fault('several-implementations', 'this tool has both a `command` and an `argv`', 'Keep one of them.');
      context.addIssue({ code: 'custom', message });
    },
  ),
]);

const code = z.union([
  name().transform((source) => ({ language: 'javascript' as const, source })),
  record(() => ({ language: oneOf(['javascript']).default('javascript'), source: name() })),
]);

export const tools = map(
  record(() => ({
    description: text().optional(),
    input: jsonSchema().optional(),
    output: jsonSchema().optional(),
    effect: oneOf(EFFECT_CLASSES)
      .optional()
      .describe('What a call does to the world. Default: that of the built-in tool, otherwise `write`.'),
    http: http.optional(),
    shell: shell.optional(),
    module: name()
      .regex(/^[^#]+#[\w$]+$/, { error: expects('a path and an export, such as `./tools.ts#send`') })
      .optional(),
    mcp: name()
      .regex(/^[^/]+\/.+$/, { error: expects('a server and a tool, such as `files/read`') })
      .optional(),
    code: code.optional(),
    compensate: name().optional().describe('The tool that undoes a call of this one.'),
    timeout: number({ above: 0, max: 86_400 }).optional().describe('Seconds.'),
    approval: bool().optional().describe('Ask a person before every call.'),
    approvers: approvers.optional().describe('The people who may approve a call. Every call then needs approval.'),
    rate_limit: record({ calls: int({ min: 1 }), per_seconds: number({ above: 0 }) }).optional(),
    cost: number({ min: 0 }).optional().describe('US dollars per call.'),
    permission: name().optional().describe('What the user must be granted for a call to be made.'),
    idempotent: bool().optional().describe('A call may be repeated under its key without a second effect.'),
    category: oneOf(TOOL_CATEGORIES).optional().describe('What kind of tool it is; profiles go by it.'),
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
    confidential: bool().optional().describe('Its results must not leave the machine without approval.'),
    verify: name()
      .optional()
      .describe(
        'An expression over `result` that must hold before the result is used, or the tool that looks up whether a call happened that did not answer.',
      ),
  })).superRefine((tool, context) => {
    const given = IMPLEMENTATIONS.filter((key) => tool[key] !== undefined);
    if (given.length < 2) return;
    const message = fault(
      'several-implementations',
      `this tool has ${given.length} implementations: ${given.map((key) => `\`${key}\``).join(' and ')}`,
      'Keep one of them.',
    );
    context.addIssue({ code: 'custom', message, path: [given[1] ?? ''], params: { on: 'key' } });
  }),
  toolName,
).describe('Tools by full name, `module.action`.');

const oauth = ruled(
  record(() => ({
    client_id: name().optional(),
    client_secret: name().optional(),
    private_key: name().optional().describe('A key in PEM form that signs for the client, instead of a secret.'),
    algorithm: name().optional().describe('The algorithm of the signature. Default `RS256`.'),
    login: bool().optional().describe('A person logs in with `sluice mcp login`.'),
    scope: name().optional(),
    issuer: name()
      .optional()
      .describe('The authorization server that gets the credentials. Default: the origin of `url`.'),
  })),
  ({ client_id: id, client_secret: secret, private_key: key, login }, context) => {
    const add = (code: 'missing-field' | 'several-implementations', message: string, help: string): void =>
      void context.addIssue({ code: 'custom', message: fault(code, message, help) });
    if (id === undefined && login !== true)
      add('missing-field', '`oauth` needs a `client_id`', 'For the login of a person, set `login: true`.');
    else if (key !== undefined && (secret !== undefined || login === true))
      add('several-implementations', '`private_key` stands beside another way to get a token', 'Keep one of them.');
  },
).describe('For a server that needs OAuth. Use `{{env.NAME}}` for secrets.');

const server = ruled(
  record(() => ({
    command: name().optional().describe('The program that serves over standard input and output.'),
    args: list(text()).optional(),
    env: map(text()).optional(),
    cwd: name().optional(),
    url: name()
      .regex(/^https?:\/\/[^\s/?#{]/, ADDRESS)
      .optional()
      .describe('The address of a server that speaks HTTP.'),
    headers: headers(text()).optional(),
    timeout: number({ above: 0, max: 86_400 }).optional().describe('Seconds.'),
    tools: list(name()).optional().describe('The only tools of this server that may be used.'),
    trusted: bool()
      .optional()
      .describe('The effect of an undeclared tool follows from the hints of the server.'),
    oauth: oauth.optional(),
  })),
  ({ command, url }, context) => {
    if ((command === undefined) !== (url === undefined)) return;
    const neither = command === undefined;
    const message = neither
      ? 'this server needs a `command` to start or a `url` to call'
      : 'this server has both a `command` and a `url`';
    context.addIssue({
      code: 'custom',
      message: fault(
        neither ? 'missing-field' : 'several-implementations',
        message,
        neither ? undefined : 'Keep one of them.',
      ),
    });
  },
);

export const mcp = map(server).describe('MCP servers by name; their tools are `server.tool`.');

type Tools = z.output<typeof tools>;
export type Tool = Tools[string];
export type McpServers = z.output<typeof mcp>;
