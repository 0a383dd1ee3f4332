/**
 * The sections of a team that every strategy shares: contracts, termination, failure handling, validation, and the rest.
 * Key names and letter case are those of the printed notation. `Selection` is added in `schema.ts`.
 */
import * as z from 'zod';
import { ARTIFACTS, PREDICATES } from '@sluice-internal/kernel/catalog';
import type { PredicateName } from '@sluice-internal/kernel/catalog';
import {
  bool,
  fault,
  headers,
  int,
  json,
  list,
  map,
  name,
  number,
  phrase,
  record,
  ruled,
  some,
  text,
  verifierField,
} from '@sluice-internal/compile/document';
import { quoted } from '@sluice-internal/compile/source';
import { condition, plainText } from './conditions.ts';
import { spelt, speltAs } from '../spelling.ts';
import { NO_EFFECT, agents, models } from './agents.ts';
import { evidenceFields, runGate } from './gates.ts';

export type RawEvidence = z.output<z.ZodObject<ReturnType<typeof evidenceFields>>>;

export const TERMINATIONS = ['regex', 'structured', 'tokenbudget', 'maxiterations', 'composite'] as const;
export const terminationFields = () => ({
  Type: speltAs(TERMINATIONS).optional().describe('The rule that ends the session.'),
  Pattern: name().optional().describe('The session ends when a message matches this regular expression.'),
  Condition: condition
    .optional()
    .describe('Of `structured`: the condition on the JSON in a message that ends the session.'),
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
    .describe('Of `composite`: the session ends when one of these ends it.'),
}));

/**
 * A requirement of a contract names its predicate by key (`FileExists: { Path: … }`) or by type (`Type: FileExists, Path: …`).
 * Both are read as the keyed form.
 */
const listed = () => ({
  Source: name().describe('The file with the list. `brief` is the brief.'),
  Field: name().describe('The field with the list.'),
});
const checklist = () => ({
  ...listed(),
  Field: name().optional().describe('The field with the list. Default: every box of the Markdown page.'),
});
const command = () => ({
  Pattern: name().optional().describe('Parts of the command, separated by `|`. Parts joined by `&&` must all succeed.'),
  PatternField: name().optional().describe('The field that names the command.'),
  PatternSource: name().optional().describe('The file with that field. Default: the brief.'),
});
const file = () => ({ Path: name().describe('The file, in the work directory.') });
const report = () => ({
  Path: name().optional().describe('The test report. Default: TestReportPath of Validation.'),
  NoFailures: bool().optional().describe('False: the report may have failures. Default: true.'),
  HasAssertions: bool().optional().describe('True: the tests must assert something. Default: false.'),
});
const nothing = () => ({});
const tests = () => ({
  FindRelatedCommand: name().optional().describe('The command that tests a changed file. `{file}` is its path.'),
  FullSuiteCommand: name().optional().describe('The command that runs all tests.'),
});

/** Fields beside `Type`. When `Type` is missing or misspelt, only that mistake is reported. */
const stray = () =>
  Object.fromEntries(
    [listed, command, file, report, tests]
      .flatMap((fields) => Object.keys(fields()))
      .map((field) => [field, json().optional().describe('A field of the predicate that `Type` names.')]),
  );

const keyed = ruled(
  record(() => ({
    // The keyed form has no `Type`; editors refuse any value here.
    Type: z.undefined().optional().meta({ not: {}, description: 'The name of the predicate.' }),
    FilesWritten: record(listed).optional().describe('The listed files were written in this session.'),
    CommandSucceeded: ruled(record(command), namesCommand).optional().describe('A command succeeded.'),
    FileExists: record(file).optional().describe('A file is on disk.'),
    TestReport: record(report).optional().describe('The test report has results and no failures.'),
    ChecklistComplete: record(checklist).optional().describe('Every item of a list is done.'),
    BriefComplete: record(nothing).optional().describe('The brief has a goal, files to change and criteria.'),
    RelatedTestsPass: json().optional().describe('The tests of the changed files pass.'),
    ...stray(),
  })),
  (value) => {
    const keys = Object.keys(value);
    if (keys.length === 1 && PREDICATES.some((predicate) => keys.includes(predicate))) return null;
    return fault('bad-value', 'a requirement names exactly one predicate', `There are ${quoted(PREDICATES)}.`);
  },
);

function typed<Type extends PredicateName, Shape extends z.ZodRawShape>(type: Type, shape: () => Shape) {
  return record(() => ({ Type: z.literal(type).describe('The name of the predicate.'), ...shape() }));
}

const requirement = z
  .discriminatedUnion('Type', [
    keyed,
    typed('FilesWritten', listed),
    ruled(typed('CommandSucceeded', command), namesCommand),
    typed('FileExists', file),
    typed('TestReport', report),
    typed('ChecklistComplete', checklist),
    typed('BriefComplete', nothing),
    typed('RelatedTestsPass', tests),
  ])
  .transform(({ Type, ...fields }) => (Type === undefined ? fields : { [Type]: fields }));

function namesCommand({
  Pattern,
  PatternField,
}: {
  readonly Pattern?: string | undefined;
  readonly PatternField?: string | undefined;
}): string | null {
  if (Pattern !== undefined || PatternField !== undefined) return null;
  return fault(
    'missing-field',
    '`CommandSucceeded` needs `Pattern` or `PatternField`',
    'Write the command that must succeed, or the field of the brief that names it.',
  );
}

const contract = record(() => ({
  Name: name().describe('The name by which routes and transitions refer to the contract.'),
  Description: text().optional().describe('A note for readers.'),
  Requires: list(requirement).default([]).describe('All of these must hold; an empty list always holds.'),
  gate: runGate(),
}));

const policy = record(() => ({
  Action: spelt('Action').default('Reinstruct').describe('The action after a refusal of this kind.'),
  Threshold: int({ min: 1 }).optional().describe('The number of bad turns in a row that ends the session. Default: 3.'),
}));

const failureHandling = record(() => ({
  NoProgress: policy.optional().describe('The check failed before, and the agent has called no tool since.'),
  ConflictingEvidence: policy.optional().describe('An artifact contradicts the record.'),
  MissingEvidence: policy.optional().describe('Something needed is missing.'),
  InvalidTransition: policy.optional().describe('The evidence shows a failure.'),
  Threshold: int({ min: 1 })
    .optional()
    .describe('The number of bad turns in a row that ends the session. Default: 3; of a graph MaxRetries + 1.'),
  MaxConsecutiveContractFailures: int({ min: 0 })
    .default(0)
    .describe('Refusals of one gate in a row that end the session; 0 for no limit of its own.'),
  MaxConsecutiveTurnsWithoutSignal: int({ min: 0 })
    .default(0)
    .describe('Turns in a row without a keyword or signal that end the session; 0 for no limit of its own.'),
}));

const verifier = record(() => ({
  AgentName: name().describe('The agent that audits.'),
  EveryNTurns: int({ min: 0 }).default(0).describe('It has a turn after every N turns; 0 for never.'),
  TriggerOnSuspiciousTransition: bool()
    .default(true)
    .describe('True: it has a turn after a refusal of the kind ConflictingEvidence or NoProgress.'),
  FindingsKeyword: phrase().default('INCONSISTENCY').describe('It writes this on a line of its own for a finding.'),
}));

const validation = record(() => ({
  BriefPath: name().optional().describe(`The brief. Default: \`${ARTIFACTS.brief}\`.`),
  TestReportPath: name().optional().describe(`The test report. Default: \`${ARTIFACTS.testReport}\`.`),
  ChangeLogPath: name().optional().describe(NO_EFFECT),
  TestAssertionPatterns: list(name()).optional().describe('Regular expressions that find assertions in test files.'),
  Validators: map(name())
    .optional()
    .describe('Validators of your own: name to module, such as `./checks.ts#hasNotes`.'),
}));

const unused = () => json().optional().describe(NO_EFFECT);
const compactionFields = record(() => ({
  Mode: spelt('Mode')
    .default('lossless')
    .describe('`window` leaves older turns out, `lossless` rebuilds them from evidence.'),
  TriggerTurnCount: int({ min: 1 }).default(50).describe('The number of turns after which it begins.'),
  KeepRecentTurns: int({ min: 1 }).default(10).describe('The number of latest turns that stay in full.'),
  Model: unused(),
  TokenBudget: unused(),
  IncludeReasoning: unused(),
  IncludeSymbolGraph: unused(),
  MaxCharsPerHistoryMessage: unused(),
  AntiThrashMinSavingsRatio: unused(),
  AntiThrashWindow: unused(),
  SummaryTemplate: unused(),
}));
const compaction = ruled(compactionFields, ({ TriggerTurnCount: trigger, KeepRecentTurns: kept }) =>
  trigger > kept
    ? null
    : fault('bad-value', '`TriggerTurnCount` must be above `KeepRecentTurns`', 'Raise the first, or lower the second.'),
);

const globs = (description: string) => list(name()).default([]).describe(description);
/** Limits of all agents together. Each is enforced, or the document is refused. */
const security = record(() => ({
  AllowShellExecution: bool().default(true).describe('False: no agent can run commands.'),
  ShellPolicy: record({
    Allow: globs('Parts of commands that are allowed. Default: all.'),
    Deny: globs('Parts of commands that are refused.'),
  })
    .optional()
    .describe(
      'Parts of commands. A command with a part of Deny is refused; if Allow is given, a command needs a part of it.',
    ),
  FileSystemSandboxPath: name()
    .optional()
    .describe('Agents always stay in the work directory of the run (`--work-dir`).'),
  FileSystemPermissions: record({
    Read: globs('Files that may be read. Default: all.'),
    Write: globs('Files that may be written. Default: all.'),
    Deny: globs('Files that may not be touched.'),
  })
    .optional()
    .describe('Globs of the files that may be read, may be written, and may not be touched.'),
  ChangeEnvelope: list(name()).optional().describe('Globs of the files that may be changed.'),
  ReadFileSizeLimit: int({ min: 1 }).optional().describe('The most characters of a file that an agent sees.'),
  HttpAllowedHosts: list(name())
    .optional()
    .describe('The hosts that the Http plugin may call; an empty list allows all.'),
  AllowPrivateHosts: bool().default(false).describe('It has no effect: private addresses stay closed to agents.'),
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
    BaseUrl: name().describe(
      'Addresses of the Http plugin with this profile start here. `${NAME}` is read from the environment.',
    ),
    DefaultHeaders: headers(plainText())
      .optional()
      .describe('Headers of every request. `${NAME}` is read from the environment.'),
    TimeoutSeconds: number({ above: 0 }).optional().describe('Seconds that a request may take. Default: 30.'),
  })),
);
export type RawApiProfile = z.output<typeof apiProfiles>[string];

const saga = record(() => ({
  Enabled: bool().default(false).describe('True switches it on.'),
  MaxCompensationSteps: int({ min: 1 })
    .optional()
    .describe('Refused if a tool declares `compensate`: each such effect is undone once.'),
}));

const brownfield = record(() => ({
  Enabled: bool().default(true).describe('False switches it off.'),
  EntryPoints: list(name()).optional().describe('A note for readers. It has no effect.'),
  DiscoveryBriefPath: name()
    .optional()
    .describe('A JSON file whose `in_scope_files` are the only files that may be changed.'),
  ConventionProfilePath: name().optional().describe('A file that is put in front of the instructions of every agent.'),
  SeedEnvelopeFromBrief: bool().default(true).describe('False: the brief does not limit the files.'),
}));

const mcpServers = list(
  record(() => ({
    Name: name().describe('The name under which `Plugins` grants the server.'),
    Transport: spelt('Transport').optional().describe('Default: `stdio` with Command, `http` with Url.'),
    Command: name().optional().describe('The program that serves over standard input and output.'),
    Args: list(plainText()).optional().describe('Arguments of the program.'),
    Env: map(plainText()).optional().describe('Environment variables of the program.'),
    WorkingDirectory: name().optional().describe('The folder in which the program starts.'),
    Url: name().optional().describe('The address of a server that speaks HTTP.'),
    Headers: headers(plainText()).optional().describe('Headers of every request.'),
    TimeoutSeconds: number({ above: 0 }).optional().describe('Seconds that one call may take. Default: 30.'),
    Tools: list(name()).optional().describe('The only tools of the server that may be used.'),
  })),
);
export type RawServer = z.output<typeof mcpServers>[number];

const accepted = () =>
  Object.fromEntries(
    Object.entries(WITHOUT_EFFECT).map(([key, help]) => [
      key,
      json().optional().describe(`It has no effect here. ${help}`),
    ]),
  );

export const sectionFields = () => ({
  SchemaVersion: json().optional().describe('It has no effect.'),
  Name: name().optional().describe('The name in reports. Default: `team`.'),
  Description: text().optional().describe('A note for readers.'),
  SystemPrompt: text().optional().describe("A text before every agent's instructions."),
  SystemPromptPath: name().optional().describe('A file with the system prompt; takes precedence over SystemPrompt.'),
  Models: models.optional(),
  Agents: agents.default([]),
  Termination: termination.optional().describe('When the session ends.'),
  Contracts: list(contract).default([]).describe('Named lists of evidence that routes and transitions require.'),
  FailureHandling: failureHandling.prefault({}).describe('The actions after a refusal.'),
  Verifier: verifier.optional().describe('An agent that audits a state machine.'),
  verifier: verifierField().describe('The model that judges the end of the session and sees all calls. Default: none.'),
  Validation: validation.prefault({}).describe('The files that validators read, and validators of your own.'),
  TestSelector: record(() => ({
    FindRelatedCommand: name().optional().describe('The command that tests a changed file. `{file}` is its path.'),
    CommandTemplate: name().optional().describe('The same as FindRelatedCommand.'),
    FullSuiteCommand: name().optional().describe('The command that runs all tests.'),
  }))
    .optional()
    .describe('The commands of RelatedTestsPass.'),
  EvidenceStore: record(() => ({
    Path: name().optional().describe('The file to which each gate writes its evidence.'),
  }))
    .optional()
    .describe('Keeps the evidence of gates in a file.'),
  ChangeTracking: record(() => ({ Path: name().optional().describe(NO_EFFECT) }))
    .optional()
    .describe('The log of changes is always kept, at `.fuseraft/state/changes.json`.'),
  Checkpoint: record(() => ({
    Mode: name().optional().describe(NO_EFFECT),
    Path: name().optional().describe(NO_EFFECT),
  }))
    .optional()
    .describe('Every step is kept in the database: `--db`.'),
  Security: security.optional().describe('Limits for all agents.'),
  MaxTotalTokens: int({ min: 0 })
    .optional()
    .describe('The most input and output tokens of the session; 0 for no limit.'),
  Compaction: compaction.optional().describe('How agents see a long session.'),
  McpServers: mcpServers.optional().describe('MCP servers, as `mcp` beside `Orchestration`.'),
  ApiProfiles: apiProfiles.optional().describe('Services that the Http plugin reaches by name: `profile`.'),
  Saga: saga.optional().describe('A failed run undoes the effects of tools with `compensate`.'),
  Brownfield: brownfield.optional().describe('The findings of a first session in an existing project.'),
  ...accepted(),
});
const sections = record(sectionFields);
export const teamKeys = (): readonly string[] => [...Object.keys(sections.shape), 'Selection'];
export const validationKeys = (): readonly string[] => Object.keys(validation.shape);

/** A team without its `Selection`, which only the strategy reads. */
export type RawTeam = z.output<typeof sections>;
