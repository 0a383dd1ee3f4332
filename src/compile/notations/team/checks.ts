/** Reads validators and contracts by name, and reports unknown ones. */
import { VALIDATORS, VALIDATOR_ALIASES } from '../../../catalog/validators.ts';
import type { Json } from '../../../expr/json.ts';
import type { Path } from '../../source/located.ts';
import { nearest } from '../../diagnose/nearest.ts';
import { namesAt } from '../../document/names.ts';
import type { Check, Reading } from './model.ts';
import { TEAM_KEYS, VALIDATION_KEYS } from './schema/sections.ts';
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
  const checks = new Map<string, Check>();
  for (const [label, at] of named) {
    const check = validatorOf(label, at, config, reading);
    if (check !== null) checks.set(check.name, check);
  }
  return [...checks.values()];
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
    const names = namesAt(reading.body.located(), 'Contracts', TEAM_KEYS, ['Name']);
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
    namesAt(body.located(), 'Validation', TEAM_KEYS).poisoned ||
    namesAt(body.located('Validation'), 'Validators', VALIDATION_KEYS).poisoned
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
  return JSON.parse(JSON.stringify({ ...paths, TestSelector: body.value.TestSelector, ...particular })) as Json;
}
