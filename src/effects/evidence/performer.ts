/**
 * Performs the checks that read evidence: `validator:<Name>` over the current turn, `contract:<Name>` over the session, and
 * `context:<source>`, which returns text. A refusal has a reason and a failure type. An unknown name is a refusal.
 */
import { resolve } from 'node:path';
import { VALIDATOR_ALIASES } from '../../catalog/validators.ts';
import { listOf, type Json } from '../../expr/json.ts';
import { present } from '../../expr/present.ts';
import type { Pins } from '../../ir/events.ts';
import { PerformError, fail, reasonOf } from '../../runtime/failures.ts';
import type { Call, Performer } from '../../runtime/ports.ts';
import { loadCode } from '../code/load.ts';
import { workDirOf } from '../pins.ts';
import { contractHolds, contractOf } from './contracts.ts';
import { listBeneath, readBeneath } from '../safe-path.ts';
import { failureOf, invalid } from './evidence.ts';
import type { Evidence, EvidenceOptions, Observation, Scope, Validator, Verdict } from './evidence.ts';
import { commandsOf, writtenBy } from './records.ts';
import { storeEvidence } from './store.ts';
import { readSource, readSources, type Wanted } from './sources.ts';
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
        if (family === 'context') return { ok: true, value: { ok: true, ...(await contextOf(which, evidence, call)) } };
        const check =
          family === 'contract' ? contract(which, evidence) : await validatorOf(which, evidence, options, call.pins);
        const verdict = judged(await check(evidence), evidence, call, which);
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

const FAMILIES = new Set(['validator', 'contract', 'context']);
const FILE_MAX = 4 * 1024 * 1024;

/** A second refusal without a tool call in between is `NoProgress`. A handoff is not such a call. */
function judged(verdict: Verdict, { thisTurn, config }: Evidence, { command }: Call, check: string): Json {
  const { ok, reason, evidence = [] } = verdict;
  if (ok) return { ok, reason, evidence: [...evidence] };
  const before = Number(command.input['failures'] ?? config['failures'] ?? 0);
  const idle = thisTurn.every(({ tool }) => tool === 'handoff');
  return {
    ok: false,
    reason,
    check,
    failure: before > 0 && idle ? 'NoProgress' : (verdict.failure ?? failureOf(reason)),
    evidence: [...evidence],
  };
}

/** A declared contract, or one predicate by name. */
function contract(name: string, { config }: Evidence): Validator {
  const requires = config['Requires'];
  return Array.isArray(requires) ? (evidence) => contractHolds(name, requires, evidence) : contractOf(name);
}

/** `assemble` reads all given sources; any other name is one source. */
async function contextOf(which: string, evidence: Evidence, { command }: Call): Promise<object> {
  const { sources } = command.input;
  return which === 'assemble' && Array.isArray(sources)
    ? readSources(sources as unknown as readonly Wanted[], evidence)
    : readSource(which, evidence);
}

/** The user's validators come first: by module, then those given to the engine. */
async function validatorOf(
  name: string,
  { config }: Evidence,
  { validators = {}, documentDir = '.' }: EvidenceOptions,
  pins: Pins | undefined,
): Promise<Validator> {
  const reference = config['Module'];
  if (typeof reference === 'string') return guarded(name, await load(reference, documentDir, pins));
  const own = Object.hasOwn(validators, name) ? validators[name] : undefined;
  if (own !== undefined) return guarded(name, own);
  const known: { readonly [name: string]: Validator } = BUILTIN_VALIDATORS;
  const builtin = VALIDATOR_ALIASES[name] ?? name;
  return (
    (Object.hasOwn(known, builtin) ? known[builtin] : undefined) ?? (() => invalid(`There is no validator '${name}'.`))
  );
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

async function load(reference: string, documentDir: string, pins: Pins | undefined): Promise<Validator> {
  const [path = '', name = ''] = reference.split('#');
  const module = await loadCode(resolve(documentDir, path), pins).catch((error: unknown) => {
    throw broken(reference, reasonOf(error));
  });
  const found = Object.hasOwn(module, name) ? module[name] : undefined;
  if (typeof found !== 'function') throw broken(reference, 'the module exports no such function');
  return found as Validator;
}

function broken(name: string, why: string): Error {
  return fail('fatal', 'ValidatorError', `the validator \`${name}\` is broken: ${why}`);
}

/** The evidence for one check. */
function gather({ command, signal }: Call, { workDir, run }: PinnedOptions): Evidence {
  const { observations: all = [], turn = 0, agent = '', config = {}, message = '' } = command.input;
  const observations = listOf(all) as readonly Observation[];
  const thisTurn = observations.filter(
    (each) => each.turn === turn && (agent === '' || agent === null || each.agent === agent),
  );
  const of = (scope: Scope): readonly Observation[] => (scope === 'turn' ? thisTurn : observations);
  return {
    observations,
    thisTurn,
    turn: Number(turn),
    agent: String(agent),
    config: (config ?? {}) as { readonly [field: string]: Json },
    response: typeof message === 'string' ? message : JSON.stringify(message),
    commands: (scope) => commandsOf(of(scope), observations),
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
