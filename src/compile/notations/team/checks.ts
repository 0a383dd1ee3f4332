/** Reads validators and contracts by name, and reports unknown ones. */
import { VALIDATORS, VALIDATOR_ALIASES } from '../../../catalog/validators.ts';
import type { Json } from '../../../expr/json.ts';
import type { Path } from '../../source/located.ts';
import { nearest } from '../../diagnose/nearest.ts';
import { namesAt } from '../../document/names.ts';
import type { Check, Reading } from './model.ts';
import { teamKeys, validationKeys } from './schema/sections.ts';
import type { RawEvidence } from './schema/sections.ts';

/** `Validators`, then `Validator`, each once. */
export function readChecks(raw: RawEvidence, path: Path, reading: Reading): readonly Check[] {
  const named: (readonly [string, Path])[] = (raw.Validators ?? []).map((name, index) => [
    name,
    [...path, 'Validators', index],
  ]);
  if (raw.Validator !== undefined) named.push([raw.Validator, [...path, 'Validator']]);
  const config = configOf(reading, {
    RequiredCommandPattern: raw.RequiredCommandPattern,
    ShellFallbackPattern: raw.ShellFallbackPattern,
  });
  warnOfPatterns(raw, named, path, reading);
  const checks = new Map<string, Check>();
  for (const [label, at] of named) {
    const check = validatorOf(label, at, config, reading);
    if (check !== null) checks.set(check.name, check);
  }
  return [...checks.values()];
}

/** A pattern that no validator of the route reads. Validators of the user may read any. */
function warnOfPatterns(
  raw: RawEvidence,
  named: readonly (readonly [string, Path])[],
  path: Path,
  { body, report }: Reading,
): void {
  const own = Object.keys(body.value.Validation.Validators ?? {});
  const labels = named.map(([label]) => label);
  if (labels.some((label) => own.includes(label))) return;
  for (const [key, readers] of Object.entries(PATTERN_READERS)) {
    if (raw[key as keyof RawEvidence] === undefined || labels.some((label) => readers.includes(label))) continue;
    report.warning('unused-field', body.key(...path, key), `\`${key}\` has no effect without \`${readers[0] ?? ''}\``, {
      help: `Add \`${readers[0] ?? ''}\` to \`Validators\`, or leave it out.`,
    });
  }
}

const PATTERN_READERS: { readonly [key: string]: readonly string[] } = {
  RequiredCommandPattern: ['RequireShellPass', 'BlockOnConsecutiveFail'],
  ShellFallbackPattern: ['RequireWriteFile'],
};

/** Reports validators of the user whose module does not exist. */
export function checkModules({ body, report, readText }: Reading): void {
  if (readText === undefined) return;
  for (const [name, reference] of Object.entries(body.value.Validation.Validators ?? {})) {
    const [file = ''] = reference.split('#');
    if (readText(file) !== null) continue;
    report.error(
      'missing-prerequisite',
      body.at('Validation', 'Validators', name),
      `the module \`${file}\` of validator \`${name}\` does not exist`,
      { help: 'Create it, or mend its path. Paths start at the folder of the document.' },
    );
  }
}

/** `Contracts`, then `Contract`. */
export function readContracts(
  raw: { readonly Contract?: string | undefined; readonly Contracts?: readonly string[] | undefined },
  path: Path,
  reading: Reading,
): readonly Check[] {
  const named: (readonly [string, Path])[] = (raw.Contracts ?? []).map((name, index) => [
    name,
    [...path, 'Contracts', index],
  ]);
  if (raw.Contract !== undefined) named.push([raw.Contract, [...path, 'Contract']]);
  const declared = reading.body.value.Contracts;
  return named.flatMap(([label, at]): Check[] => {
    const contract = declared.find(({ Name }) => Name === label);
    if (contract !== undefined)
      return [{ name: `contract:${label}`, label, config: configOf(reading, { Requires: contract.Requires }) }];
    const names = namesAt(reading.body.located(), 'Contracts', teamKeys(), ['Name']);
    if (names.has(label)) return [];
    const near = names.near(label);
    reading.report.error('unknown-contract', reading.at(...at), `unknown contract \`${label}\``, {
      help: near === undefined ? 'Declare it under `Contracts`.' : `Did you mean \`${near}\`?`,
    });
    return [];
  });
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
    namesAt(body.located('Validation'), 'Validators', validationKeys()).poisoned
  )
    return null;
  const near = nearest(label, [...VALIDATORS, ...Object.keys(own)]);
  reading.report.error('unknown-validator', reading.at(...at), `unknown validator \`${label}\``, {
    help:
      near === undefined
        ? `There are ${VALIDATORS.map((each) => `\`${each}\``).join(', ')}, and those under \`Validation.Validators\`.`
        : `Did you mean \`${near}\`?`,
  });
  return null;
}

/** The configuration of a check: the paths of artifacts, the test commands, and its own fields. */
function configOf({ body }: Reading, particular: { readonly [field: string]: unknown }): Json {
  const { Validators: _, ...paths } = body.value.Validation;
  const { TestSelector: tests, EvidenceStore: store } = body.value;
  const selector =
    tests === undefined
      ? undefined
      : {
          FindRelatedCommand: tests.FindRelatedCommand ?? tests.CommandTemplate,
          FullSuiteCommand: tests.FullSuiteCommand,
        };
  const config = { ...paths, TestSelector: selector, EvidenceStore: store?.Path, ...particular };
  return JSON.parse(JSON.stringify(config)) as Json;
}
