/** Reads `--since`: an ISO date, or a span back from now such as `7d`, `12h` or `30m`. */
import { usage } from './usage.ts';

const UNITS: { readonly [unit: string]: number } = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

export function readSince(given: string | undefined, now: number, option = '--since'): number | undefined {
  if (given === undefined) return undefined;
  const span = /^(\d+)([mhdw])$/.exec(given);
  if (span !== null) return now - Number(span[1]) * (UNITS[span[2] as string] as number);
  const at = /^\d{4}-\d{2}-\d{2}/.test(given) ? Date.parse(given) : Number.NaN;
  if (Number.isNaN(at))
    throw usage(
      `\`${option}\` takes a time, not \`${given}\``,
      'Write a date such as 2026-11-01, or a span such as 7d, 12h or 30m.',
    );
  return at;
}
