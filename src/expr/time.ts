/**
 * Timestamps and durations, as whole nanoseconds. Calendar arithmetic is done here rather than with the host's `Date`,
 * so that results do not depend on the machine. Only UTC and fixed offsets are known: named zones change with the host's data.
 */
import { EvalError } from './error.ts';
import { Boxed } from './value.ts';

const SECOND = 1_000_000_000n;
const DAY = 86_400n * SECOND;
const FIRST = -62_135_596_800n * SECOND;
const LAST = 253_402_300_800n * SECOND - 1n;
const DURATION_MAX = (1n << 63n) - 1n;

export class Timestamp extends Boxed {
  readonly type = 'google.protobuf.Timestamp';
  readonly ns: bigint;
  constructor(ns: bigint) {
    super();
    if (ns < FIRST || ns > LAST) throw new EvalError('other', 'timestamp out of range: years 0001 to 9999');
    this.ns = ns;
  }
}

export class Duration extends Boxed {
  readonly type = 'google.protobuf.Duration';
  readonly ns: bigint;
  constructor(ns: bigint) {
    super();
    if (ns > DURATION_MAX || ns < -DURATION_MAX) throw new EvalError('other', 'duration out of range');
    this.ns = ns;
  }
}

export interface Calendar {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly day: number;
  /** 0 is 1 January. */
  readonly dayOfYear: number;
  /** 0 is Sunday. */
  readonly dayOfWeek: number;
  readonly hours: number;
  readonly minutes: number;
  readonly seconds: number;
  readonly nanos: number;
}

export function calendarOf(time: Timestamp, zone: string | undefined): Calendar {
  const local = time.ns + (zone === undefined ? 0n : offsetOf(zone));
  const days = floorDiv(local, DAY);
  const rest = local - days * DAY;
  const secondsOfDay = Number(rest / SECOND);
  const { year, month, day } = civilOf(Number(days));
  return {
    year,
    month,
    day,
    dayOfYear: Number(days) - daysOf(year, 1, 1),
    dayOfWeek: (((Number(days) + 4) % 7) + 7) % 7,
    hours: Math.trunc(secondsOfDay / 3600),
    minutes: Math.trunc(secondsOfDay / 60) % 60,
    seconds: secondsOfDay % 60,
    nanos: Number(rest % SECOND),
  };
}

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)$/;

export function parseTimestamp(text: string): Timestamp {
  const match = RFC3339.exec(text);
  if (match === null) throw new EvalError('other', `\`${text.slice(0, 40)}\` is not an RFC 3339 timestamp`);
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const days = daysOf(year, month, day);
  const back = civilOf(days);
  const real = back.month === month && back.day === day && hour < 24 && minute < 60 && second < 60;
  if (!real || year === 0) throw new EvalError('other', `\`${text}\` is out of range for a timestamp`);
  const zone = match[8] ?? 'Z';
  const offset = zone === 'Z' || zone === 'z' ? 0n : offsetOf(zone);
  const nanos = BigInt((match[7] ?? '').padEnd(9, '0'));
  return new Timestamp(BigInt(days) * DAY + BigInt(hour * 3600 + minute * 60 + second) * SECOND + nanos - offset);
}

/** The instant of an RFC 3339 text in milliseconds; null if the text is not one. */
export function instantOf(text: string): number | null {
  try {
    return Number(parseTimestamp(text).ns / 1_000_000n);
  } catch {
    return null;
  }
}

export function timestampText(time: Timestamp): string {
  const c = calendarOf(time, undefined);
  const date = `${pad(c.year, 4)}-${pad(c.month, 2)}-${pad(c.day, 2)}`;
  return `${date}T${pad(c.hours, 2)}:${pad(c.minutes, 2)}:${pad(c.seconds, 2)}${fraction(c.nanos)}Z`;
}

const UNITS: { readonly [unit: string]: bigint } = {
  h: 3600n * SECOND,
  m: 60n * SECOND,
  s: SECOND,
  ms: 1_000_000n,
  us: 1_000n,
  µs: 1_000n,
  ns: 1n,
};

export function parseDuration(text: string): Duration {
  const body = /^[+-]?((?:\d+\.?\d*|\.\d+)(?:ns|us|µs|ms|s|m|h))+$/.test(text) && text.length <= 64;
  if (!body && text !== '0')
    throw new EvalError('other', `\`${text.slice(0, 40)}\` is not a duration such as 90s or 1h30m`);
  let ns = 0n;
  for (const [, whole = '', part = '', unit = 's'] of text.matchAll(/(\d*)\.?(\d*)(ns|us|µs|ms|s|m|h)/g)) {
    const size = UNITS[unit] ?? 0n;
    ns += BigInt(whole || '0') * size + (BigInt(part || '0') * size) / 10n ** BigInt(part.length);
  }
  return new Duration(text.startsWith('-') ? -ns : ns);
}

export function durationText(duration: Duration): string {
  const size = duration.ns < 0n ? -duration.ns : duration.ns;
  return `${duration.ns < 0n ? '-' : ''}${size / SECOND}${fraction(Number(size % SECOND))}s`;
}

function offsetOf(zone: string): bigint {
  if (zone === 'UTC' || zone === 'Z') return 0n;
  const match = /^([+-]?)(\d\d):(\d\d)$/.exec(zone);
  if (match === null) throw new EvalError('other', `\`${zone}\` is not UTC or an offset such as +02:00`);
  const seconds = BigInt(Number(match[2]) * 3600 + Number(match[3]) * 60) * SECOND;
  return match[1] === '-' ? -seconds : seconds;
}

/** Days since 1970-01-01 of a proleptic Gregorian date, counting years from March so that leap days come last. */
function daysOf(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  return (
    era * 146_097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - 719_468
  );
}

function civilOf(days: number): { year: number; month: number; day: number } {
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1,
  };
}

function floorDiv(a: bigint, b: bigint): bigint {
  return a < 0n && a % b !== 0n ? a / b - 1n : a / b;
}

function pad(n: number, width: number): string {
  return String(n).padStart(width, '0');
}

function fraction(nanos: number): string {
  return nanos === 0 ? '' : `.${pad(nanos, 9).replace(/0+$/, '')}`;
}
