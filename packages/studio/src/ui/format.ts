/** Numbers, times and values as texts. */

const COUNT = new Intl.NumberFormat('en');
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

export function count(value: number): string {
  return COUNT.format(value);
}

/** `20k` for a limit. */
export function short(value: number): string {
  return value < 10_000 ? COUNT.format(value) : SHORT.format(value).toLowerCase();
}

export function dollars(value: number): string {
  if (value !== 0 && Math.abs(value) < 0.01) return `$${value.toPrecision(1)}`;
  return `$${value.toFixed(2)}`;
}

/** `0.4 s`, `12 s`, `3 min`, `2 h`, `5 d`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 0.0995) return `${Math.round(Math.max(0, ms))} ms`;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 99.5) return `${Math.round(seconds)} s`;
  if (seconds < 5970) return `${Math.round(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

export function ago(time: string | number, now: number): string {
  const ms = now - new Date(time).getTime();
  return ms < 5000 ? 'now' : duration(ms);
}

const CLOCK = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

export function clock(time: string | number): string {
  return CLOCK.format(new Date(time));
}

/** `key: "value", amount: 184.9` for an object; JSON for the rest; text as it is. */
export function inline(value: unknown, max = 200): string {
  if (typeof value === 'string') return cut(value, max);
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return cut(JSON.stringify(value) ?? '', max);
  return cut(
    Object.entries(value)
      .map(([key, each]) => `${key}: ${JSON.stringify(each)}`)
      .join(', '),
    max,
  );
}

export function pretty(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '');
}

function cut(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max - 1)}…` : text;
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}
