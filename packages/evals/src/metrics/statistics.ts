/** Confidence intervals and tests of significance for shares and means. */

/** The Wilson interval of a share: 95 %. */
export function shareInterval(part: number, whole: number): readonly [number, number] {
  if (whole === 0) return [0, 1];
  const z = 1.96;
  const share = part / whole;
  const spread = z * Math.sqrt((share * (1 - share)) / whole + (z * z) / (4 * whole * whole));
  const scale = 1 + (z * z) / whole;
  const centre = share + (z * z) / (2 * whole);
  return [Math.max(0, (centre - spread) / scale), Math.min(1, (centre + spread) / scale)];
}

/** The probability of a difference at least this large if both shares are equal: Fisher's exact test, two-sided. */
export function fisher(partA: number, wholeA: number, partB: number, wholeB: number): number {
  const total = wholeA + wholeB;
  const parts = partA + partB;
  const chance = (k: number): number =>
    Math.exp(logChoose(wholeA, k) + logChoose(wholeB, parts - k) - logChoose(total, parts));
  const seen = chance(partA);
  let sum = 0;
  for (let k = Math.max(0, parts - wholeB); k <= Math.min(wholeA, parts); k++) {
    const each = chance(k);
    if (each <= seen * (1 + 1e-9)) sum += each;
  }
  return Math.min(1, sum);
}

export interface Moments {
  readonly count: number;
  readonly mean: number;
  readonly variance: number;
}

export function momentsOf(values: readonly number[]): Moments {
  const count = values.length;
  const mean = count === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / count;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { count, mean, variance: count < 2 ? 0 : squares / (count - 1) };
}

/** The probability of a difference at least this large if both means are equal: Welch's test, two-sided. */
export function welch(a: Moments, b: Moments): number {
  if (a.count < 2 || b.count < 2) return 1;
  const errorA = a.variance / a.count;
  const errorB = b.variance / b.count;
  if (errorA + errorB === 0) return a.mean === b.mean ? 1 : 0;
  const t = (a.mean - b.mean) / Math.sqrt(errorA + errorB);
  const freedom = (errorA + errorB) ** 2 / (errorA ** 2 / (a.count - 1) + errorB ** 2 / (b.count - 1));
  return incompleteBeta(freedom / (freedom + t * t), freedom / 2, 0.5);
}

/** The 95 % interval of a mean by Student's t. */
export function meanInterval({ count, mean, variance }: Moments): readonly [number, number] {
  if (count < 2) return [mean, mean];
  const spread = studentQuantile(count - 1) * Math.sqrt(variance / count);
  return [mean - spread, mean + spread];
}

/** The value that |t| exceeds with a probability of 5 %. */
function studentQuantile(freedom: number): number {
  let low = 0;
  let high = 100;
  for (let round = 0; round < 60; round++) {
    const middle = (low + high) / 2;
    if (incompleteBeta(freedom / (freedom + middle * middle), freedom / 2, 0.5) > 0.05) low = middle;
    else high = middle;
  }
  return high;
}

function logChoose(n: number, k: number): number {
  return logGamma(n + 1) - logGamma(k + 1) - logGamma(n - k + 1);
}

const LANCZOS = [
  76.18009172947146, -86.505320329416, 24.01409824083091, -1.231739572450155, 0.1208650973866179e-2,
  -0.5395239384953e-5,
];

function logGamma(x: number): number {
  const base = x + 5.5;
  const series = LANCZOS.reduce((sum, coefficient, index) => sum + coefficient / (x + 1 + index), 1.000000000190015);
  return (x + 0.5) * Math.log(base) - base + Math.log((Math.sqrt(2 * Math.PI) * series) / x);
}

/** The regularised incomplete beta function, by its continued fraction. */
function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log(1 - x));
  return x < (a + 1) / (a + b + 2) ? (front * fraction(x, a, b)) / a : 1 - (front * fraction(1 - x, b, a)) / b;
}

const TINY = 1e-300;

function fraction(x: number, a: number, b: number): number {
  const away = (value: number): number => (Math.abs(value) < TINY ? TINY : value);
  let c = 1;
  let d = 1 / away(1 - ((a + b) * x) / (a + 1));
  let result = d;
  for (let m = 1; m <= 300; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away(1 + even * d);
    c = away(1 + even / c);
    result *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away(1 + odd * d);
    c = away(1 + odd / c);
    const change = d * c;
    result *= change;
    if (Math.abs(change - 1) < 1e-12) break;
  }
  return result;
}
