/**
 * Performs the checks that read evidence: `validator:<Name>` over the current turn, `contract:<Name>` over the session, and
 * `context:<source>`, which gives text. A check that says no says why and what kind of failure it is; a name that nobody
 * knows is a no. Nothing is decided here: what follows from a verdict is the flow's affair.
 */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { VALIDATOR_ALIASES } from '../../catalog/validators.ts';
import type { Json } from '../../expr/json.ts';
import { PerformError } from '../../runtime/failures.ts';
import type { Call, Performer } from '../../runtime/ports.ts';
import { contractHolds, contractOf } from './contracts.ts';
import type { Evidence, EvidenceOptions, Validator, Verdict } from './evidence.ts';
import { gather } from './gather.ts';
import { readSource, readSources } from './sources.ts';
import type { Wanted } from './sources.ts';
import { BUILTIN_VALIDATORS } from './validators.ts';
import { block, kindOf } from './verdicts.ts';

export function evidencePerformer(options: EvidenceOptions): Performer {
  return {
    perform: async (call) => {
      const { kind, name } = call.command;
      const colon = name.indexOf(':');
      const [family, which] = [name.slice(0, colon), name.slice(colon + 1)];
      if (kind !== 'check' || !FAMILIES.has(family))
        throw new PerformError({
          class: 'fatal',
          type: 'NotConfiguredError',
          message: `nobody performs the ${kind} \`${name}\``,
        });
      // Reading files and running tests takes real time, during which a script's clock stands still.
      const done = call.clock.busy?.();
      try {
        const evidence = gather(call, options);
        if (family === 'context') return { ok: true, value: { ok: true, ...(await contextOf(which, evidence, call)) } };
        const check = family === 'contract' ? contract(which, evidence) : await validatorOf(which, evidence, options);
        return { ok: true, value: judged(await check(evidence), evidence, call) };
      } finally {
        done?.();
      }
    },
  };
}

const FAMILIES = new Set(['validator', 'contract', 'context']);

/** A second failure without a single call in between is no progress, whatever else it is. Saying where to go is no call. */
function judged(verdict: Verdict, { thisTurn, config }: Evidence, { command }: Call): Json {
  const { ok, reason, evidence = [] } = verdict;
  if (ok) return { ok, reason, evidence: [...evidence] };
  const before = Number(command.input['failures'] ?? config['failures'] ?? 0);
  const idle = thisTurn.every(({ tool }) => tool === 'handoff');
  return {
    ok: false,
    reason,
    failure: before > 0 && idle ? 'NoProgress' : (verdict.failure ?? kindOf(reason)),
    evidence: [...evidence],
  };
}

/** A contract as it was declared, or one predicate by its name. */
function contract(name: string, { config }: Evidence): Validator {
  const requires = config['Requires'];
  return Array.isArray(requires) ? (evidence) => contractHolds(name, requires, evidence) : contractOf(name);
}

/** `assemble` reads all the sources that it is given; anything else is a source itself. */
async function contextOf(which: string, evidence: Evidence, { command }: Call): Promise<object> {
  const { sources } = command.input;
  return which === 'assemble' && Array.isArray(sources)
    ? readSources(sources as unknown as readonly Wanted[], evidence)
    : readSource(which, evidence);
}

/** The user's own come first: by module, as the document names it, or as they were handed over. */
async function validatorOf(
  name: string,
  { config }: Evidence,
  { validators = {}, documentDir = '.' }: EvidenceOptions,
): Promise<Validator> {
  const reference = config['Module'];
  if (typeof reference === 'string') return guarded(name, await load(reference, documentDir));
  const own = Object.hasOwn(validators, name) ? validators[name] : undefined;
  if (own !== undefined) return guarded(name, own);
  const known: { readonly [name: string]: Validator } = BUILTIN_VALIDATORS;
  const builtin = VALIDATOR_ALIASES[name] ?? name;
  return (
    (Object.hasOwn(known, builtin) ? known[builtin] : undefined) ??
    (() => block('InvalidTransition', `There is no validator '${name}'.`))
  );
}

/** One that throws is broken: that is nobody's failed turn, and it lets nothing through. */
function guarded(name: string, validator: Validator): Validator {
  return async (evidence) => {
    try {
      const verdict = await validator(evidence);
      if (typeof verdict?.ok === 'boolean') return { ...verdict, reason: verdict.reason ?? '' };
    } catch (error) {
      throw broken(name, error instanceof Error ? error.message : String(error));
    }
    throw broken(name, 'it gives no verdict');
  };
}

async function load(reference: string, documentDir: string): Promise<Validator> {
  const [path = '', name = ''] = reference.split('#');
  const module = await (
    import(pathToFileURL(resolve(documentDir, path)).href) as Promise<{ readonly [name: string]: unknown }>
  ).catch((error: unknown) => {
    throw broken(reference, error instanceof Error ? error.message : String(error));
  });
  const found = Object.hasOwn(module, name) ? module[name] : undefined;
  if (typeof found !== 'function') throw broken(reference, 'there is no such function');
  return found as Validator;
}

function broken(name: string, why: string): PerformError {
  return new PerformError({
    class: 'fatal',
    type: 'ValidatorError',
    message: `the validator \`${name}\` is broken: ${why}`,
  });
}
