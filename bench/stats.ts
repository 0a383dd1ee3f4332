/** The statistics of the benchmark: median, and the exponent of growth as a least-squares fit on log-log axes. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new Error('the median of no values is not defined');
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] as number;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] as number) + upper) / 2;
}

export function exponent(points: readonly (readonly [n: number, value: number])[]): number {
  if (points.length < 2) throw new Error('an exponent needs at least two sizes');
  const logs = points.map(([n, value]) => [Math.log(n), Math.log(value)] as const);
  const meanX = mean(logs.map(([x]) => x));
  const meanY = mean(logs.map(([, y]) => y));
  const covariance = mean(logs.map(([x, y]) => (x - meanX) * (y - meanY)));
  const variance = mean(logs.map(([x]) => (x - meanX) ** 2));
  return covariance / variance;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
