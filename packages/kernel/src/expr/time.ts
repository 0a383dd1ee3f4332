/**
 * Timestamps and durations, as whole nanoseconds. Only UTC and fixed offsets are known: named zones change with the host's
 * data. Of the host's `Date`, only the UTC methods are used, so results do not depend on the machine.
 */
import { EvalError } from './error.ts';
import { Boxed } from './value.ts';

const SECOND = 1_000_000_000n;
const MILLISECOND = 1_000_000n;
const DAY_MS = 86_400_000;
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
  const nanos = ((local % SECOND) + SECOND) % SECOND;
  const date = new Date(Number((local - nanos) / MILLISECOND));
  const newYear = new Date(date).setUTCMonth(0, 1);
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    dayOfYear: (date.getTime() - newYear) / DAY_MS,
    dayOfWeek: date.getUTCDay(),
    hours: date.getUTCHours(),
    minutes: date.getUTCMinutes(),
    seconds: date.getUTCSeconds(),
    nanos: Number(nanos),
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
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const real = date.getUTCMonth() === month - 1 && date.getUTCDate() === day && hour < 24 && minute < 60 && second < 60;
  if (!real || year === 0) throw new EvalError('other', `\`${text}\` is out of range for a timestamp`);
  const zone = match[8] ?? 'Z';
  const offset = zone === 'Z' || zone === 'z' ? 0n : offsetOf(zone);
  const nanos = BigInt((match[7] ?? '').padEnd(9, '0'));
  date.setUTCHours(hour, minute, second);
  return new Timestamp(BigInt(date.getTime()) * MILLISECOND + nanos - offset);
}

/** The instant of an RFC 3339 text in milliseconds; null if the text is not one. */
export function instantOf(text: string): number | null {
  try {
    return Number(parseTimestamp(text).ns / MILLISECOND);
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
  ms: MILLISECOND,
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

function pad(n: number, width: number): string {
  return String(n).padStart(width, '0');
}

function fraction(nanos: number): string {
  return nanos === 0 ? '' : `.${pad(nanos, 9).replace(/0+$/, '')}`;
}
