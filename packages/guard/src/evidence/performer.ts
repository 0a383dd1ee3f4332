/**
 * Performs the checks that read evidence: `validator:<Name>` over the agent's work since it got the word, `contract:<Name>` over the session,
 * `gates:run`, which runs a command, `gates:open`, which says what gates still need, and `context:assemble`, which returns texts. A refusal has
 * a reason and a failure type. An unknown name is a refusal.
 */
import { listOf, present, reasonOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Pins } from '@sluice-internal/kernel/ir';
import { PerformError, fail } from '@sluice-internal/engine/ports';
import type { Call, Performer } from '@sluice-internal/engine/ports';
import { listBeneath, loadFunction, readBeneath, workDirOf, writeBeneath } from '@sluice-internal/platform';
import { OPEN_GATES, RUN_GATE } from '@sluice-internal/kernel/catalog';
import { setting } from './artifacts.ts';
import { contractHolds } from './contracts.ts';
import { failureOf, invalid } from './evidence.ts';
import type { Evidence, EvidenceOptions, Observation, Scope, Validator, Verdict } from './evidence.ts';
import { artifactsOf, commandsOf, succeeded, writtenBy } from './records.ts';
import { readSources, type Wanted } from './context-sources.ts';
import { openGates } from './open-gates.ts';
import { runGate } from './run-gate.ts';
import { BUILTIN_VALIDATORS } from './validators/registry.ts';

/**
 * Performs the checks of validators and contracts.
 * @example
 * const performer = evidencePerformer({ workDir: () => './work', documentDir: '.', run: shellRunner() });
 */
export function evidencePerformer(given: EvidenceOptions): Performer {
  return {
    perform: async (call) => {
      const options = pinned(given, call);
      const { kind, name } = call.command;
      const colon = name.indexOf(':');
      const [family, which] = [name.slice(0, colon), name.slice(colon + 1)];
      if (kind !== 'check' || !FAMILIES.has(family))
        throw fail('fatal', 'NotConfiguredError', `no performer for the ${kind} \`${name}\``);
      // Reading files and running tests takes real time; a script's clock stands still meanwhile.
      const done = call.clock.busy?.();
      try {
        const evidence = gather(call, options);
        if (name === ASSEMBLE) {
          const sources = listOf(call.command.input['sources']) as readonly Wanted[];
          return { ok: true, value: { ok: true, ...(await readSources(sources, evidence)) } };
        }
        if (name === OPEN_GATES) return { ok: true, value: await openGates(evidence, call.command.input['gates']) };
        const check = name === RUN_GATE ? runGate : await checkOf(name, evidence, options, call.pins);
        const found = await check(evidence);
        const verdict = judged(found, evidence, call, name === RUN_GATE ? setting(evidence, 'run') : which);
        await storeEvidence(evidence, call, options.workDir, { which, verdict });
        return { ok: true, value: verdict };
      } finally {
        done?.();
      }
    },
  };
}

/** The folders that the run is pinned to. */
function pinned(options: EvidenceOptions, { command: { run }, pins }: Call): PinnedOptions {
  const own = typeof options.workDir === 'function' ? options.workDir(run) : options.workDir;
  const documentDir = pins?.documentDir ?? options.documentDir;
  return { ...options, workDir: workDirOf(pins, run, own), ...present({ documentDir }) };
}
type PinnedOptions = EvidenceOptions & { readonly workDir: string };

const ASSEMBLE = 'context:assemble';
const FAMILIES: ReadonlySet<string> = new Set(['validator', 'contract', 'gates', 'context']);
const FILE_MAX = 4 * 1024 * 1024;

/** A second refusal without a tool call in between is `NoProgress`. A handoff is not such a call. */
function judged(verdict: Verdict, { observations, turn, config }: Evidence, { command }: Call, check: string): Json {
  const { ok, reason, evidence = [] } = verdict;
  if (ok) return { ok, reason, evidence: [...evidence] };
  const before = Number(command.input['failures'] ?? config['failures'] ?? 0);
  const idle = observations.every((each) => each.turn !== turn || each.tool === 'handoff');
  return {
    ok: false,
    reason,
    check,
    failure: before > 0 && idle ? 'NoProgress' : (verdict.failure ?? failureOf(reason)),
    evidence: [...evidence],
  };
}

async function checkOf(
  name: string,
  evidence: Evidence,
  options: EvidenceOptions,
  pins: Pins | undefined,
): Promise<Validator> {
  const colon = name.indexOf(':');
  const [family, which] = [name.slice(0, colon), name.slice(colon + 1)];
  return family === 'contract' ? (own) => contractHolds(which, own) : validatorOf(which, evidence, options, pins);
}

/** The user's validators come first: by module, then those given to the engine. */
async function validatorOf(
  name: string,
  { config }: Evidence,
  { validators = {}, documentDir = '.' }: EvidenceOptions,
  pins: Pins | undefined,
): Promise<Validator> {
  const reference = config['Module'];
  if (typeof reference === 'string') {
    const loaded = loadFunction(reference, documentDir, pins).catch((error: unknown) => {
      throw broken(reference, reasonOf(error));
    });
    return guarded(name, (await loaded) as Validator);
  }
  const own = Object.hasOwn(validators, name) ? validators[name] : undefined;
  if (own !== undefined) return guarded(name, own);
  const known: { readonly [name: string]: Validator } = BUILTIN_VALIDATORS;
  return (Object.hasOwn(known, name) ? known[name] : undefined) ?? (() => invalid(`There is no validator '${name}'.`));
}

/** A validator that throws or returns no verdict fails the run. */
function guarded(name: string, validator: Validator): Validator {
  return async (evidence) => {
    try {
      const verdict = await validator(evidence);
      if (typeof verdict?.ok === 'boolean') return { ...verdict, reason: verdict.reason ?? '' };
    } catch (error) {
      throw broken(name, reasonOf(error));
    }
    throw broken(name, 'it returned no verdict');
  };
}

function broken(name: string, why: string): Error {
  return fail('fatal', 'ValidatorError', `the validator \`${name}\` is broken: ${why}`);
}

/** The evidence for one check. */
function gather({ command, signal }: Call, { workDir, run }: PinnedOptions): Evidence {
  const { observations: all = [], turn = 0, agent = '', config = {}, message = '', since, voided } = command.input;
  const own = (config ?? {}) as { readonly [field: string]: Json };
  const from = Number(since ?? turn);
  const isVoid = new Set(listOf(voided));
  const observations = listOf(all) as readonly Observation[];
  const thisTurn = observations.filter(
    (each) => each.turn >= from && !isVoid.has(each.id) && (agent === '' || agent === null || each.agent === agent),
  );
  const of = (scope: Scope): readonly Observation[] => (scope === 'turn' ? thisTurn : observations);
  return {
    observations,
    thisTurn,
    turn: Number(turn),
    agent: String(agent),
    config: own,
    response: typeof message === 'string' ? message : JSON.stringify(message),
    commands: (scope) => commandsOf(of(scope), observations, artifactsOf(own)),
    filesWritten: (scope) => writtenBy(of(scope)),
    readText: (path) => readText(workDir, path),
    run: (line, timeoutMs) => {
      if (run === undefined)
        throw fail(
          'fatal',
          'NotConfiguredError',
          `the check \`${command.name}\` runs commands, but no sandbox is configured`,
        );
      return run(line, { workDir, timeoutMs, signal });
    },
    files: { list: (path) => listBeneath(workDir, path) },
  };
}

/** Null for a path that is not a file or leads out of the work directory. */
async function readText(workDir: string, path: string): Promise<string | null> {
  try {
    return (await readBeneath(workDir, path, FILE_MAX))?.data.toString('utf8') ?? null;
  } catch (error) {
    if (error instanceof PerformError && error.type === 'PathError') return null;
    throw error;
  }
}

const OUTPUT_MAX = 4_096;
const TYPES: { readonly [tool: string]: string } = {
  write_file: 'FileWrite',
  patch_file: 'FileWrite',
  delete_file: 'FileDelete',
  shell_run: 'CommandRun',
  git_commit: 'GitCommit',
};

/**
 * Writes the evidence of a session to `EvidenceStore.Path`: one node for each recorded call, and the verdict of each gate.
 * The file is for people and tools that read it; gates read the journal.
 */
async function storeEvidence(
  evidence: Evidence,
  { command }: Call,
  workDir: string,
  gate: { readonly which: string; readonly verdict: Json },
): Promise<void> {
  const path = evidence.config['EvidenceStore'];
  if (typeof path !== 'string' || path === '') return;
  const nodes = evidence.observations.flatMap((each) => nodeOf(each, command.run));
  const store = {
    ActiveSessionId: command.run,
    Nodes: nodes,
    Edges: [],
    LastGate: { Name: gate.which, Verdict: gate.verdict },
  };
  await writeBeneath(workDir, path, Buffer.from(`${JSON.stringify(store, null, 2)}\n`));
}

function nodeOf(observation: Observation, run: string): Json[] {
  const { id, tool, agent, turn, args } = observation;
  const type = TYPES[tool];
  if (type === undefined) return [];
  const base = { Id: id, NodeType: type, Agent: agent, Turn: turn, SessionId: run, Succeeded: succeeded(observation) };
  const [ran] = commandsOf([observation]);
  return [
    ran === undefined
      ? { ...base, Path: args['path'] ?? null }
      : { ...base, Command: ran.command, Output: ran.output.slice(0, OUTPUT_MAX) },
  ];
}
