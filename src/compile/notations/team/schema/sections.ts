/**
 * The sections of a team that every strategy shares: contracts, termination, failure handling, validation, and the rest.
 * Key names and letter case are those of the printed notation. `Selection` is added in `schema.ts`.
 */
import * as z from 'zod';
import { PREDICATES, type PredicateName } from '../../../../catalog/validators.ts';
import { agentName, bool, fault, headers, int, json, list, map, name, number, once, phrase, record, ruled, some, text } from '../../../document/shape/fields.ts';
import { condition, plainText } from './conditions.ts';
import { spelt, speltAs } from '../spelling.ts';
import { agents, models } from './agents.ts';

/** Evidence that a route, an edge or a termination can ask for. */
const evidenceFields = once(() => ({
  Validator: name().optional().describe('A validator that must pass.'),
  Validators: some(name()).describe('Validators that must all pass.'),
  RequiredCommandPattern: name()
    .optional()
    .describe('With RequireShellPass: the command must contain one of these parts, separated by `|`.'),
  ShellFallbackPattern: name().optional().describe('With RequireWriteFile: a shell command that counts as writing.'),
}));

/** The gate of a keyword route or a graph edge: evidence, a person, a recovery agent. */
export const gateFields = once(() => ({
  ...evidenceFields(),
  RequireHumanApproval: bool().default(false).describe('Ask a person before the route is taken.'),
  RecoveryAgent: agentName().optional().describe('Gets one turn, once, after the validators failed twice in a row.'),
}));
export type RawEvidence = z.output<z.ZodObject<ReturnType<typeof evidenceFields>>>;

const TERMINATIONS = ['regex', 'structured', 'tokenbudget', 'maxiterations', 'composite'] as const;
export const terminationFields = () => ({
  Type: speltAs('Type', TERMINATIONS).optional(),
  Pattern: name().optional().describe('The session ends when a message matches this regular expression.'),
  Condition: condition.optional().describe('Of the type structured: a field of the JSON in a message that ends the session.'),
  MaxTokens: int({ min: 1 }).optional().describe('The most input and output tokens of the session.'),
  AgentNames: some(name()).describe('Only messages of these agents are matched.'),
  MaxIterations: int({ min: 0 }).optional().describe('The session ends after this many agent turns.'),
  ...evidenceFields(),
});
export type RawTermination = z.output<z.ZodObject<ReturnType<typeof terminationFields>>> & {
  readonly Strategies?: readonly RawTermination[] | undefined;
};
const termination: z.ZodType<RawTermination> = record(() => ({
  ...terminationFields(),
  Strategies: list(z.lazy(() => termination))
    .optional()
    .describe('The session ends when any of these fires.'),
}));

/**
 * A requirement of a contract names its predicate by key (`FileExists: { Path: … }`) or by type (`Type: FileExists, Path: …`).
 * Both are read as the keyed form.
 */
const listed = () => ({ Source: name(), Field: name() });
const command = () => ({
  Pattern: name().optional(),
  PatternField: name().optional(),
  PatternSource: name().optional(),
});
const file = () => ({ Path: name() });
const report = () => ({ Path: name().optional(), NoFailures: bool().optional(), HasAssertions: bool().optional() });
const tests = () => ({ FindRelatedCommand: name().optional(), FullSuiteCommand: name().optional() });

/** Fields beside `Type`. When `Type` is missing or misspelt, only that mistake is reported. */
const stray = () =>
  Object.fromEntries(
    [listed, command, file, report, tests].flatMap((fields) => Object.keys(fields())).map((field) => [field, json().optional()]),
  );

const keyed = ruled(
  record(() => ({
    // The keyed form has no `Type`; editors refuse any value here.
    Type: z.undefined().optional().meta({ not: {} }),
    FilesWritten: record(listed).optional(),
    CommandSucceeded: ruled(record(command), namesCommand).optional(),
    FileExists: record(file).optional(),
    TestReport: record(report).optional(),
    ChecklistComplete: record(listed).optional(),
    RelatedTestsPass: json().optional(),
    ...stray(),
  })),
  (value, context) => {
    const keys = Object.keys(value);
    if (keys.length === 1 && PREDICATES.some((predicate) => keys.includes(predicate))) return;
    const help = `There are ${PREDICATES.map((each) => `\`${each}\``).join(', ')}.`;
    context.addIssue({
      code: 'custom',
      message: fault('bad-value', 'a requirement names exactly one predicate', help),
    });
  },
);

function typed<Type extends PredicateName, Shape extends z.ZodRawShape>(type: Type, shape: () => Shape) {
  return record(() => ({ Type: z.literal(type), ...shape() }));
}

const requirement = z
  .discriminatedUnion('Type', [
    keyed,
    typed('FilesWritten', listed),
    ruled(typed('CommandSucceeded', command), namesCommand),
    typed('FileExists', file),
    typed('TestReport', report),
    typed('ChecklistComplete', listed),
    typed('RelatedTestsPass', tests),
  ])
  .transform(({ Type, ...fields }) => (Type === undefined ? fields : { [Type]: fields }));

function namesCommand(
  { Pattern, PatternField }: { readonly Pattern?: string | undefined; readonly PatternField?: string | undefined },
  context: z.RefinementCtx,
): void {
  if (Pattern !== undefined || PatternField !== undefined) return;
  const message = fault(
    'missing-field',
    '`CommandSucceeded` needs `Pattern` or `PatternField`',
    'Say which command has to succeed, or which field of the brief names it.',
  );
  context.addIssue({ code: 'custom', message });
}

const contract = record(() => ({
  Name: name(),
  Description: text().optional(),
  Requires: list(requirement).describe('All of these must hold; an empty list always holds.'),
}));

const policy = record(() => ({
  Action: spelt('Action').default('Reinstruct'),
  Threshold: int({ min: 1 }).optional().describe('The failure of this type in a row that stops the session.'),
}));

const failureHandling = record(() => ({
  NoProgress: policy.optional(),
  ConflictingEvidence: policy.optional(),
  MissingEvidence: policy.optional(),
  InvalidTransition: policy.optional(),
  Threshold: int({ min: 1 })
    .optional()
    .describe('The bad turn in a row that stops the session: 3 when absent, or MaxRetries of a graph and one more.'),
  MaxConsecutiveContractFailures: int({ min: 0 }).default(0),
  MaxConsecutiveTurnsWithoutSignal: int({ min: 0 }).default(0),
}));

const verifier = record(() => ({
  AgentName: name(),
  EveryNTurns: int({ min: 0 }).default(0),
  TriggerOnSuspiciousTransition: bool().default(true),
  FindingsKeyword: phrase().default('INCONSISTENCY'),
}));

const validation = record(() => ({
  BriefPath: name().optional(),
  TestReportPath: name().optional(),
  ChangeLogPath: name().optional(),
  TestAssertionPatterns: list(name()).optional(),
  Validators: map(name())
    .optional()
    .describe('Validators of your own: name to module, such as `./checks.ts#hasNotes`.'),
}));

const compactionFields = record(() => ({
  Mode: spelt('Mode').default('lossless'),
  TriggerTurnCount: int({ min: 1 }).default(50),
  KeepRecentTurns: int({ min: 1 }).default(10),
  Model: json().optional(),
  TokenBudget: json().optional(),
  IncludeReasoning: json().optional(),
  IncludeSymbolGraph: json().optional(),
  MaxCharsPerHistoryMessage: json().optional(),
  AntiThrashMinSavingsRatio: json().optional(),
  AntiThrashWindow: json().optional(),
  SummaryTemplate: json().optional(),
}));
const compaction = ruled(compactionFields, ({ TriggerTurnCount: trigger, KeepRecentTurns: kept }, context) => {
  if (trigger > kept) return;
  const message = fault('bad-value', '`TriggerTurnCount` must be above `KeepRecentTurns`');
  context.addIssue({ code: 'custom', message });
});

const globs = () => list(name()).default([]);
/** Limits of all agents together. Each is enforced, or the document is refused. */
const security = record(() => ({
  AllowShellExecution: bool().default(true).describe('False: no agent can run commands.'),
  ShellPolicy: record({ Allow: globs(), Deny: globs() })
    .optional()
    .describe('Parts of commands. A command with a part of Deny is refused; if Allow is given, a command needs a part of it.'),
  FileSystemSandboxPath: name().optional().describe('Agents always stay in the work directory of the run (`--work-dir`).'),
  FileSystemPermissions: record({ Read: globs(), Write: globs(), Deny: globs() })
    .optional()
    .describe('Globs of the files that may be read, may be written, and may not be touched.'),
  ChangeEnvelope: list(name()).optional().describe('Globs of the files that may be changed.'),
  ReadFileSizeLimit: int({ min: 1 }).optional().describe('The most characters of a file that an agent sees.'),
  HttpAllowedHosts: list(name()).optional().describe('The hosts that the Http plugin may call; an empty list allows all.'),
  AllowPrivateHosts: bool().default(false),
}));
export type RawSecurity = z.output<typeof security>;

/** Accepted, and reported as having no effect, each with the way to get the same. */
export const WITHOUT_EFFECT: { readonly [key: string]: string } = {
  WarnTurnTokens: 'Limit tokens with `MaxTotalTokens` or `budgets`.',
  ContextBudget: 'Limit the context with `ContextWindow` and `Compaction`.',
  Events: 'Every event is in the journal: `sluice trace RUN --json`.',
  Telemetry: 'Export the spans of a run with `sluice trace RUN --format otel`, and send them to the collector.',
  SkillCuration: 'Leave it out.',
  Memory: 'Memory belongs to an agent: write `EnableMemory: true` on it.',
  Output: 'The last message is the output of the run: `sluice run --json`.',
};
const apiProfiles = map(
  record(() => ({
    BaseUrl: name().describe('Addresses of the Http plugin with this profile start here. `${NAME}` is read from the environment.'),
    DefaultHeaders: headers(plainText()).optional().describe('Headers of every request. `${NAME}` is read from the environment.'),
    TimeoutSeconds: number({ above: 0 }).optional().describe('Seconds that a request may take. Default: 30.'),
  })),
);
export type RawApiProfile = z.output<typeof apiProfiles>[string];

const saga = record(() => ({
  Enabled: bool().default(false),
  MaxCompensationSteps: int({ min: 1 }).optional().describe('Refused if a tool declares `compensate`: each such effect is undone once.'),
}));

const brownfield = record(() => ({
  Enabled: bool().default(true),
  EntryPoints: list(name()).optional(),
  DiscoveryBriefPath: name().optional().describe('A JSON file whose `in_scope_files` are the only files that may be changed.'),
  ConventionProfilePath: name().optional().describe('A file that is put in front of the instructions of every agent.'),
  SeedEnvelopeFromBrief: bool().default(true),
}));

const mcpServers = list(
  record(() => ({
    Name: name().describe('The name under which `Plugins` grants the server.'),
    Transport: spelt('Transport').optional(),
    Command: name().optional().describe('The program that serves over standard input and output.'),
    Args: list(plainText()).optional(),
    Env: map(plainText()).optional(),
    WorkingDirectory: name().optional(),
    Url: name().optional().describe('The address of a server that speaks HTTP.'),
    Headers: headers(plainText()).optional(),
    TimeoutSeconds: number({ above: 0 }).optional(),
    Tools: list(name()).optional().describe('The only tools of the server that may be used.'),
  })),
);
export type RawServer = z.output<typeof mcpServers>[number];

const accepted = () => Object.fromEntries(Object.keys(WITHOUT_EFFECT).map((key) => [key, json().optional()]));

export const sectionFields = () => ({
  SchemaVersion: json().optional(),
  Name: name().optional(),
  Description: text().optional(),
  SystemPrompt: text().optional().describe("Put in front of every agent's instructions."),
  SystemPromptPath: name().optional().describe('A file with the system prompt; takes precedence over SystemPrompt.'),
  Models: models.optional(),
  Agents: agents.default([]),
  Termination: termination.optional(),
  Contracts: list(contract).default([]),
  FailureHandling: failureHandling.prefault({}),
  Verifier: verifier.optional(),
  Validation: validation.prefault({}),
  TestSelector: record(() => ({
    FindRelatedCommand: name().optional().describe('`{file}` stands for a changed file.'),
    CommandTemplate: name().optional().describe('The same as FindRelatedCommand.'),
    FullSuiteCommand: name().optional(),
  })).optional(),
  EvidenceStore: record(() => ({ Path: name().optional().describe('Where each gate writes the evidence it saw.') })).optional(),
  ChangeTracking: record(() => ({ Path: name().optional() })).optional(),
  Checkpoint: record(() => ({ Mode: name().optional(), Path: name().optional() })).optional(),
  Security: security.optional(),
  MaxTotalTokens: int({ min: 0 }).optional().describe('The most input and output tokens of the session; 0 for no limit.'),
  Compaction: compaction.optional(),
  McpServers: mcpServers.optional().describe('MCP servers, as `mcp` beside `Orchestration`.'),
  ApiProfiles: apiProfiles.optional().describe('Services that the Http plugin reaches by name: `profile`.'),
  Saga: saga.optional().describe('A failed run undoes the effects of tools that declare `compensate`.'),
  Brownfield: brownfield.optional().describe('What a first session found out about an existing project.'),
  ...accepted(),
});
const sections = record(sectionFields);
export const teamKeys = (): readonly string[] => [...Object.keys(sections.shape), 'Selection'];
export const validationKeys = (): readonly string[] => Object.keys(validation.shape);

/** A team without its `Selection`, which only the strategy reads. */
export type RawTeam = z.output<typeof sections>;
