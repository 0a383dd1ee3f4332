/**
 * All commands: their texts, arguments and options. The types of the options come from their flags: `--work-dir <dir>` is
 * `workDir?: string`. `program.ts` names the function of each command.
 */
import { RUN_STATES, TERMINAL_CODES } from '@sluice-internal/kernel/ir';
import { PERIODS } from '@sluice-internal/engine/ports';

/** The text of an argument or an option, and what else it needs. */
export type Described =
  | string
  | {
      readonly about: string;
      readonly choices?: readonly string[];
      /** The value lists several choices, and the command itself checks each of them. */
      readonly listed?: true;
      readonly default?: string;
      /** An option that cannot be left out. */
      readonly required?: true;
    };
/** Keys in brackets are arguments, keys with dashes are options. */
export type Spec = { readonly about: string; readonly [part: string]: Described };

const RUN = { '<run>': 'the id of a run' } as const;
const ANY_RUN = { '[run]': 'the id of a run' } as const;
const FLOW = { '<file>': 'a flow document' } as const;
const ENTRY = { '<entry>': 'an entry' } as const;
const AFTER = { '--after <seq>': 'only later events' } as const;
const PAGE = {
  '-n, --limit <number>': 'list at most this many; `--json` then prints the items and the cursor of the next page',
  '--cursor <place>': 'the `next` of the page before',
} as const;
const UNVERIFIED = { '--unverified': 'print the stored run even if its hashes do not match, with a warning' } as const;
const BASELINE = {
  '--baseline <file>': 'compare with an earlier .json report; exit 1 if a metric got worse',
} as const;
const NEW_RUN = { '--run <id>': 'the id of the new run' } as const;
const SUITE_FILE = { '--out <file>': 'the file of the suite; standard output by default' } as const;

/** Options of the commands that an operator changes the database with. */
const OPERATOR = { '--as <who>': 'the name of the person who does it', '--why <text>': 'the reason' } as const;

const REPORTS = {
  '--junit <file>': 'write JUnit XML',
  '--html <file>': 'write an HTML page with plots',
  '--report <file...>': 'write a report: .json, .md, .html or .xml (JUnit)',
} as const;

/** Options of the commands that work on a run. */
const WORLD = {
  '-s, --script <file>': 'a file that replaces models, tools and people',
  '-m, --model <model>': 'the model of agents that name no model',
  '--work-dir <dir>': 'the folder in which the tools work',
  '--allow-host <host...>': 'hosts that `http.get` and `http.request` may call; * for every public host',
  '--shell-limit <name=value...>': 'limits of shell commands: cpu, memory, processes, file, disk',
} as const;

/** Options of the commands that continue a run. */
const CONTINUE = {
  ...WORLD,
  '--no-script': 'use real models and tools, although the run started with a script',
  '--accept-changed-code': 'continue although the code of modules has changed; the journal records it',
} as const;

export const COMMANDS = {
  init: {
    about: 'make a new project that runs offline',
    '[dir]': { about: 'the folder', default: '.' },
    '--template <name>': 'support, research, team or typescript; adds a package.json and a test',
    '--force': 'overwrite existing files',
  },
  check: {
    about: 'compile documents; print every mistake, or the nodes, limits and costs',
    '<files...>': 'flow documents',
    '--max-cost <usd>': 'exit 1 if a run can cost more, or if nothing limits its cost',
  },
  graph: {
    about: 'draw a flow, or what happened in a run',
    '<file>': 'the document, or the id of a run',
    '-f, --format <format>': {
      about: 'the format of the picture',
      choices: ['mermaid', 'dot', 'svg', 'json'],
      default: 'mermaid',
    },
    '-d, --direction <way>': { about: 'the direction of the drawing', choices: ['down', 'right'], default: 'down' },
  },
  schema: {
    about: 'print the JSON Schema of a document, or of the Agent Run Trace',
    '[of]': { about: 'the kind of schema', choices: ['document', 'trace'], default: 'document' },
  },
  run: {
    about: 'start a run and follow it',
    ...FLOW,
    ...WORLD,
    '-i, --input <value>': 'text, JSON or @file',
    '--attach <file...>': 'an image, PDF or sound for the input: a path or a URL',
    '--user <name>': 'the user of the run',
    '--run <id>': 'an id for the run; a second start with it, the same input, user and deadline gives the same run',
    '--seed <number>': 'the seed of random choices',
    '--deadline <time>': 'the run stops at this time, such as 2026-12-01T09:00:00Z',
    '--thread <id>': 'the conversation that the run belongs to; it has at most one open run',
    '--web': 'open the page of the run; the command ends with the run',
  },
  answer: {
    about: 'answer a question; the run continues',
    '<id>': 'the id of the question',
    '<choice>': 'one of its choices',
    ...CONTINUE,
    '--edit <json>': 'data that replaces the proposed data',
    '--data <json>': 'data for the `fields` of the question',
    '--text <text>': 'words for the agent, or a remark',
    '--as <who>': 'the name of the person who answers: one of `people`, if the flow declares any',
    '--key <file>': 'the private key of that person, or its name in `sluice keys list`',
    '--payload <hash>': 'answer only if the question still has this payload',
  },
  guide: {
    about: 'say something to the agents of a running run',
    ...RUN,
    '<text>': 'the words',
    '--agent <id>': 'only this agent hears them; otherwise the one that asks its model next',
    '--as <who>': 'the name of the person who says it',
  },
  signal: {
    about: 'send a signal to a run that waits for it; the run continues',
    ...RUN,
    '<name>': 'the name of the signal, or of the `wait` node',
    ...CONTINUE,
    '--data <json>': 'the data of the signal',
    '--as <who>': 'the name of the sender',
  },
  resume: {
    about: 'continue a run after a crash or a stop; without a run, all unfinished runs',
    ...ANY_RUN,
    ...CONTINUE,
    '--budget <name=amount...>': 'add to a budget that was used up, and go on: tool_calls=20, cost_usd=0.5',
    '--as <who>': 'the name of the person who adds to the budget',
  },
  retry: {
    about: 'try a run again from the call that failed; what succeeded before stays',
    ...RUN,
    ...CONTINUE,
    ...NEW_RUN,
    '--as <who>': 'the name of the person who tries again',
  },
  fork: {
    about: 'start a new run from a past event of a run, with edits',
    ...RUN,
    ...CONTINUE,
    '--at <seq>': { about: 'the last event that both runs share', required: true },
    '--set <slot=json...>': 'a new value of a slot: input="hello", triage.output={…}',
    '--answer <question=choice...>': 'answer a question that is open at that event: gate=approve',
    '--agent-model <agent=model...>': 'another model of an agent',
    '--instructions <agent=text...>': 'other instructions of an agent; @file reads them',
    ...NEW_RUN,
    '--as <who>': 'the name of the person who forks and answers',
  },
  migrate: {
    about: 'move a waiting run to a new version of its flow',
    ...RUN,
    '<file>': 'the new version',
    ...CONTINUE,
    '--dry-run': 'only check if the run fits',
    ...NEW_RUN,
    '--as <who>': 'the name of the person who moves it',
  },
  cancel: {
    about: 'stop a run and undo its effects',
    ...RUN,
    ...CONTINUE,
    '--as <who>': 'the name of the person who cancels',
    '--why <text>': 'the reason',
  },
  runs: {
    about: 'list the runs, newest first',
    '--state <states>': {
      about: 'only runs in these states, separated by commas',
      choices: RUN_STATES,
      listed: true,
    },
    '--flow <id>': 'only runs of this flow',
    '--code <code>': { about: 'only runs that ended, or wait, with this code', choices: TERMINAL_CODES },
    '--user <name>': 'only runs of this user',
    '--thread <id>': 'only runs of this thread',
    '--since <time>': 'only runs that started later: a date, or 30d, 12h',
    ...PAGE,
  },
  show: { about: 'print the state and the result of a run', ...RUN, ...UNVERIFIED },
  approvals: {
    about: 'list the open questions; on a terminal, an inbox to answer them',
    ...ANY_RUN,
    ...PAGE,
    ...CONTINUE,
  },
  replay: { about: 'decide every step again from the journal, without calls, and compare', ...RUN },
  erase: { about: 'delete the personal data of a run for good', ...RUN },
  diff: { about: 'print the differences between two runs', ...RUN, '<other>': 'another run' },
  backup: { about: 'copy the database while runs continue', '<file>': 'the file to write' },
  rekey: { about: 'seal everything that is stored with the first key in SLUICE_JOURNAL_KEY' },
  prune: {
    about: 'remove ended runs by the rule of their flow, or by these options',
    '--flow <id>': 'only runs of this flow',
    '--keep <number>': 'keep this many of the newest runs of each flow and tenant',
    '--older-than <time>': 'remove runs that ended earlier: a date, or 30d, 12h',
    '--export <dir>': 'write each run to this folder first',
    '--dry-run': 'only list the runs',
  },
  memory: { about: 'manage the long-term memory of agents' },
  'memory list': {
    about: 'list the entries, newest first',
    '--agent <id>': 'only entries of this agent',
    '--user <name>': 'only entries of this user',
    '--share <name>': 'only entries of this shared memory',
    '--state <state>': { about: 'only entries in this state', choices: ['active', 'quarantined', 'expired'] },
    '--search <text>': 'only entries with one of these words, best first',
    '-n, --limit <number>': 'list at most this many entries',
  },
  'memory show': { about: 'print an entry with its sources', ...ENTRY },
  'memory release': {
    about: 'let later runs read an entry that is in quarantine; the database records who did it',
    ...ENTRY,
    ...OPERATOR,
  },
  'memory forget': { about: 'delete an entry for good; the database records who did it', ...ENTRY, ...OPERATOR },
  'memory log': { about: 'list releases, deletions and refused accesses' },
  quotas: { about: 'list the quotas of tenants, their use, and refused starts' },
  'quotas set': {
    about: 'limit the runs of a tenant; the database records who did it',
    '<tenant>': 'a tenant, or * for every tenant without a quota of its own',
    ...OPERATOR,
    '--runs <number>': 'runs that start within the period',
    '--concurrent <number>': 'runs that have not ended',
    '--tokens <number>': 'tokens within the period',
    '--usd <amount>': 'dollars within the period',
    '--per <period>': { about: 'the period, by the calendar in UTC; day by default', choices: PERIODS },
  },
  'quotas remove': { about: 'remove the quota of a tenant', '<tenant>': 'a tenant, or *', ...OPERATOR },
  audit: { about: 'check and export the audit trail' },
  'audit verify': {
    about: 'check that no run and no record was changed',
    '[run]': 'a run, or a file of `audit export`; without it, all runs',
    '--heads <file>': 'compare with a file of `audit heads`',
    '--rebuild': 'make the lists of facts and questions again from the journals',
    '--key <public>': 'the public key that must have signed every ended run: ed25519:…',
  },
  'audit acts': { about: 'list the acts of operators, and accesses that were refused to tenants' },
  'audit export': {
    about: 'write a run to a file that can be checked on another machine',
    ...RUN,
    '--out <file>': { about: 'the file to write', required: true },
  },
  'audit restore': {
    about: 'store a run again that the database has lost',
    '<file>': 'a file of `audit export`',
    '--key <public>': 'the public key that must have signed it: ed25519:…',
  },
  'audit heads': {
    about: 'write the last hash of every run, to find a database that was rolled back',
    '--out <file>': 'the file to write',
    '--webhook <url>': 'post them to this address',
  },
  trace: {
    about: 'print the events of a run',
    ...RUN,
    '--events': 'print every event of the journal',
    '--prompts': 'add the messages that each model received',
    ...AFTER,
    ...UNVERIFIED,
    '-f, --format <format>': {
      about: 'events, the Agent Run Trace, or OpenTelemetry spans',
      choices: ['events', 'art', 'otel'],
      default: 'events',
    },
  },
  watch: {
    about: 'follow a run of any process until it ends or waits; with --json, one event per line',
    ...RUN,
    ...AFTER,
  },
  logs: {
    about: 'print what happened in a run, one line for each event',
    '[run]': 'a run; without it, the newest',
    '-f, --follow': 'continue until the run ends or waits',
    ...AFTER,
  },
  explain: { about: 'summarize a run in one sentence, then in detail', ...RUN },
  breakers: { about: 'list the circuit breakers of the database' },
  'breakers open': {
    about: 'open a breaker by hand; the database records who did it',
    '<breaker>': 'AGENT@PROVIDER/MODEL',
    ...OPERATOR,
  },
  'breakers close': {
    about: 'close a breaker by hand; the database records who did it',
    '<breaker>': 'AGENT@PROVIDER/MODEL',
    ...OPERATOR,
  },
  budget: { about: 'print the retry budget that all runs share, and how fast the latest runs spend' },
  eval: {
    about: 'run the cases of a suite and compute metrics',
    '<suite>': 'a suite',
    '--tag <tag...>': 'only cases with one of these tags',
    '-m, --model <model>': 'the model of agents that name no model',
    ...BASELINE,
    ...REPORTS,
  },
  'eval record': {
    about: 'write a stored run as a golden case',
    ...RUN,
    '--flow <file>': 'the document of the run',
    '--name <name>': 'the name of the case',
    ...SUITE_FILE,
  },
  'eval from-runs': {
    about: 'write stored runs as cases, with the recorded replies and results',
    '--where <expression>': `only runs for which this is true: 'code == "SUCCESS"'`,
    '--sample <number>': 'at most this many runs, chosen at random by the seed',
    '--since <time>': 'only runs that started later',
    '--seed <number>': 'the seed of the choice',
    '--flow <file>': 'the document of the runs',
    ...SUITE_FILE,
  },
  simulate: {
    about: 'run a flow thousands of times with generated replies and faults, without models or tools',
    ...FLOW,
    '--runs <number>': 'the number of runs; 1,000 by default',
    '--seed <number>': 'the seed of the first run; the next run has the next seed',
    '-i, --input <json>': 'the input of every run; generated by default',
    '--until-coverage': 'stop after 200 runs in a row that reach nothing new',
    ...REPORTS,
  },
  metrics: {
    about: 'compute the 18 metrics over the runs of the database',
    '--since <time>': 'only runs that started later: a date, or 7d, 12h, 30m',
    '--flow <id>': 'only runs of this flow',
    '--report <file...>': 'write a report: .json, .md, .html, .xml (JUnit) or .txt',
    ...BASELINE,
    '--gate': 'exit 1 if a target is missed',
  },
  diagnose: {
    about: 'find the 23 known pathologies of agents in a run, with evidence and remedy',
    ...ANY_RUN,
    '--since <time>': 'all runs that started later: a date, or 7d, 12h, 30m',
    '--judge [model]': 'also ask an agent for the decisive step of a failed run: provider/model',
    '--script <file>': 'the replies of the judge, as the agent `judge`',
  },
  worker: {
    about: 'continue the runs of a database until it is stopped; any number can share one',
    '--concurrency <number>': 'runs at a time; those that wait do not count. No limit by default',
    '--drain <seconds>': { about: 'the time that calls in flight have after SIGTERM', default: '30' },
    '--port <number>': 'the port of the health endpoint; a free one by default',
    '--host <address>': 'the address of the health endpoint; 127.0.0.1 by default',
    ...WORLD,
  },
  tenants: { about: 'the rights of people with SQL, for a store in Postgres' },
  'tenants grant': {
    about: 'let a role of the database read the rows of a tenant, and no others',
    '<tenant>': 'the name of the tenant',
    '<role>': 'a role of the database',
  },
  serve: {
    about: 'serve flows over HTTP until it is stopped',
    '[folders...]': 'folders with documents; the current one by default',
    '--port <number>': 'the port; 4747 by default, 0 for a free one',
    '--host <address>': 'the address to listen on; 127.0.0.1 by default',
    '--as <person>': 'the person at this machine: one of `people` with `login: token:local`',
    '-m, --model <model>': 'the model of agents that name no model',
    '--oidc <issuer>': 'people log in there',
    '--oidc-client <id>': 'the client of the page at the issuer',
    '--oidc-audience <name>': 'the audience of its tokens; the client by default',
    '--tenant-claim <name>': 'the claim with the tenant; `tenant` by default',
    '--access-claim <name>': 'the claim with the access; `access` by default',
    '--trust-proxy': 'a proxy in front checks the host',
    '--host-name <name...>': 'names under which the server is called',
    '--origin <url...>': 'pages elsewhere that may call',
    '--check-config': 'check everything, and do not serve',
  },
  dev: {
    about: 'serve a folder and open its page: change flows, run them, decide',
    '[folder]': 'the folder with documents; the current one by default',
    '--port <number>': 'the port; 4747 by default, 0 for a free one',
    '--as <person>': 'the person at this machine: one of `people` with `login: token:local`',
    '-m, --model <model>': 'the model of agents that name no model',
    '--no-open': 'print the address, and open no browser',
  },
  tokens: { about: 'manage the tokens of the server' },
  'tokens add': {
    about: 'make a token; it is shown once',
    '<name>': 'the name of the token',
    '--access <list>': { about: 'viewer, operator, approver and admin, with commas', required: true },
    '--person <id>': 'the person that it stands for: the one with `login: token:NAME`',
    '--days <number>': 'it expires after this many days',
    '--content': 'a viewer may see prompts, arguments and results',
  },
  'tokens list': { about: 'list the tokens, without their secrets' },
  'tokens revoke': { about: 'revoke a token', '<name>': 'the name of the token' },
  keys: { about: 'manage keys that sign answers and journals' },
  'keys add': {
    about: 'make a key pair, and print the line for `people`',
    '<name>': 'the name of the key: the id of the person who signs',
    '--out <file>': 'the file of the private key',
  },
  'keys list': { about: 'list the keys of this user' },
  'keys revoke': {
    about: 'refuse all answers that a key of a person signs from now on, also in runs that wait',
    '<key>': 'the public key, as `people` has it, or the name of a key in `sluice keys list`',
    '--why <text>': 'the reason, for `sluice audit acts`',
  },
  mcp: { about: 'manage the MCP servers of a document' },
  'mcp lock': { about: 'write the tools of the servers to a lock file beside the document', '<file>': 'a document' },
  'mcp login': {
    about: 'log in to servers that need a person (`oauth: { login: true }`)',
    '<file>': 'a document',
    '[server]': 'one of its servers',
    '--timeout <seconds>': 'how long to wait for the person; 300 by default',
  },
  doctor: {
    about: 'check this machine, and the prerequisites of documents',
    '[files...]': 'documents whose models, tools and MCP servers are checked too',
    '--connect': 'also send a request to the servers of the models',
  },
  completion: {
    about: 'print a completion script for your shell',
    '<shell>': { about: 'your shell', choices: ['bash', 'zsh', 'fish'] },
  },
} as const satisfies { readonly [path: string]: Spec };

export type Path = keyof typeof COMMANDS;

/** The options of a command, as its code gets them. */
export type Options<Of extends Path> = OptionsIn<(typeof COMMANDS)[Of]>;
export type OperatorOptions = OptionsIn<typeof OPERATOR>;
export type ReportOptions = OptionsIn<typeof REPORTS>;
export type ContinueOptions = OptionsIn<typeof CONTINUE>;

type OptionsIn<Table> = {
  readonly [Part in keyof Table as Table[Part] extends Certain ? never : NameIn<Part>]?: ValueIn<Part, Table[Part]>;
} & {
  readonly [Part in keyof Table as Table[Part] extends Certain ? NameIn<Part> : never]: ValueIn<Part, Table[Part]>;
};
type Certain = { readonly required: true } | { readonly default: string };

/** `workDir` of `--work-dir <dir>`, and `script` of `-s, --script <file>` and of `--no-script`. */
type NameIn<Part> = Part extends `${string}--${infer Long}` ? Camel<Positive<FirstWord<Long>>> : never;
type FirstWord<Text extends string> = Text extends `${infer First} ${string}` ? First : Text;
type Positive<Name extends string> = Name extends `no-${infer Rest}` ? Rest : Name;
type Camel<Name extends string> = Name extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Name;

type ValueIn<Part, Given> = Given extends { readonly choices: readonly (infer Value)[]; readonly listed?: never }
  ? Value
  : Part extends `${string}...>`
    ? readonly string[]
    : Part extends `${string}>`
      ? string
      : Part extends `${string}]`
        ? string | true
        : Part extends `--no-${string}`
          ? false
          : boolean;
