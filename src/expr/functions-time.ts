/**
 * The parts of a timestamp, in UTC or at a fixed offset, and of a duration.
 */
import { wrongType } from './function.ts';
import type { Fn, FnTable } from './function.ts';
import { Duration, calendarOf, Timestamp } from './time.ts';
import type { Calendar } from './time.ts';

const SECOND = 1_000_000_000n;

export const TIME_FUNCTIONS: FnTable = {
  getFullYear: part('getFullYear', (c) => c.year),
  getMonth: part('getMonth', (c) => c.month - 1),
  getDate: part('getDate', (c) => c.day),
  getDayOfMonth: part('getDayOfMonth', (c) => c.day - 1),
  getDayOfWeek: part('getDayOfWeek', (c) => c.dayOfWeek),
  getDayOfYear: part('getDayOfYear', (c) => c.dayOfYear),
  getHours: part(
    'getHours',
    (c) => c.hours,
    (ns) => ns / (3600n * SECOND),
  ),
  getMinutes: part(
    'getMinutes',
    (c) => c.minutes,
    (ns) => ns / (60n * SECOND),
  ),
  getSeconds: part(
    'getSeconds',
    (c) => c.seconds,
    (ns) => ns / SECOND,
  ),
  getMilliseconds: part(
    'getMilliseconds',
    (c) => Math.trunc(c.nanos / 1_000_000),
    (ns) => (ns % SECOND) / 1_000_000n,
  ),
};

function part(name: string, of: (calendar: Calendar) => number, ofDuration?: (ns: bigint) => bigint): Fn {
  return {
    params: [ofDuration === undefined ? ['timestamp'] : ['timestamp', 'duration'], ['string']],
    required: 1,
    forms: 'method',
    returns: 'number',
    run: (_env, time, zone) => {
      if (time === null) return null;
      if (time instanceof Duration && ofDuration !== undefined && zone === undefined) return ofDuration(time.ns);
      if (!(time instanceof Timestamp)) throw wrongType(name, 'a timestamp', time);
      if (zone !== undefined && typeof zone !== 'string') throw wrongType(name, 'an offset', zone);
      return BigInt(of(calendarOf(time, zone)));
    },
  };
}
