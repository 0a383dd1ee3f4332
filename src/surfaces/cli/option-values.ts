/** Options that take a number or JSON, with an error that says which option and what it takes. */
import type { Json } from '../../core/json.ts';
import { usage } from './usage.ts';

export function readJson(option: string, given: string | undefined): Json | undefined {
  if (given === undefined) return undefined;
  try {
    return JSON.parse(given) as Json;
  } catch (error) {
    throw usage(
      `\`${option}\` takes JSON: ${error instanceof Error ? error.message : 'this is none'}`,
      `Quote it for the shell: ${option} '{"amount": 20}'`,
    );
  }
}

export function readNumber(option: string, given: string | undefined, least = 0): number | undefined {
  if (given === undefined) return undefined;
  const value = Number(given);
  if (given.trim() === '' || !Number.isFinite(value) || value < least)
    throw usage(`\`${option}\` takes a number from ${least} on, not \`${given}\``);
  return value;
}

export function readWhole(option: string, given: string | undefined, least = 0): number | undefined {
  const value = readNumber(option, given, least);
  if (value !== undefined && !Number.isSafeInteger(value))
    throw usage(`\`${option}\` takes a whole number, not \`${given}\``);
  return value;
}
