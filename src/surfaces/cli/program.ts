/**
 * All commands with their arguments. A command's code is imported when it is called, so `sluice --help` stays fast.
 */
import { Command, Option } from 'commander';
import { RUN_STATES } from '../../ir/codes.ts';
import { withCommandName } from './command-name.ts';
import type { Shell } from './commands/completion.ts';
import { DEFAULT_DB, createCli, type Cli, type GlobalOptions, type OperatorOptions } from './context.ts';
import { readDatabase, readHosts, readShellLimits, readWorkDir } from './option-values.ts';
import type { Screen } from './screen.ts';
import { asOperator, define, FLOW, RUN, type Caller } from './define-command.ts';
import { addStorage } from './storage-commands.ts';
import type { WorldOptions } from './world.ts';
import { VERSION } from '../../effects/package-root.ts';

/** `answer` receives the text of `--help` and `--version`. */
export function createProgram(screen: Screen, answer: (text: string) => void): Command {
  const program = new Command('sluice')
    .description('Run teams of AI agents inside bounds: durable, budgeted, auditable flows.')
    .version(VERSION, '-V, --version', 'print the version')
    .option('--json', 'print exactly one JSON document on standard output')
    .option('--db <path>', 'the database of runs', readDatabase, DEFAULT_DB)
    .option('--tenant <name>', 'work for this tenant; runs of other tenants are not visible')
    .option('-q, --quiet', 'no progress on standard error')
    .option('--debug', 'show stack traces')
    .configureHelp({ showGlobalOptions: true, sortOptions: false })
    .configureOutput({
      writeOut: answer,
      writeErr: (text) => screen.note(text.trimEnd()),
      outputError: () => undefined,
    })
    .exitOverride()
    .helpCommand(true)
    .addHelpText('after', withCommandName(EXAMPLES));
  const call = callerFor(program, screen);
  addAuthoring(program, call);
  addRunning(program, call);
  addInspecting(program, call);
  addHistory(program, call);
  addProtections(program, call);
  addEvaluating(program, call);
  addMachine(program, call);
  return program;
}

/** Commander passes the arguments, the options and the command; a handler gets the context first. */
function callerFor(program: Command, screen: Screen): Caller {
  return (load) =>
    async (...args) => {
      const handler = await load();
      const dbNamed = program.getOptionValueSource('db') === 'cli';
      const cli = createCli({ ...program.opts<Partial<GlobalOptions>>(), dbNamed }, screen);
      const status = await handler(cli, ...(args.slice(0, -1) as never));
      if (status !== undefined) process.exitCode = status;
    };
}

function addAuthoring(program: Command, call: Caller): void {
  define(program, 'init', 'make a new project that runs offline')
    .argument('[dir]', 'the folder', '.')
    .option('--template <name>', 'support, research, team or typescript, with a test')
    .option('--force', 'overwrite existing files')
    .action(call(async () => (await import('./commands/init.ts')).initCommand));
  define(program, 'check', 'compile documents: print all mistakes, or nodes, bounds and costs')
    .argument('<files...>', 'flow documents')
    .option('--max-cost <usd>', 'fail when the worst case costs more')
    .action(call(async () => (await import('./commands/check.ts')).checkCommand));
  define(program, 'graph', 'draw the flow', FLOW)
    .addOption(
      new Option('-f, --format <format>', 'the format of the picture')
        .choices(['mermaid', 'dot', 'svg', 'json'])
        .default('mermaid'),
    )
    .addOption(
      new Option('-d, --direction <way>', 'the direction of the drawing').choices(['down', 'right']).default('down'),
    )
    .action(call(async () => (await import('./commands/graph.ts')).graphCommand));
  define(program, 'schema', 'print the JSON Schema of a document, or of the Agent Run Trace')
    .addArgument(
      program.createArgument('[of]', 'the kind of schema').choices(['document', 'trace']).default('document'),
    )
    .action(call(async () => (await import('./commands/schema.ts')).schemaCommand));
}

function addRunning(program: Command, call: Caller): void {
  world(define(program, 'run', 'start a run and follow it', FLOW))
    .option('-i, --input <value>', 'text, JSON or @file')
    .option('--attach <file...>', 'an image, PDF or sound for the input: a path or a URL')
    .option('--user <name>', 'the user of the run')
    .option('--run <id>', 'an id for the run; a second start with it gives the same run')
    .option('--seed <number>', 'the seed of the run')
    .option('--deadline <time>', 'the run stops at this time: 2026-12-01T09:00:00Z')
    .action(call(async () => (await import('./commands/run.ts')).runCommand));
  continues(define(program, 'answer', 'answer a question; the run continues'))
    .argument('<id>', 'the id of the question')
    .argument('<choice>', 'one of its choices')
    .option('--edit <json>', 'the edited payload, in place of the proposed one')
    .option('--text <text>', 'a remark')
    .option('--as <who>', 'the name of the person who answers: one of `people`, if the flow declares any')
    .option('--key <file>', 'the private key of that person, or its name in `sluice keys list`')
    .option('--payload <hash>', 'answer only if the question still has this payload')
    .action(call(async () => (await import('./commands/answer.ts')).answerCommand));
  continues(define(program, 'signal', 'send a signal to a run that waits for it; the run continues'))
    .argument('<run>', 'the id of a run')
    .argument('<name>', 'the name of the signal, or of the `wait` node')
    .option('--data <json>', 'the data of the signal')
    .option('--as <who>', 'the name of the sender')
    .action(call(async () => (await import('./commands/signal.ts')).signalCommand));
  continues(define(program, 'resume', 'continue a run after a crash or a stop; without RUN, all unfinished runs'))
    .argument('[run]', 'the id of a run')
    .action(call(async () => (await import('./commands/resume.ts')).resumeCommand));
  addFork(program, call);
  continues(define(program, 'cancel', 'stop a run and undo its effects', RUN))
    .option('--as <who>', 'the name of the person who cancels')
    .option('--why <text>', 'the reason')
    .action(call(async () => (await import('./commands/cancel.ts')).cancelCommand));
}

function addFork(program: Command, call: Caller): void {
  continues(define(program, 'fork', 'start a new run from a past event of a run, with edits', RUN))
    .requiredOption('--at <seq>', 'the last event that the new run shares with it')
    .option('--set <slot=json...>', 'another value of a slot: input, triage.output')
    .option('--answer <ask=choice...>', 'answer a question that is open at that event')
    .option('--agent-model <agent=model...>', 'another model of an agent')
    .option('--instructions <agent=text...>', 'other instructions of an agent; @file reads them')
    .option('--run <id>', 'the id of the new run')
    .option('--as <who>', 'the name of the person who forks and answers')
    .action(call(async () => (await import('./commands/fork.ts')).forkCommand));
  continues(define(program, 'migrate', 'move a waiting run to a new version of its flow'))
    .argument('<run>', 'the id of a run')
    .argument('<file>', 'the new version')
    .option('--dry-run', 'only check if the run fits')
    .option('--run <id>', 'the id of the new run')
    .option('--as <who>', 'the name of the person who moves it')
    .action(call(async () => (await import('./commands/migrate.ts')).migrateCommand));
}

function addInspecting(program: Command, call: Caller): void {
  define(program, 'runs', 'list the runs, newest first')
    .addOption(
      // The value may list several states, so the command itself checks each name.
      new Option('--state <states>', 'only runs in these states, separated by commas')
        .choices(RUN_STATES)
        .argParser(String),
    )
    .option('-n, --limit <number>', 'the number of runs')
    .action(call(async () => (await import('./commands/runs.ts')).runsCommand));
  define(program, 'show', 'print the state and the result of a run', RUN)
    .option('--unverified', 'print a run that was changed as it is stored, with a warning')
    .action(call(async () => (await import('./commands/show.ts')).showCommand));
  continues(define(program, 'approvals', 'list the open questions; on a terminal, an inbox to answer them'))
    .argument('[run]', 'the id of a run')
    .action(call(async () => (await import('./commands/approvals.ts')).approvalsCommand));
  define(program, 'replay', 'decide every step again from the journal, without calls, and compare', RUN).action(
    call(async () => (await import('./commands/replay.ts')).replayCommand),
  );
  addStorage(program, call);
}

/** Commands that tell what happened in a run. */
function addHistory(program: Command, call: Caller): void {
  define(program, 'trace', 'print what happened in a run', RUN)
    .option('--events', 'print every event of the journal')
    .option('--prompts', 'add the messages that each model received')
    .option('--after <seq>', 'only later events')
    .option('--unverified', 'print a run that was changed as it is stored, with a warning')
    .addOption(
      new Option('-f, --format <format>', 'events, the Agent Run Trace, or OpenTelemetry spans')
        .choices(['events', 'art', 'otel'])
        .default('events'),
    )
    .action(call(async () => (await import('./commands/trace.ts')).traceCommand));
  define(program, 'watch', 'follow a run of any process until it ends or waits; with --json, one event per line', RUN)
    .option('--after <seq>', 'only later events')
    .action(call(async () => (await import('./commands/watch.ts')).watchCommand));
  define(program, 'logs', 'print what happened in a run, one line for each event')
    .argument('[run]', 'a run; without it, the newest')
    .option('-f, --follow', 'continue until the run ends or waits')
    .option('--after <seq>', 'only later events')
    .action(call(async () => (await import('./commands/watch.ts')).logsCommand));
  define(program, 'explain', 'summarize a run in one sentence, then in detail', RUN).action(
    call(async () => (await import('./commands/explain.ts')).explainCommand),
  );
}

function addProtections(program: Command, call: Caller): void {
  const breakers = define(program, 'breakers', 'list the circuit breakers of the database').action(
    call(async () => (await import('./commands/breakers.ts')).breakersCommand),
  );
  for (const [name, to] of [
    ['open', 'open'],
    ['close', 'closed'],
  ] as const)
    asOperator(define(breakers, name, `${name} a breaker by hand; the database records who did it`))
      .argument('<breaker>', 'AGENT@MODEL')
      .action(
        call(async () => {
          const { setBreakerCommand } = await import('./commands/breakers.ts');
          return (cli: Cli, id: string, options: OperatorOptions) => setBreakerCommand(cli, to, id, options);
        }),
      );
  define(program, 'budget', 'print the retry budget that all runs share, and how fast the latest runs spend').action(
    call(async () => (await import('./commands/budget.ts')).budgetCommand),
  );
}

function addSuites(program: Command, call: Caller): void {
  const suites = define(program, 'eval', 'run a suite: cases, faults, budgets, escalations, replays, soak, policies')
    .argument('<suite>', 'a suite')
    .option('--tag <tag...>', 'only cases with one of these tags')
    .option('-m, --model <model>', 'the model of agents that name no model')
    .option('--baseline <file>', 'compare with an earlier .json report; exit 1 if a metric got worse')
    .option('--junit <file>', 'write JUnit XML')
    .option('--html <file>', 'write an HTML page with plots')
    .option('--report <file...>', 'write a report: .json, .md, .html or .xml (JUnit)')
    .action(call(async () => (await import('./commands/eval.ts')).evalCommand));
  define(suites, 'record', 'write a stored run as a golden case', RUN)
    .option('--flow <file>', 'the document of the run')
    .option('--name <name>', 'the name of the case')
    .option('--out <file>', 'where to write the suite; standard output by default')
    .action(call(async () => (await import('./commands/eval.ts')).recordCommand));
  define(suites, 'from-runs', 'write stored runs as cases whose models and tools are the recorded ones')
    .option('--where <expression>', `only runs for which it holds, such as 'code == "SUCCESS"'`)
    .option('--sample <number>', 'at most this many, chosen by the seed')
    .option('--since <time>', 'only runs that started later')
    .option('--seed <number>', 'the seed of the choice')
    .option('--flow <file>', 'the document of the runs')
    .option('--out <file>', 'where to write the suite; standard output by default')
    .action(call(async () => (await import('./commands/eval.ts')).fromRunsCommand));
}

function addEvaluating(program: Command, call: Caller): void {
  addSuites(program, call);
  define(
    program,
    'simulate',
    'run a flow thousands of times with generated replies and faults, without models or tools',
    FLOW,
  )
    .option('--runs <number>', 'the number of runs; 1,000 by default')
    .option('--seed <number>', 'the seed of the first run; the next runs count up')
    .option('-i, --input <json>', 'the input of every run; generated by default')
    .option('--until-coverage', 'stop when nothing new is reached any more')
    .option('--junit <file>', 'write JUnit XML')
    .option('--html <file>', 'write an HTML page with plots')
    .option('--report <file...>', 'write a report: .json, .md, .html or .xml (JUnit)')
    .action(call(async () => (await import('./commands/simulate.ts')).simulateCommand));
  define(program, 'metrics', 'compute the 18 metrics over the runs of the database')
    .option('--since <time>', 'only runs that started later: a date, or 7d, 12h, 30m')
    .option('--flow <id>', 'only runs of this flow')
    .option('--report <file...>', 'write a report: .json, .md, .html, .xml (JUnit) or .txt')
    .option('--baseline <file>', 'compare with an earlier .json report; exit 1 if a metric got worse')
    .option('--gate', 'exit 1 if a target is missed')
    .action(call(async () => (await import('./commands/metrics.ts')).metricsCommand));
  define(program, 'diagnose', 'find the 23 pathologies of the specification in a run, with evidence and remedy')
    .argument('[run]', 'the id of a run')
    .option('--since <time>', 'all runs that started later: a date, or 7d, 12h, 30m')
    .option('--judge [model]', 'also ask an agent for the decisive step of a failed run: provider/model')
    .option('--script <file>', 'the replies of the judge, as the agent `judge`')
    .action(call(async () => (await import('./commands/diagnose.ts')).diagnoseCommand));
}

function addKeys(keys: Command, call: Caller): void {
  define(keys, 'add', 'make a key pair, and print the line for `people`')
    .argument('<name>', 'the id of the person')
    .option('--out <file>', 'where to write the private key')
    .action(call(async () => (await import('./commands/keys.ts')).keysAddCommand));
  define(keys, 'list', 'list the keys of this user').action(
    call(async () => (await import('./commands/keys.ts')).keysListCommand),
  );
}

function addMachine(program: Command, call: Caller): void {
  addKeys(define(program, 'keys', 'manage the keys with which people sign their answers'), call);
  const mcp = define(program, 'mcp', 'manage the MCP servers of a document');
  define(mcp, 'lock', 'write the tools of the servers to a lock file beside the document')
    .argument('<file>', 'a document')
    .action(call(async () => (await import('./commands/mcp.ts')).mcpLockCommand));
  define(mcp, 'login', 'log in to servers that need a person (`oauth: { login: true }`)')
    .argument('<file>', 'a document')
    .argument('[server]', 'one of its servers')
    .option('--timeout <seconds>', 'how long to wait for the person; 300 by default')
    .action(call(async () => (await import('./commands/mcp.ts')).mcpLoginCommand));
  define(program, 'doctor', 'check this machine and the requirements of documents')
    .argument('[files...]', 'documents whose models, tools and MCP servers are checked too')
    .option('--connect', 'also send a request to the servers of the models')
    .action(call(async () => (await import('./commands/doctor.ts')).doctorCommand));
  define(program, 'completion', 'print a completion script for your shell')
    .addArgument(program.createArgument('<shell>', 'your shell').choices(['bash', 'zsh', 'fish']))
    .action(
      call(
        async () => async (cli: Cli, shell: Shell) =>
          (await import('./commands/completion.ts')).completionCommand(cli, shell, program),
      ),
    );
}

/** Options of the commands that continue a run. */
function continues(command: Command): Command {
  return world(command)
    .option('--no-script', 'real models and tools, although the run started with a script')
    .option('--accept-changed-code', 'continue although modules have changed; the journal records it');
}

/** Options of the commands that work on a run. */
function world(command: Command): Command {
  return command
    .option('-s, --script <file>', 'a file that replaces models, tools and people')
    .option('-m, --model <model>', 'the model of agents that name no model')
    .option('--work-dir <dir>', 'the folder in which the tools work')
    .option('--allow-host <host...>', 'hosts that `http.get` and `http.request` may call; * for every public host')
    .option('--shell-limit <name=value...>', 'limits of shell commands: cpu, memory, processes, file, disk')
    .hook('preAction', (called) => {
      const { workDir, allowHost, shellLimit } = called.opts<WorldOptions>();
      readHosts(allowHost);
      readShellLimits(shellLimit);
      readWorkDir(workDir);
    });
}

const EXAMPLES = `
Examples:
  $ sluice init my-flow && cd my-flow
  $ sluice check support.flow.yaml
  $ sluice run support.flow.yaml --script support.script.yaml --input @input.json
  $ sluice approvals
  $ sluice answer APPROVAL approve --as anna --script support.script.yaml

Exit status: 0 the run succeeded or the check holds, 1 it did not, 2 wrong usage, 3 the run waits for a person.`;
