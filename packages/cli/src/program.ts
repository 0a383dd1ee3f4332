/**
 * Builds the program from the table of commands. A command's code is imported when it is called, so `sluice --help` stays fast.
 */
import { Argument, Command, Option } from 'commander';
import { withCommandName } from './table/command-name.ts';
import { COMMANDS, type Described, type Path, type Spec } from './table/command-table.ts';
import {
  DEFAULT_DB,
  createCli,
  readDatabase,
  readHosts,
  readShellLimits,
  readWorkDir,
  refuseEmptyOptions,
  usage,
} from '@sluice-internal/library/documents';
import type { Cli, ExitStatus, GlobalOptions, Screen } from '@sluice-internal/library/documents';
import { VERSION } from '@sluice-internal/platform';
import type { WorldOptions } from './session/world.ts';

/** `answer` receives the text of `--help` and `--version`. */
export function createProgram(screen: Screen, answer: (text: string) => void): Command {
  const program = new Command('sluice')
    .description('Run teams of AI agents inside bounds: durable, budgeted, auditable flows.')
    .version(VERSION, '-V, --version', 'print the version')
    .option('--json', 'print one JSON document on standard output and nothing else')
    .addOption(
      new Option('--db <path>', 'the database of runs').argParser(readDatabase).default(DEFAULT_DB).env('SLUICE_DB'),
    )
    .option('--tenant <name>', 'the tenant of the runs; runs of other tenants are not visible')
    .option('-q, --quiet', 'no progress on standard error')
    .option('--debug', 'show stack traces')
    .configureHelp({ showGlobalOptions: true, sortOptions: false, visibleGlobalOptions: (of) => globalOptions(of) })
    .configureOutput({
      writeOut: answer,
      writeErr: (text) => screen.note(text.trimEnd()),
      outputError: () => undefined,
    })
    .exitOverride()
    .helpCommand(true)
    .addHelpText('after', withCommandName(EXAMPLES));
  for (const [path, spec] of Object.entries<Spec>(COMMANDS)) addCommand(program, path as Path, spec, screen);
  return program;
}

function addCommand(program: Command, path: Path, spec: Spec, screen: Screen): void {
  const [name = '', ...groups] = path.split(' ').reverse();
  const parent = program.commands.find((each) => each.name() === groups[0]) ?? program;
  const command = parent.command(name).description(spec.about);
  for (const [part, described] of Object.entries(spec)) {
    if (/^[<[]/.test(part)) command.addArgument(argumentOf(part, described));
    else if (part.startsWith('-')) command.addOption(optionOf(part, described));
  }
  if ('--work-dir <dir>' in spec) command.hook('preAction', (called) => checkWorld(called.opts()));
  if (!(path in HANDLERS)) return;
  // Commander passes the arguments, the options and the command; a handler gets the context first.
  command.action(async (...args: unknown[]) => {
    for (const option of parent === program ? [] : parent.options)
      if (parent.getOptionValueSource(option.attributeName()) === 'cli')
        throw usage(`\`${path}\` has no option \`${option.long}\``, `It is an option of \`sluice ${parent.name()}\`.`);
    for (const each of [program, command])
      refuseEmptyOptions(each.opts(), (option) => each.getOptionValueSource(option) === 'cli');
    const handler = await HANDLERS[path as keyof typeof HANDLERS]();
    const dbNamed = program.getOptionValueSource('db') !== 'default';
    const cli = createCli({ ...program.opts<Partial<GlobalOptions>>(), dbNamed }, screen);
    const status = await (handler as Handler)(cli, ...args);
    if (status !== undefined) process.exitCode = status;
  });
}

/** The options of every command. Commander would add the options of the group, such as those of `eval` for `eval record`. */
function globalOptions(of: Command): Option[] {
  return of.parent === null ? [] : of.parent.parent === null ? [...of.parent.options] : globalOptions(of.parent);
}

type Handler = (cli: Cli, ...args: unknown[]) => Promise<ExitStatus | void>;

function argumentOf(part: string, given: Described): Argument {
  const { about, choices, default: usual } = detailsOf(given);
  const argument = new Argument(part, about).default(usual);
  return choices === undefined ? argument : argument.choices(choices);
}

function optionOf(flags: string, given: Described): Option {
  const { about, choices, listed, required = false, default: usual } = detailsOf(given);
  const option = new Option(flags, about).default(usual).makeOptionMandatory(required);
  if (choices !== undefined) option.choices(choices);
  return listed === true ? option.argParser(String) : option;
}

function detailsOf(given: Described): Exclude<Described, string> {
  return typeof given === 'string' ? { about: given } : given;
}

function checkWorld({ workDir, allowHost, shellLimit }: WorldOptions): void {
  readHosts(allowHost);
  readShellLimits(shellLimit);
  readWorkDir(workDir);
}

/** A path without a handler is a group of commands. */
const HANDLERS = {
  init: async () => (await import('./commands/init.ts')).initCommand,
  check: async () => (await import('./commands/check.ts')).checkCommand,
  graph: async () => (await import('./commands/graph.ts')).graphCommand,
  schema: async () => (await import('./commands/schema.ts')).schemaCommand,
  run: async () => (await import('./commands/run.ts')).runCommand,
  answer: async () => (await import('./commands/answer.ts')).answerCommand,
  guide: async () => (await import('./commands/guide.ts')).guideCommand,
  signal: async () => (await import('./commands/signal.ts')).signalCommand,
  resume: async () => (await import('./commands/resume.ts')).resumeCommand,
  retry: async () => (await import('./commands/retry.ts')).retryCommand,
  fork: async () => (await import('./commands/fork.ts')).forkCommand,
  migrate: async () => (await import('./commands/migrate.ts')).migrateCommand,
  cancel: async () => (await import('./commands/cancel.ts')).cancelCommand,
  runs: async () => (await import('./commands/runs.ts')).runsCommand,
  show: async () => (await import('./commands/show.ts')).showCommand,
  approvals: async () => (await import('./commands/approvals.ts')).approvalsCommand,
  replay: async () => (await import('./commands/replay.ts')).replayCommand,
  erase: async () => (await import('./commands/erase.ts')).eraseCommand,
  diff: async () => (await import('./commands/diff.ts')).diffCommand,
  backup: async () => (await import('./commands/backup.ts')).backupCommand,
  rekey: async () => (await import('./commands/rekey.ts')).rekeyCommand,
  prune: async () => (await import('./commands/prune.ts')).pruneCommand,
  'memory list': async () => (await import('./commands/memory.ts')).memoryListCommand,
  'memory show': async () => (await import('./commands/memory.ts')).memoryShowCommand,
  'memory release': async () => (await import('./commands/memory.ts')).memoryReleaseCommand,
  'memory forget': async () => (await import('./commands/memory.ts')).memoryForgetCommand,
  'memory log': async () => (await import('./commands/memory.ts')).memoryLogCommand,
  quotas: async () => (await import('./commands/quotas.ts')).quotasCommand,
  'quotas set': async () => (await import('./commands/quotas.ts')).setQuotaCommand,
  'quotas remove': async () => (await import('./commands/quotas.ts')).removeQuotaCommand,
  'audit verify': async () => (await import('./commands/audit.ts')).auditVerifyCommand,
  'audit acts': async () => (await import('./commands/audit-files.ts')).auditActsCommand,
  'audit restore': async () => (await import('./commands/audit-files.ts')).auditRestoreCommand,
  'audit export': async () => (await import('./commands/audit-files.ts')).auditExportCommand,
  'audit heads': async () => (await import('./commands/audit-files.ts')).auditHeadsCommand,
  trace: async () => (await import('./commands/trace.ts')).traceCommand,
  watch: async () => (await import('./commands/watch.ts')).watchCommand,
  logs: async () => (await import('./commands/watch.ts')).logsCommand,
  explain: async () => (await import('./commands/explain.ts')).explainCommand,
  breakers: async () => (await import('./commands/breakers.ts')).breakersCommand,
  'breakers open': async () => (await import('./commands/breakers.ts')).openBreakerCommand,
  'breakers close': async () => (await import('./commands/breakers.ts')).closeBreakerCommand,
  budget: async () => (await import('./commands/budget.ts')).budgetCommand,
  eval: async () => (await import('./commands/eval.ts')).evalCommand,
  'eval record': async () => (await import('./commands/eval.ts')).recordCommand,
  'eval from-runs': async () => (await import('./commands/eval.ts')).fromRunsCommand,
  simulate: async () => (await import('./commands/simulate.ts')).simulateCommand,
  metrics: async () => (await import('./commands/metrics.ts')).metricsCommand,
  diagnose: async () => (await import('./commands/diagnose.ts')).diagnoseCommand,
  dev: async () => (await import('./commands/dev.ts')).devCommand,
  serve: async () => (await import('./commands/serve.ts')).serveCommand,
  'tokens add': async () => (await import('./commands/tokens.ts')).tokensAddCommand,
  'tokens list': async () => (await import('./commands/tokens.ts')).tokensListCommand,
  'tokens revoke': async () => (await import('./commands/tokens.ts')).tokensRevokeCommand,
  'keys add': async () => (await import('./commands/keys.ts')).keysAddCommand,
  'keys list': async () => (await import('./commands/keys.ts')).keysListCommand,
  'keys revoke': async () => (await import('./commands/keys.ts')).keysRevokeCommand,
  'mcp lock': async () => (await import('./commands/mcp.ts')).mcpLockCommand,
  'mcp login': async () => (await import('./commands/mcp.ts')).mcpLoginCommand,
  doctor: async () => (await import('./commands/doctor.ts')).doctorCommand,
  completion: async () => (await import('./commands/completion.ts')).completionCommand,
} as const satisfies { readonly [path in Path]?: () => Promise<(cli: Cli, ...args: never[]) => ReturnType<Handler>> };

const EXAMPLES = `
Examples:
  $ sluice init my-desk && cd my-desk
  $ sluice check desk.loop.yaml
  $ sluice run desk.loop.yaml --script desk.script.yaml --input @input.txt
  $ sluice approvals
  $ sluice answer APPROVAL approve --as anna --script desk.script.yaml

Exit status: 0 the run succeeded or the check passed, 1 it did not, 2 wrong usage, 3 the run waits for a person or a signal.`;
