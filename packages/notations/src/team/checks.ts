/** Reads validators and contracts by name, and reports unknown ones. */
import { RUN_GATE, VALIDATORS, VALIDATOR_ALIASES } from '@sluice-internal/kernel/catalog';
import type { Json } from '@sluice-internal/kernel/expr';
import { nearest, quoted, suggestion } from '@sluice-internal/compile/source';
import type { Path } from '@sluice-internal/compile/source';
import { durationMs, namesAt } from '@sluice-internal/compile/document';
import { regexProblem } from '@sluice-internal/compile/expressions';
import type { Check, Reading } from './model.ts';
import { teamKeys, validationKeys, type RawEvidence } from './schema/sections.ts';

type Named = readonly (readonly [name: string, at: Path])[];

/** `Validators`, then `Validator`, each once. */
export function readChecks(raw: RawEvidence, path: Path, reading: Reading): readonly Check[] {
  const named = namedIn(raw.Validators, raw.Validator, path, 'Validator');
  const { RequiredCommandPattern, ShellFallbackPattern } = raw;
  const config = configOf(reading, { RequiredCommandPattern, ShellFallbackPattern });
  warnOfPatterns(raw, named, path, reading);
  const checks = new Map<string, Check>();
  for (const [label, at] of named) {
    const check = validatorOf(label, at, config, reading);
    if (check !== null) checks.set(check.name, check);
  }
  return [...checks.values()];
}

/** The same validator with another pattern is another check. */
export function checkKey({ name, config }: Check): string {
  return `${name} ${JSON.stringify(config)}`;
}

export function distinctChecks(checks: readonly Check[]): readonly Check[] {
  return [...new Map(checks.map((check) => [checkKey(check), check])).values()];
}

/** The names of a list, and the one under the key in the singular. */
function namedIn(list: readonly string[] = [], single: string | undefined, path: Path, key: string): Named {
  const listed = list.map((name, index) => [name, [...path, `${key}s`, index]] as const);
  return single === undefined ? listed : [...listed, [single, [...path, key]]];
}

/** A pattern that no validator of the route reads. Validators of the user may read any. */
function warnOfPatterns(raw: RawEvidence, named: Named, path: Path, { body, unused }: Reading): void {
  const own = Object.keys(body.value.Validation.Validators ?? {});
  const labels = named.map(([label]) => label);
  if (labels.some((label) => own.includes(label))) return;
  for (const [key, readers] of Object.entries(PATTERN_READERS)) {
    if (raw[key as keyof RawEvidence] === undefined || labels.some((label) => readers.includes(label))) continue;
    const reader = `\`${readers[0] ?? ''}\``;
    const help = `Add ${reader} to \`Validators\`, or leave it out.`;
    unused([...path, key], `\`${key}\` has no effect without ${reader}`, help);
  }
}

const PATTERN_READERS: { readonly [key: string]: readonly string[] } = {
  RequiredCommandPattern: ['RequireShellPass', 'BlockOnConsecutiveFail'],
  ShellFallbackPattern: ['RequireWriteFile'],
};

/** Reports a pattern that the regex engine cannot read. */
export function checkPattern(pattern: string, path: Path, { report, at }: Reading): void {
  const problem = regexProblem(pattern);
  if (problem !== null)
    report.error('bad-regex', at(...path), `the pattern ${problem.message}`, { help: problem.help });
}

/** Reports assertion patterns that cannot be read, and validators of the user whose module does not exist. */
export function checkValidation(reading: Reading): void {
  const { body, report, readText } = reading;
  for (const [index, pattern] of (body.value.Validation.TestAssertionPatterns ?? []).entries())
    checkPattern(pattern, ['Validation', 'TestAssertionPatterns', index], reading);
  if (readText === undefined) return;
  for (const [name, reference] of Object.entries(body.value.Validation.Validators ?? {})) {
    const [file = ''] = reference.split('#');
    if (readText(file) !== null) continue;
    report.error(
      'missing-prerequisite',
      body.at('Validation', 'Validators', name),
      `the module \`${file}\` of validator \`${name}\` does not exist`,
      { help: 'Create it, or correct its path. Paths start at the folder of the document.' },
    );
  }
}

/** `Contracts`, then `Contract`. */
export function readContracts(
  raw: { readonly Contract?: string | undefined; readonly Contracts?: readonly string[] | undefined },
  path: Path,
  reading: Reading,
): readonly Check[] {
  const named = namedIn(raw.Contracts, raw.Contract, path, 'Contract');
  const declared = reading.body.value.Contracts;
  return named.flatMap(([label, at]): Check[] => {
    const contract = declared.find(({ Name }) => Name === label);
    if (contract !== undefined)
      return [
        {
          name: `contract:${label}`,
          label,
          config: configOf(reading, {
            Requires: contract.Requires,
            ...(contract.gate === undefined ? {} : { gate: gateConfig(contract.gate) }),
          }),
        },
      ];
    const names = namesAt(reading.body.located(), 'Contracts', teamKeys(), ['Name']);
    if (names.has(label)) return [];
    const help = names.help(label, 'Declare it under `Contracts`.');
    reading.report.error('unknown-contract', reading.at(...at), `unknown contract \`${label}\``, { help });
    return [];
  });
}

/** The command that the engine runs, after all other checks of the way. */
export function readRunGate(
  { gate }: { readonly gate?: { readonly run: string; readonly timeout?: string | undefined } | undefined },
  reading: Reading,
): readonly Check[] {
  if (gate === undefined) return [];
  return [{ name: RUN_GATE, label: gate.run, config: configOf(reading, gateConfig(gate)) }];
}

function gateConfig({ run, timeout }: { readonly run: string; readonly timeout?: string | undefined }) {
  return { run, ...(timeout === undefined ? {} : { timeoutMs: durationMs(timeout) }) };
}

function validatorOf(label: string, at: Path, config: Json, reading: Reading): Check | null {
  const own = reading.body.value.Validation.Validators ?? {};
  if (Object.hasOwn(own, label))
    return { name: `validator:${label}`, label, config: { ...(config as object), Module: own[label] ?? '' } };
  const name = Object.hasOwn(VALIDATOR_ALIASES, label)
    ? VALIDATOR_ALIASES[label]
    : VALIDATORS.find((each) => each === label);
  if (name !== undefined) return { name: `validator:${name}`, label, config };
  const { body } = reading;
  if (
    namesAt(body.located(), 'Validation', teamKeys()).poisoned ||
    namesAt(body.located('Validation'), 'Validators', validationKeys()).poisoned ||
    body.poisoned('Validation', 'Validators', label)
  )
    return null;
  const near = nearest(label, [...VALIDATORS, ...Object.keys(own)]);
  const help = suggestion(near, `There are ${quoted(VALIDATORS)}, and those under \`Validation.Validators\`.`);
  reading.report.error('unknown-validator', reading.at(...at), `unknown validator \`${label}\``, { help });
  return null;
}

/** The configuration of a check: the paths of artifacts, the test commands, and its own fields. */
function configOf({ body }: Reading, particular: { readonly [field: string]: unknown }): Json {
  const { Validators: _, ...paths } = body.value.Validation;
  const { TestSelector: tests, EvidenceStore: store } = body.value;
  const { CommandTemplate, FindRelatedCommand = CommandTemplate, FullSuiteCommand } = tests ?? {};
  const TestSelector = tests && { FindRelatedCommand, FullSuiteCommand };
  const config = { ...paths, TestSelector, EvidenceStore: store?.Path, ...particular };
  return JSON.parse(JSON.stringify(config)) as Json;
}
